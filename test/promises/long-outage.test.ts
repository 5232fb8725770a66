import assert from 'node:assert/strict';
import { heal, takeFaultsBack } from '../support/heal.js';
import { ended, held } from '../support/money.js';
import { ask, place } from '../support/placed.js';
import type { Placed } from '../support/placed.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };
const NOTHING = { money: 0, reservations: 0 };
const ALL = { money: 1_000, reservations: 1 };

describe('promise: workers may be away for longer than every limit', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(() => heal(stack));

  it('ends every order right when the worker is away past the deadlines of steps, undos and clients', async () => {
    await stack.inventory.faults([{ operation: 'reserve', fault: 'hold', times: 2 }]);
    const atReserve = await place(stack, ORDER);
    await until(async () => (await stack.inventory.calls(atReserve.orderId)).length >= 2);
    await stack.payment.faults([
      { operation: 'charge', fault: 'hold', times: 2 },
      { operation: 'refund', fault: 'error-before', status: 503 },
    ]);
    const atCharge = await place(stack, ORDER);
    await until(async () => (await stack.payment.calls(atCharge.orderId)).length >= 2);
    const atRefund = await place(stack, SOLD_OUT);
    await until(async () => (await stack.payment.calls(atRefund.orderId)).length >= 2);

    const worker = await stack.pid('worker');
    process.kill(worker, 'SIGSTOP');
    const notBegun = await place(stack, ORDER);
    const told = await ask(stack, notBegun, 'wait=1');
    for (const order of [atReserve, atCharge, atRefund]) await until(() => isOutOfTime(order));
    await takeFaultsBack(stack);
    await stack.kill('worker');

    const open = [atReserve, atCharge, atRefund, notBegun];
    const ends = await Promise.all(open.map(({ orderId }) => ended(stack, orderId)));
    await Promise.all([stack.payment.release(), stack.inventory.release()]);

    assert.equal(told.status, 202);
    assert.deepEqual(ends, ['cancelled', 'cancelled', 'cancelled', 'confirmed']);
    const answers = await Promise.all(open.map((order) => ask(stack, order, 'wait=20')));
    assert.deepEqual(
      answers.map(({ json }) => json['type'] ?? json['status']),
      [
        '/problems/inventory-unavailable',
        '/problems/payment-unavailable',
        '/problems/out-of-stock',
        'confirmed',
      ],
    );
    for (const { orderId } of [atReserve, atCharge, atRefund]) {
      assert.deepEqual(await held(stack, orderId), NOTHING);
    }
    assert.deepEqual(await held(stack, notBegun.orderId), ALL);
  }).timeout(90_000);

  /** Whether all attempts of the step or the undo together have taken too long. */
  async function isOutOfTime({ sagaId }: Placed): Promise<boolean> {
    const { events } = await stack.temporal.workflow.getHandle(sagaId).fetchHistory();
    return (
      events?.some(({ activityTaskTimedOutEventAttributes: timedOut }) => Boolean(timedOut)) ===
      true
    );
  }
});
