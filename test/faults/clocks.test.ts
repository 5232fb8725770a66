import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ended } from '../support/money.js';
import { until } from '../support/until.js';
import { createClock } from './faketime.js';
import { assertBoughtOnce, assertHolds, ASYNC, claimed, ORDER, WAIT } from './orders.js';
import { startRig } from './rig.js';
import type { Rig } from './rig.js';
import { FAST } from './servers.js';

describe('faults: a clock jumps', () => {
  let rig: Rig;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await startRig({ env: { PURGE_INTERVAL_SECONDS: '1' } });
  });
  after(() => rig.stop());
  afterEach(async () => {
    // Started again by the clock of everybody.
    await Promise.all([rig.roles.api.kill(), rig.roles.worker.kill()]);
    await rig.databases.orders.end(FAST);
    await rig.heal();
    await until(async () => (await rig.readiness()) === 200);
  });

  const purges = async (): Promise<number> => {
    const schedule = rig.temporal.schedule.getHandle('purgeClaims-orders');
    return (await schedule.describe()).info.numActionsTaken;
  };
  const untilPurged = async (): Promise<void> => {
    const before = await purges();
    await until(async () => (await purges()) >= before + 2);
  };
  const claims = async (key: string): Promise<number> => {
    const { rowCount } = await rig.ordersPool.query(
      'select from claims where idempotency_key = $1',
      [key],
    );
    return rowCount ?? 0;
  };

  it('F23 expires no key when the clocks of API and worker go a day ahead, and back', async () => {
    const clock = await createClock(rig.folder, 'roles');
    for (const role of ['api', 'worker'] as const) {
      await rig.roles[role].stop();
      await rig.roles[role].start(clock.env);
    }
    const key = randomUUID();
    const first = await rig.post(ORDER, { key, headers: WAIT });
    assert.equal(first.status, 201);

    for (const offset of ['+25h', '+0', '-25h', '+0']) {
      await clock.set(offset);
      await untilPurged();
      const again = await rig.post(ORDER, { key });
      const other = await rig.post({ ...ORDER, amount: 1 }, { key });
      const fresh = await rig.post(ORDER, { headers: WAIT });

      assert.equal(await claims(key), 1);
      assert.deepEqual([again.status, again.text], [201, first.text], offset);
      assert.deepEqual(
        [other.status, other.json['type']],
        [409, '/problems/idempotency-key-reused'],
      );
      assert.equal(fresh.status, 201);
      await assertBoughtOnce(rig, String(fresh.json['orderId']));
      await until(async () => (await rig.readiness()) === 200);
    }
  }).timeout(240_000);

  it('F24 purges finished keys alone when the clock of Postgres goes a day ahead, and drives orders on when it is back', async () => {
    const clock = await createClock(rig.folder, 'postgres');
    const [finished, open] = [randomUUID(), randomUUID()];
    const first = await rig.post(ORDER, { key: finished, headers: WAIT });
    await rig.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    await rig.post(ORDER, { key: open, headers: ASYNC });
    const { orderId } = await claimed(rig, open);
    await rig.databases.orders.end(FAST);
    await clock.set('+25h');
    await rig.databases.orders.start(clock.env);
    await until(async () => (await claims(finished)) === 0);
    await untilPurged();

    const again = await rig.post(ORDER, { key: finished });
    assert.equal(await claims(open), 1);
    assert.deepEqual([again.status, again.text], [201, first.text]);
    // Rows that are written now have a time that is to come when the clock is back.
    const ahead = await rig.post(ORDER, { headers: ASYNC });
    await clock.set('+0');
    for (const { workflowId, id } of [
      { id: orderId, workflowId: (await claimed(rig, open)).workflowId },
      { id: String(ahead.json['orderId']), workflowId: String(ahead.json['sagaId']) },
    ]) {
      await rig.temporal.workflow.getHandle(workflowId).terminate('by an operator');
      const status = await ended(rig, id);
      assert.equal(status, 'cancelled');
      await assertHolds(rig, id, status);
    }
  }).timeout(240_000);
});
