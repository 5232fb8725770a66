import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ended } from '../support/money.js';
import { until } from '../support/until.js';
import { retried } from '../support/wire.js';
import { load } from './load.js';
import { assertBoughtOnce, ASYNC, claimed, isStarted, ORDER, WAIT } from './orders.js';
import { sharedRig } from './rig.js';
import type { Rig } from './rig.js';

describe('faults: a role is killed, halted or stopped', () => {
  let rig: Rig;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await sharedRig();
  });
  afterEach(() => rig.heal());

  it('F01 starts an order whose API was killed between claim and start, on a retry or by itself', async () => {
    const [retriedKey, forgottenKey] = [randomUUID(), randomUUID()];
    await rig.links['api-temporal'].poison('timeout', 'upstream', { timeout: 0 });
    const lost = [retriedKey, forgottenKey].map((key) =>
      rig.post(ORDER, { key }).catch(() => undefined),
    );
    const orders = await Promise.all([retriedKey, forgottenKey].map((key) => claimed(rig, key)));
    await rig.roles.api.kill();
    await Promise.all(lost);
    await rig.links['api-temporal'].heal();
    await rig.roles.api.start();

    const retry = await retried(() => rig.post(ORDER, { key: retriedKey, headers: WAIT }));

    assert.deepEqual([retry.status, retry.json['orderId']], [201, orders[0]?.orderId]);
    for (const { orderId } of orders) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
  }).timeout(240_000);

  it('F02 finds the workflow again whose start was never acknowledged to an API that died', async () => {
    const key = randomUUID();
    await rig.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    await rig.links['api-temporal'].poison('timeout', 'downstream', { timeout: 0 });
    const lost = rig.post(ORDER, { key }).catch(() => undefined);
    const { orderId, workflowId } = await claimed(rig, key);
    await until(() => isStarted(rig, workflowId));
    await rig.roles.api.kill();
    await lost;
    await rig.links['api-temporal'].heal();
    await rig.roles.api.start();

    const running = await retried(() => rig.post(ORDER, { key }));
    await rig.payment.faults([]);
    await rig.payment.release();
    const retry = await retried(() => rig.post(ORDER, { key, headers: WAIT }));

    assert.deepEqual(
      [running.status, running.json['type']],
      [409, '/problems/request-in-progress'],
    );
    assert.deepEqual([retry.status, retry.json['orderId']], [201, orderId]);
    await assertBoughtOnce(rig, orderId);
  }).timeout(240_000);

  it('F03 replays the answer that was saved when the API died before it reached the client', async () => {
    const key = randomUUID();
    await rig.links['client-api'].poison('timeout', 'downstream', { timeout: 0 });
    const lost = rig.post(ORDER, { key, headers: WAIT }).catch(() => undefined);
    const { orderId } = await claimed(rig, key);
    await until(async () => {
      const { rows } = await rig.ordersPool.query(
        'select from claims where resource_id = $1 and answer_status is not null',
        [orderId],
      );
      return rows.length === 1;
    });
    await rig.roles.api.kill();
    await lost;
    await rig.links['client-api'].heal();
    await rig.roles.api.start();

    const retry = await retried(() => rig.post(ORDER, { key }));

    assert.deepEqual([retry.status, retry.json['orderId']], [201, orderId]);
    assert.equal(retry.headers.get('idempotent-replayed'), 'true');
    await assertBoughtOnce(rig, orderId);
  }).timeout(240_000);

  it('F04 charges once when the worker is killed before its charge has left', async () => {
    await rig.links['worker-payment'].poison('timeout', 'upstream', { timeout: 0 });
    const { json } = await rig.post(ORDER, { headers: ASYNC });
    const [orderId, workflowId] = [String(json['orderId']), String(json['sagaId'])];
    // From there to the call it is some milliseconds, and a call that never arrives takes its whole time limit.
    await until(async () => {
      const { events } = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
      return events?.some((event) => Boolean(event.workflowTaskStartedEventAttributes)) ?? false;
    });
    await rig.roles.worker.kill();
    assert.deepEqual(await rig.payment.calls(orderId), []);

    await rig.links['worker-payment'].heal();
    await rig.roles.worker.start();

    assert.equal(await ended(rig, orderId), 'confirmed');
    await assertBoughtOnce(rig, orderId);
  }).timeout(240_000);

  it('F10 charges once when a halted worker wakes up after another has done its work', async () => {
    const second = await rig.another('worker');
    await rig.payment.faults([{ operation: 'charge', fault: 'hold', times: 1 }]);
    const { json } = await rig.post(ORDER, { headers: ASYNC });
    const orderId = String(json['orderId']);
    await until(async () => (await rig.payment.calls(orderId)).length === 1);
    rig.roles.worker.halt();
    await second.start();

    const status = await ended(rig, orderId);
    await rig.payment.release();
    rig.roles.worker.goOn();

    assert.equal(status, 'confirmed');
    const calls = await rig.payment.calls(orderId);
    assert.ok(calls.length >= 2, 'both workers have called');
    assert.equal(new Set(calls.map(({ key }) => key)).size, 1);
    await assertBoughtOnce(rig, orderId);
    // The one that woke up still works.
    await second.kill();
    const after = await retried(() => rig.post(ORDER, { headers: WAIT }));
    assert.equal(after.status, 201);
    assert.equal(await ended(rig, orderId), 'confirmed');
  }).timeout(240_000);

  it('F25 loses and doubles nothing when API and worker are stopped in turn under load', async () => {
    const clients = load(rig, 8);
    const exits = [];
    for (const role of ['api', 'worker'] as const) {
      const before = clients.answers.length;
      await until(() => clients.answers.length > before + 8);
      exits.push(await rig.roles[role].stop());
      await rig.roles[role].start();
    }
    const orders = await clients.stop();

    assert.deepEqual(new Set(exits.map(({ code }) => code)), new Set([0]));
    for (const status of clients.statuses) assert.ok([201, 202, 503].includes(status), `${status}`);
    for (const orderId of orders) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
  }).timeout(240_000);
});
