import assert from 'node:assert/strict';
import { heal } from '../support/heal.js';
import { held } from '../support/money.js';
import { ask, place } from '../support/placed.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };
const WAIT = 'wait=30';
const NOTHING = { money: 0, reservations: 0 };
const ALL = { money: 1_000, reservations: 1 };

describe('promise: what Temporal has forgotten still ends', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(() => heal(stack));

  it('ends every order right, under the same keys, when Temporal loses its data', async () => {
    const bought = await place(stack, ORDER);
    const soldOut = await place(stack, SOLD_OUT);
    const answers = [await ask(stack, bought, WAIT), await ask(stack, soldOut, WAIT)];
    await stack.payment.faults([
      { operation: 'charge', fault: 'hold', times: 1 },
      { operation: 'refund', fault: 'error-before', status: 503 },
    ]);
    const atCharge = await place(stack, ORDER);
    await until(async () => (await stack.payment.calls(atCharge.orderId)).length > 0);
    const atRefund = await place(stack, SOLD_OUT);
    await until(async () => (await stack.payment.calls(atRefund.orderId)).length > 1);
    await stack.inventory.faults([{ operation: 'reserve', fault: 'hold' }]);
    const atReserve = await place(stack, ORDER);
    await until(async () => (await stack.inventory.calls(atReserve.orderId)).length > 0);

    await stack.loseTemporal();
    await heal(stack);

    // With no request of their clients: the reconciler's Schedule is lost as well, and comes again.
    const open = [atCharge, atReserve, atRefund];
    for (const { orderId } of open) await until(() => hasEnded(orderId));
    const again = [await ask(stack, bought, WAIT), await ask(stack, soldOut, WAIT)];
    assert.deepEqual(again.map(bytesOf), answers.map(bytesOf));
    const ends = await Promise.all(open.map((order) => ask(stack, order, WAIT)));
    assert.deepEqual(
      ends.map(({ status }) => status),
      [201, 201, 422],
    );
    for (const { orderId } of [bought, atCharge, atReserve]) {
      assert.deepEqual(await held(stack, orderId), ALL);
      assert.deepEqual(await keysOf(orderId), [`${orderId}:inv`, `${orderId}:pay`]);
    }
    for (const { orderId } of [soldOut, atRefund]) {
      assert.deepEqual(await held(stack, orderId), NOTHING);
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
    }
  }).timeout(90_000);

  async function hasEnded(orderId: string): Promise<boolean> {
    const { status } = (await stack.get(`/orders/${orderId}`)).json;
    return status === 'confirmed' || status === 'cancelled';
  }

  /** The keys of all lines in both ledgers. */
  async function keysOf(orderId: string): Promise<string[]> {
    const lines = await Promise.all([
      stack.payment.ledger(orderId),
      stack.inventory.ledger(orderId),
    ]);
    return lines
      .flat()
      .map(({ key }) => key)
      .sort();
  }
});

const bytesOf = ({ status, text, headers }: WireAnswer) => [
  status,
  text,
  headers.get('location'),
  headers.get('content-type'),
];
