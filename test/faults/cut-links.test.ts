import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { ended, held } from '../support/money.js';
import { until } from '../support/until.js';
import { retried } from '../support/wire.js';
import { workerBehindCable } from './network-namespace.js';
import {
  ALL,
  assertBoughtOnce,
  assertHolds,
  ASYNC,
  attemptsOf,
  NOTHING,
  ORDER,
  WAIT,
} from './orders.js';
import type { Program } from './program.js';
import { LINKS, sharedRig } from './rig.js';
import type { Rig } from './rig.js';

describe('faults: a line between two processes is cut, slow or spoiled', () => {
  let rig: Rig;
  /** Takes orders whose steps give up after seconds. */
  let hasty: Program & { readonly url: string };

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await sharedRig();
    hasty = await rig.another('api', { env: { STEP_DEADLINE_MS: '4000' } });
    await hasty.start();
  });
  after(() => hasty.kill());
  afterEach(() => rig.heal());

  async function place(
    api = rig.apiUrl,
  ): Promise<{ readonly orderId: string; readonly workflowId: string }> {
    const { status, json } = await rig.post(ORDER, { api, headers: ASYNC });
    assert.equal(status, 202);
    return { orderId: String(json['orderId']), workflowId: String(json['sagaId']) };
  }

  for (const [name, type, attributes] of [
    ['swallowed', 'timeout', { timeout: 0 }],
    ['reset', 'reset_peer', { timeout: 300 }],
    ['cut after 40 bytes', 'limit_data', { bytes: 40 }],
  ] as const) {
    for (const service of ['payment', 'inventory'] as const) {
      it(`F06 has one effect when answers of ${service} are ${name}`, async () => {
        const link = rig.links[`worker-${service}`];
        await link.poison(type, 'downstream', attributes);
        const { orderId } = await place();
        await until(async () => (await rig[service].calls(orderId)).length >= 2);
        await link.heal();

        assert.equal(await ended(rig, orderId), 'confirmed');
        const calls = await rig[service].calls(orderId);
        assert.equal(calls.filter(({ effect }) => effect).length, 1);
        assert.equal(new Set(calls.map(({ key }) => key)).size, 1);
        await assertBoughtOnce(rig, orderId);
      }).timeout(240_000);
    }
  }

  it('F08 writes no ledger line while connections are refused, and buys when they are not', async () => {
    await rig.links['worker-payment'].cut();
    const { orderId, workflowId } = await place();
    await until(async () => (await attemptsOf(rig, workflowId)) >= 2);
    assert.deepEqual(await rig.payment.calls(orderId), []);
    assert.deepEqual(await held(rig, orderId), NOTHING);

    await rig.links['worker-payment'].mend();

    assert.equal(await ended(rig, orderId), 'confirmed');
    await assertBoughtOnce(rig, orderId);
  }).timeout(240_000);

  it('F09 moves no money when charges and their voids arrive late and in one lump', async () => {
    await rig.links['worker-payment'].poison('latency', 'upstream', { latency: 120_000 });
    const orders = await Promise.all(Array.from({ length: 5 }, () => place(hasty.url)));
    // The order has given up; two attempts of the undo are on the line, behind those of the charge.
    await until(async () => {
      const states = await Promise.all(orders.map(({ orderId }) => rig.get(`/orders/${orderId}`)));
      return states.every(({ json }) => json['status'] !== 'processing');
    });
    await until(async () => {
      const attempts = await Promise.all(orders.map((one) => attemptsOf(rig, one.workflowId)));
      return attempts.every((count) => count >= 2);
    });

    await rig.links['worker-payment'].heal();

    for (const { orderId } of orders) {
      assert.equal(await ended(rig, orderId), 'cancelled');
      assert.deepEqual(await held(rig, orderId), NOTHING);
      const calls = await rig.payment.calls(orderId);
      assert.ok(calls.some(({ operation }) => operation === 'charge'));
    }
  }).timeout(240_000);

  for (const way of ['by a closed line', 'by a silent one in a network of its own'] as const) {
    it(`F14 charges once when the worker is cut from Temporal in the middle of a charge, ${way}`, async () => {
      const line =
        way === 'by a closed line'
          ? { ...rig.links['worker-temporal'], remove: () => Promise.resolve() }
          : await workerBehindCable(rig);
      try {
        await rig.payment.faults([{ operation: 'charge', fault: 'hold', times: 1 }]);
        const { orderId, workflowId } = await place();
        await until(async () => (await rig.payment.calls(orderId)).length === 1);
        await line.cut();
        await rig.payment.release();
        await until(async () => {
          const { events } = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
          return (
            events?.some((event) => Boolean(event.workflowTaskTimedOutEventAttributes)) ?? false
          );
        });

        await line.mend();

        assert.equal(await ended(rig, orderId), 'confirmed');
        await assertBoughtOnce(rig, orderId);
      } finally {
        await line.remove();
      }
    }).timeout(240_000);
  }

  it('F17 loses and doubles nothing when all lines are cut one by one and mended in another order', async () => {
    const seed = Number(process.env['FAULTS_SEED'] ?? Date.now() % 1_000_000);
    const everyLink = fc.shuffledSubarray([...LINKS], { minLength: LINKS.length });
    const [cutting = [], mending = []] = fc.sample(everyLink, { seed, numRuns: 2 });
    const keys = Array.from({ length: 16 }, () => randomUUID());
    const placing = keys.map((key) => retried(() => rig.post(ORDER, { key, headers: WAIT })));

    for (const name of cutting) {
      await rig.links[name].cut();
      // Some orders get further before the next line goes.
      await rig.payment.json('/calls');
    }
    for (const name of mending) await rig.links[name].mend();

    const answers = await Promise.all(placing);
    const ids = new Set(answers.map(({ json }) => String(json['orderId'])));
    assert.equal(ids.size, keys.length, `FAULTS_SEED=${seed}`);
    for (const orderId of ids) await assertHolds(rig, orderId, await ended(rig, orderId));
  }).timeout(240_000);

  it('F48 refunds what was charged when no answer of the charge ever came', async () => {
    await rig.links['worker-payment'].poison('timeout', 'downstream', { timeout: 0 });
    const { orderId } = await place(hasty.url);
    await until(async () => (await rig.payment.kinds(orderId)).includes('refund'));
    assert.equal((await rig.get(`/orders/${orderId}`)).json['status'], 'compensating');
    await rig.links['worker-payment'].heal();

    assert.equal(await ended(rig, orderId), 'cancelled');
    const { json } = await rig.get(`/orders/${orderId}`);
    assert.equal(json['reason'], 'payment-unavailable');
    assert.deepEqual(await rig.payment.kinds(orderId), ['charge', 'refund']);
    assert.deepEqual(await held(rig, orderId), NOTHING);
    // The key is free of all that for another order.
    const after = await rig.post(ORDER, { headers: WAIT });
    assert.deepEqual(await held(rig, String(after.json['orderId'])), ALL);
  }).timeout(240_000);
});
