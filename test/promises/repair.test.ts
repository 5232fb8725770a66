import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ended, held } from '../support/money.js';
import { resetToStart } from '../support/reset.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const ASYNC = { prefer: 'respond-async' };
const NOTHING = { money: 0, reservations: 0 };
const ALL = { money: 1_000, reservations: 1 };

describe('promise: nothing stays half done', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(async () => {
    await Promise.all([stack.payment.faults([]), stack.inventory.faults([])]);
    await Promise.all([stack.payment.release(), stack.inventory.release()]);
  });

  /** An order whose step is held: its workflow is in the middle of it. */
  async function orderHeldAt(operation: 'charge' | 'reserve', key = randomUUID()) {
    const service = operation === 'charge' ? stack.payment : stack.inventory;
    await service.faults([{ operation, fault: 'hold' }]);
    const accepted = await stack.post(ORDER, { key, headers: ASYNC });
    const orderId = String(accepted.json['orderId']);
    await until(async () => (await service.calls(orderId)).length > 0);
    return { accepted, orderId, key, service };
  }

  const workflowOf = ({ json }: WireAnswer) =>
    stack.temporal.workflow.getHandle(String(json['sagaId']));

  for (const operation of ['charge', 'reserve'] as const) {
    it(`undoes an order that is terminated while its ${operation} is under way, with no one's help`, async () => {
      const { accepted, orderId, key, service } = await orderHeldAt(operation);

      await workflowOf(accepted).terminate('by an operator');
      const status = await ended(stack, orderId);
      await service.release();

      assert.equal(status, 'cancelled');
      assert.deepEqual(await held(stack, orderId), NOTHING);
      const answer = await stack.post(ORDER, { key });
      assert.deepEqual(
        [answer.status, answer.json['type'], answer.headers.get('idempotent-replayed')],
        [422, '/problems/order-cancelled', 'true'],
      );
    });
  }

  it('repairs a terminated order at the next request of its client', async () => {
    const { accepted, orderId, key } = await orderHeldAt('charge');
    await workflowOf(accepted).terminate('by an operator');

    const answer = await stack.post(ORDER, { key, headers: { prefer: 'wait=20' } });

    assert.equal(answer.status, 422);
    assert.equal(answer.json['orderId'], orderId);
    assert.deepEqual(await held(stack, orderId), NOTHING);
  });

  it('starts an order again whose workflow was deleted, and charges once', async () => {
    const { accepted, orderId } = await orderHeldAt('reserve');
    const { sagaId } = accepted.json;

    await stack.temporal.workflowService.deleteWorkflowExecution({
      namespace: stack.temporal.options.namespace,
      workflowExecution: { workflowId: String(sagaId) },
    });
    await stack.inventory.faults([]);

    assert.equal(await ended(stack, orderId), 'confirmed');
    assert.deepEqual(await held(stack, orderId), ALL);
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
  });

  it('starts an order that was claimed and never started', async () => {
    const key = randomUUID();
    const refused = await stack.whileTemporalStands(() => stack.post(ORDER, { key }));
    assert.equal(refused.status, 503);

    const orderId = String(refused.json['orderId']);

    assert.equal(await ended(stack, orderId), 'confirmed');
    assert.deepEqual(await held(stack, orderId), ALL);
  });

  it('writes the rows anew that Postgres has lost', async () => {
    const keys = Array.from({ length: 10 }, () => randomUUID());
    const answers = await Promise.all(keys.map((key) => stack.post(ORDER, { key })));
    const ids = answers.map(({ json }) => String(json['orderId']));
    // As a backup would be that was made ten orders ago.
    await stack.ordersPool.query('delete from orders where order_id = any($1)', [ids]);
    await stack.ordersPool.query('delete from claims where resource_id = any($1)', [ids]);

    for (const orderId of ids) assert.equal(await ended(stack, orderId), 'confirmed');

    const again = await Promise.all(keys.map((key) => stack.post(ORDER, { key })));
    assert.deepEqual(
      again.map(({ text }) => text),
      answers.map(({ text }) => text),
    );
    for (const orderId of ids) assert.deepEqual(await held(stack, orderId), ALL);
  });

  it('neither confirms a refunded order nor refunds a confirmed one when workflows are reset', async () => {
    const confirmed = await stack.post(ORDER);
    const sold = await stack.post({ ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] });
    assert.deepEqual([confirmed.status, sold.status], [201, 422]);

    for (const answer of [confirmed, sold]) {
      await resetToStart(stack.temporal, workflowOf(answer).workflowId);
      await workflowOf(answer).result();
    }

    assert.deepEqual(await held(stack, String(confirmed.json['orderId'])), ALL);
    assert.deepEqual(await held(stack, String(sold.json['orderId'])), NOTHING);
    assert.equal(await ended(stack, String(confirmed.json['orderId'])), 'confirmed');
    assert.equal(await ended(stack, String(sold.json['orderId'])), 'cancelled');
  });

  it('ends every one of forty orders right that are terminated, reset, deleted or cancelled at random', async () => {
    const late = { fault: 'delay-after', delayMs: 300 };
    await stack.payment.faults([{ operation: 'charge', ...late }]);
    await stack.inventory.faults([{ operation: 'reserve', ...late }]);

    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const accepted = await stack.post(ORDER, { headers: ASYNC });
        const orderId = String(accepted.json['orderId']);
        await new Promise((resolve) => setTimeout(resolve, index * 40));
        const { workflowId } = workflowOf(accepted);
        const harm = [
          () => workflowOf(accepted).terminate('at random'),
          () => resetToStart(stack.temporal, workflowId),
          () =>
            stack.temporal.workflowService.deleteWorkflowExecution({
              namespace: stack.temporal.options.namespace,
              workflowExecution: { workflowId },
            }),
          () => stack.send(`/orders/${orderId}/cancel`),
        ];
        // Too late for some of them: that is no error of theirs.
        await harm[index % harm.length]?.().catch(() => undefined);
        const status = await ended(stack, orderId);
        assert.deepEqual(await held(stack, orderId), status === 'confirmed' ? ALL : NOTHING);
      }),
    );
  }).timeout(120_000);
});
