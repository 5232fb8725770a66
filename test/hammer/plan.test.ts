import assert from 'node:assert/strict';
import { planOrders, TENANTS } from '../../hammer/plan.js';

describe('the plan of a hammer run', () => {
  const plan = planOrders('a seed', 2_000, 5);

  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual(planOrders('a seed', 2_000, 5), plan);
    assert.notDeepEqual(planOrders('another', 2_000, 5), plan);
  });

  it('has an amount for each order and each other body, so that a wrong sum names its orders', () => {
    const own = plan.filter(({ key }, index) => plan.findIndex((one) => one.key === key) === index);
    const amounts = own.flatMap(({ body, otherBody }) => [body.amount, otherBody.amount]);

    assert.equal(new Set(amounts).size, amounts.length);
  });

  it('has every kind of client', () => {
    const deliveries = plan.flatMap(({ deliveries: all }) => all);

    assert.ok(plan.some(({ deliveries: all }) => all.length >= 5));
    assert.ok(plan.some(({ cancelAfterMs }) => cancelAfterMs !== undefined));
    assert.ok(plan.some(({ persists }) => !persists));
    assert.ok(deliveries.some(({ leaveAfterMs }) => leaveAfterMs !== undefined));
    assert.ok(deliveries.some(({ hasOtherBody }) => hasOtherBody === true));
    assert.ok(deliveries.some(({ prefer }) => prefer === 'respond-async'));
  });

  it('lets two tenants use one key', () => {
    const twins = plan.filter(({ key }, index) => plan[index + 1]?.key === key);

    assert.ok(twins.length > 0);
    assert.deepEqual(new Set(plan.map(({ tenant }) => tenant)), new Set(TENANTS));
  });
});
