import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { PlaceOrderInput } from '../../src/domain/place-order.js';
import { ended, held } from '../support/money.js';
import { until } from '../support/until.js';
import { anInput, anOrder, workflowIdOf } from '../support/orders.js';
import { startWorkflowWorker } from '../support/workflow-worker.js';
import { createWorld } from '../support/world.js';
import { placeOrder } from '../../src/workflows/place-order.js';
import { claimed, NOTHING, ORDER } from './orders.js';
import { sharedRig } from './rig.js';
import type { Rig } from './rig.js';

describe('faults: a workflow ends before its order, or goes on for very long', () => {
  let rig: Rig;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await sharedRig();
  });
  afterEach(() => rig.heal());

  it('F39 undoes an order whose workflow timed out with money taken', async () => {
    // No product code sets such a limit, so the workflow is started here, before the API can.
    const key = randomUUID();
    // Nothing but its time limit can end it: the step after the charge never comes to its end.
    await rig.inventory.faults([{ operation: 'reserve', fault: 'error-before' }]);
    await rig.roles.worker.stop();
    await rig.links['api-temporal'].cut();
    const refused = await rig.post(ORDER, { key });
    assert.equal(refused.status, 503);
    const { orderId, workflowId } = await claimed(rig, key);
    await rig.temporal.workflow.start('placeOrder', {
      workflowId,
      taskQueue: 'orders',
      ...(await startOf(key, orderId)),
      // Long enough for a worker to start and charge, on a machine that is busy as well.
      workflowExecutionTimeout: '15s',
    });
    await rig.roles.worker.start();
    await until(async () => (await rig.payment.kinds(orderId)).includes('charge'));
    await until(async () => {
      const { status } = await rig.temporal.workflow.getHandle(workflowId).describe();
      return status.name === 'TIMED_OUT';
    });
    await rig.inventory.faults([]);
    await rig.links['api-temporal'].mend();

    assert.equal(await ended(rig, orderId), 'cancelled');
    assert.deepEqual(await rig.payment.kinds(orderId), ['charge', 'refund']);
    assert.deepEqual(await held(rig, orderId), NOTHING);
    const answer = await rig.post(ORDER, { key });
    assert.deepEqual([answer.status, answer.json['type']], [422, '/problems/order-cancelled']);
  }).timeout(240_000);

  it('F57 keeps a history short through a hundred attempts of an undo', async () => {
    const failures = 100;
    const world = createWorld();
    const worker = await startWorkflowWorker('long-failures', world.activities);
    try {
      const order = anOrder();
      world.prepare(order.orderId, {
        payment: 'done',
        inventory: 'refused',
        undoFails: (_call, nth) => (nth <= failures ? 'pass' : undefined),
      });
      const handle = await worker.client.workflow.start(placeOrder, {
        workflowId: workflowIdOf(order),
        taskQueue: 'long-failures',
        args: [anInput(order)],
      });

      const outcome = await handle.result();

      assert.equal(outcome.status, 'cancelled');
      // The test server writes down each skip of time; a server where time runs has no such events.
      const { events = [] } = await handle.fetchHistory();
      const written = (events ?? []).filter(
        (event) => !event.workflowExecutionTimeSkippingTransitionedEventAttributes,
      );
      assert.ok(written.length < 50, `${written.length} events`);
    } finally {
      await worker.stop();
    }
  }).timeout(240_000);

  /** The input and memo that the API would have started the workflow of a claim with. */
  async function startOf(key: string, orderId: string) {
    const { rows } = await rig.ordersPool.query<{
      tenant: string;
      scope: string;
      key_digest: string;
      request_hash: string;
    }>('select tenant, scope, key_digest, request_hash from claims where idempotency_key = $1', [
      key,
    ]);
    const [row] = rows;
    assert.ok(row);
    const claim = {
      tenant: row.tenant,
      scope: row.scope,
      keyDigest: row.key_digest,
      requestHash: row.request_hash,
    };
    const input: PlaceOrderInput = {
      ...anInput(anOrder({ orderId }), { stepTimeoutMs: 1_000, stepDeadlineMs: 60_000 }),
      claim,
    };
    return { args: [input], memo: { ...claim, resourceId: orderId } };
  }
});
