import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { held } from '../support/money.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };
const ASYNC = { prefer: 'respond-async' };
const WAIT = { prefer: 'wait=30' };
const NOTHING = { money: 0, reservations: 0 };
const ALL = { money: 1_000, reservations: 1 };

interface Placed {
  readonly key: string;
  readonly body: object;
  readonly orderId: string;
}

describe('promise: what Temporal has forgotten still ends', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(async () => {
    await Promise.all([stack.payment.faults([]), stack.inventory.faults([])]);
    await Promise.all([stack.payment.release(), stack.inventory.release()]);
  });

  async function place(body: object): Promise<Placed> {
    const key = randomUUID();
    const { json } = await stack.post(body, { key, headers: ASYNC });
    return { key, body, orderId: String(json['orderId']) };
  }

  const ask = ({ key, body }: Placed): Promise<WireAnswer> =>
    stack.post(body, { key, headers: WAIT });

  it('ends every order right, under the same keys, when Temporal loses its data', async () => {
    const bought = await place(ORDER);
    const soldOut = await place(SOLD_OUT);
    const answers = [await ask(bought), await ask(soldOut)];
    await stack.payment.faults([
      { operation: 'charge', fault: 'hold', times: 1 },
      { operation: 'refund', fault: 'error-before', status: 503 },
    ]);
    const atCharge = await place(ORDER);
    await until(async () => (await stack.payment.calls(atCharge.orderId)).length > 0);
    const atRefund = await place(SOLD_OUT);
    await until(async () => (await stack.payment.calls(atRefund.orderId)).length > 1);
    await stack.inventory.faults([{ operation: 'reserve', fault: 'hold' }]);
    const atReserve = await place(ORDER);
    await until(async () => (await stack.inventory.calls(atReserve.orderId)).length > 0);

    await stack.loseTemporal();
    await Promise.all([stack.payment.faults([]), stack.inventory.faults([])]);
    await Promise.all([stack.payment.release(), stack.inventory.release()]);

    // With no request of their clients: the reconciler's Schedule is lost as well, and comes again.
    const open = [atCharge, atReserve, atRefund];
    for (const { orderId } of open) await until(() => hasEnded(orderId));
    const again = [await ask(bought), await ask(soldOut)];
    assert.deepEqual(again.map(bytesOf), answers.map(bytesOf));
    const ends = await Promise.all(open.map(ask));
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
