import assert from 'node:assert/strict';
import { takeFaultsBack } from '../support/heal.js';
import { ended, held } from '../support/money.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

/** Enough that their cancels, 60 ms apart, outlast the longest order. */
const ORDERS = 40;
const ORDER = { userId: 'u1', amount: 1_000 };

describe('promise: a cancelled workflow is undone or confirmed, never between', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(() => takeFaultsBack(stack));

  for (const operation of ['charge', 'reserve'] as const) {
    it(`undoes an order that is cancelled while its ${operation} is under way, and bars a late one`, async () => {
      const service = operation === 'charge' ? stack.payment : stack.inventory;
      await service.faults([{ operation, fault: 'hold' }]);
      const accepted = await stack.post(ORDER, { headers: { prefer: 'respond-async' } });
      const orderId = String(accepted.json['orderId']);
      // The second call is the regular activity: the local attempt has given up.
      await until(async () => (await service.calls(orderId)).length >= 2);

      await cancel(accepted);
      const status = await ended(stack, orderId);
      await service.release();

      assert.equal(status, 'cancelled');
      const document = (await stack.get(`/orders/${orderId}`)).json;
      assert.equal(document['reason'], 'order-cancelled');
      assert.deepEqual(await service.kinds(orderId), ['void']);
      assert.deepEqual(await held(stack, orderId), { money: 0, reservations: 0 });
    });
  }

  it('undoes what a worker had called that died, where a cancel comes before it is called again', async () => {
    await stack.inventory.faults([{ operation: 'reserve', fault: 'hold' }]);
    const accepted = await stack.post(ORDER, { headers: { prefer: 'respond-async' } });
    const orderId = String(accepted.json['orderId']);
    // Both steps are local attempts of one workflow task: its history does not know of either yet.
    await until(async () => (await stack.inventory.calls(orderId)).length > 0);

    const killed = stack.kill('worker');
    await cancel(accepted);
    await killed;
    const status = await ended(stack, orderId);
    await stack.inventory.release();

    assert.equal(status, 'cancelled');
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
    assert.deepEqual(await held(stack, orderId), { money: 0, reservations: 0 });
  }).timeout(60_000);

  it('finishes an undo that a second cancel meets', async () => {
    await stack.payment.faults([{ operation: 'refund', fault: 'error-before', times: 3 }]);
    const accepted = await stack.post(
      { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] },
      { headers: { prefer: 'respond-async' } },
    );
    const orderId = String(accepted.json['orderId']);
    await until(async () => (await stack.payment.calls(orderId)).length >= 2);

    await cancel(accepted);

    assert.equal(await ended(stack, orderId), 'cancelled');
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
  });

  it('keeps money, goods and answer together whenever the cancel comes', async () => {
    // Late answers stretch the orders out, half of them beyond the local attempt, so that cancels meet every part.
    const late = { fault: 'delay-after', delayMs: 100 };
    const later = { fault: 'delay-after', delayMs: 1_100, times: 20 };
    await stack.payment.faults([
      { operation: 'charge', ...later },
      { operation: 'charge', ...late },
    ]);
    await stack.inventory.faults([
      { operation: 'reserve', ...later },
      { operation: 'reserve', ...late },
    ]);
    const seen = new Set<string>();

    await Promise.all(
      Array.from({ length: ORDERS }, async (_, index) => {
        const accepted = await stack.post(ORDER, { headers: { prefer: 'respond-async' } });
        const orderId = String(accepted.json['orderId']);
        await new Promise((resolve) => setTimeout(resolve, index * 60));
        await cancel(accepted);
        const status = await ended(stack, orderId);
        seen.add(status);
        const expected =
          status === 'confirmed'
            ? { money: 1_000, reservations: 1 }
            : { money: 0, reservations: 0 };
        assert.deepEqual(await held(stack, orderId), expected);
      }),
    );

    // The first comes early for certain, and one more too late for certain.
    await takeFaultsBack(stack);
    const confirmed = await stack.post(ORDER, { headers: { prefer: 'wait=30' } });
    await cancel(confirmed);
    seen.add(await ended(stack, String(confirmed.json['orderId'])));
    assert.deepEqual(seen, new Set(['confirmed', 'cancelled']));
  }).timeout(60_000);

  /** As an operator would, past the API; a cancel that comes too late is no error. */
  async function cancel({ json }: WireAnswer): Promise<void> {
    const handle = stack.temporal.workflow.getHandle(String(json['sagaId']));
    await handle.cancel().catch((error: unknown) => {
      assert.match(String(error), /already completed|not found/i);
    });
  }
});
