import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ended } from '../support/money.js';
import { until } from '../support/until.js';
import { retried } from '../support/wire.js';
import { load } from './load.js';
import { assertBoughtOnce, ASYNC, ORDER, SOLD_OUT, WAIT } from './orders.js';
import { sharedRig } from './rig.js';
import type { Rig } from './rig.js';
import { FAST, IMMEDIATE } from './servers.js';

describe('faults: a server stops, or has no room for more', () => {
  let rig: Rig;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await sharedRig();
  });
  afterEach(() => rig.heal());

  for (const name of ['orders', 'payment', 'inventory'] as const) {
    it(`F11 loses and doubles nothing when the ${name} database stops at once, under load`, async () => {
      const clients = load(rig, 8);
      await until(() => clients.answers.length > 8);
      await rig.databases[name].end(IMMEDIATE);
      await rig.databases[name].start();
      const before = clients.answers.length;
      await until(() => clients.answers.length > before + 8);
      const orders = await clients.stop();

      for (const status of clients.statuses)
        assert.ok([201, 202, 503].includes(status), `${status}`);
      assert.equal(new Set(orders).size, orders.length);
      for (const orderId of orders) {
        assert.equal(await ended(rig, orderId), 'confirmed');
        await assertBoughtOnce(rig, orderId);
      }
    }).timeout(240_000);
  }

  it('F12 says that it is not ready while Postgres is down, takes nothing, and ends what was open', async () => {
    await rig.inventory.faults([{ operation: 'reserve', fault: 'hold', times: 1 }]);
    const open = await rig.post(ORDER, { headers: ASYNC });
    const orderId = String(open.json['orderId']);
    await until(async () => (await rig.inventory.calls(orderId)).length === 1);
    await rig.databases.orders.end(FAST);
    await until(async () => (await rig.readiness()) === 503);
    await rig.inventory.release();
    const refused = await rig.post(ORDER);
    // The workflow is past its steps and tries to write its end.
    await until(async () => {
      const { raw } = await rig.temporal.workflow.getHandle(String(open.json['sagaId'])).describe();
      return raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) >= 2) ?? false;
    });

    await rig.databases.orders.start();

    assert.deepEqual([refused.status, refused.json['type']], [503, '/problems/store-unavailable']);
    assert.ok(refused.headers.has('retry-after'));
    await until(async () => (await rig.readiness()) === 200);
    assert.equal(await ended(rig, orderId), 'confirmed');
    await assertBoughtOnce(rig, orderId);
  }).timeout(240_000);

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    it(`F13 resumes open orders when Temporal is ended by ${signal} and started again`, async () => {
      await rig.payment.faults([{ operation: 'charge', fault: 'hold', times: 2 }]);
      const [open, undone] = await Promise.all([
        rig.post(ORDER, { headers: ASYNC }),
        rig.post(SOLD_OUT, { headers: ASYNC }),
      ]);
      const ids = [open, undone].map(({ json }) => String(json['orderId']));
      for (const id of ids) {
        await until(async () => (await rig.payment.calls(id)).length > 0);
      }
      await rig.temporalServer.end(signal);
      const key = randomUUID();
      const refused = await rig.post(ORDER, { key });
      await rig.payment.release();
      await rig.temporalServer.start();

      const retry = await retried(() => rig.post(ORDER, { key, headers: WAIT }));

      assert.deepEqual(
        [refused.status, refused.json['type']],
        [503, '/problems/engine-unavailable'],
      );
      assert.deepEqual([retry.status, retry.json['orderId']], [201, refused.json['orderId']]);
      assert.equal(await ended(rig, ids[0]!), 'confirmed');
      await assertBoughtOnce(rig, ids[0]!);
      assert.equal(await ended(rig, ids[1]!), 'cancelled');
      assert.deepEqual(await rig.payment.kinds(ids[1]!), ['charge', 'refund']);
    }).timeout(240_000);
  }

  it('F26 answers 200 clients, all of them, when each statement takes long and connections are few', async () => {
    await rig.links['api-postgres'].poison('latency', 'downstream', { latency: 300 });
    const keys = Array.from({ length: 200 }, () => randomUUID());

    const answers = await Promise.all(keys.map((key) => rig.post(ORDER, { key, headers: ASYNC })));
    await rig.links['api-postgres'].heal();

    for (const { status, headers } of answers) {
      assert.ok(status === 202 || status === 503, `${status}`);
      assert.ok(headers.has('retry-after'));
    }
    const repeated = await Promise.all(
      keys.map((key) => retried(() => rig.post(ORDER, { key, headers: ASYNC }))),
    );
    const orders = new Set(repeated.map(({ json }) => String(json['orderId'])));
    assert.equal(orders.size, keys.length);
    for (const orderId of orders) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
  }).timeout(240_000);
});
