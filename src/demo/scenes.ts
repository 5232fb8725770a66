import { randomUUID } from 'node:crypto';
import { slugOf } from '../cli/api.js';
import { until } from './stage.js';
import type { Teller } from './teller.js';

const ORDER = { userId: 'ada', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };

const CONFIRMED = { charges: 1, reservations: 1 };

type Scene = (teller: Teller) => Promise<void>;

/** One key, asked for eleven times, and once for something else. */
const oneOrderAKey: Scene = async ({ title, say, post, expect, books }) => {
  const key = randomUUID();
  title('An order');
  const first = await post(ORDER, key);
  const orderId = String(first.json['orderId']);
  expect(`201 confirmed: ${orderId}`, [first.status, first.json['status']], [201, 'confirmed']);
  await books(orderId, CONFIRMED);

  title('The same key again, ten times at once');
  const again = await Promise.all(Array.from({ length: 10 }, () => post(ORDER, key)));
  const replayed = again.filter(
    ({ status, headers }) => status === 201 && headers.get('idempotent-replayed') === 'true',
  );
  expect('ten times the first answer, replayed', replayed.length, 10);
  expect('all of the one order', [...new Set(again.map(({ json }) => json['orderId']))], [orderId]);
  await books(orderId, CONFIRMED);

  title('The same key with another amount');
  const other = await post({ ...ORDER, amount: 2_000 }, key);
  expect(
    `409 ${slugOf(other.json)}`,
    [other.status, slugOf(other.json)],
    [409, 'idempotency-key-reused'],
  );
  say('The first order is untouched:');
  await books(orderId, CONFIRMED);
};

const soldOut: Scene = async ({ title, post, expect, books }) => {
  title('Sold out: the charge is undone');
  const answer = await post(SOLD_OUT, randomUUID());
  expect(`422 ${slugOf(answer.json)}`, [answer.status, slugOf(answer.json)], [422, 'out-of-stock']);
  await books(String(answer.json['orderId']), { charges: 1, refunds: 1 });
};

const killedWorker: Scene = async (teller) => {
  const { title, say, post, expect, books, calls, ended } = teller;
  title('A worker that is killed in the middle of an order');
  await teller.faults('payment', [{ operation: 'charge', fault: 'hold', times: 1 }]);
  const taken = await post(ORDER, randomUUID(), 'respond-async');
  const orderId = String(taken.json['orderId']);
  await until('the charge is under way', async () => (await calls(orderId)).length > 0);
  const pid = await teller.stage.kill('worker');
  say(`The charge is under way and has no answer. kill -9 ${pid}: the worker is gone.`);
  expect('the charge takes effect, and nobody hears of it', await teller.release('payment'), 1);
  const order = await ended(orderId);
  expect('another worker ends the order: confirmed', order.status, 'confirmed');
  const charges = (await calls(orderId)).filter(({ operation }) => operation === 'charge');
  expect(
    `the charge was called ${charges.length} times under one key, with one effect`,
    [
      charges.length > 1,
      new Set(charges.map(({ key }) => key)).size,
      charges.filter(({ effect }) => effect).length,
    ],
    [true, 1, 1],
  );
  await books(orderId, CONFIRMED);
};

const lateCharge: Scene = async (teller) => {
  const { title, say, post, send, expect, books, calls, ended } = teller;
  title('A charge that arrives after its order was cancelled');
  await teller.faults('payment', [{ operation: 'charge', fault: 'hold' }]);
  const taken = await post(ORDER, randomUUID(), 'respond-async');
  const orderId = String(taken.json['orderId']);
  await until('the charge is under way', async () => (await calls(orderId)).length > 0);
  const { status } = await send(`/orders/${orderId}/cancel`);
  expect('the charge is held on its way; the client cancels: 202', status, 202);
  const order = await ended(orderId);
  expect('the order ends cancelled, its charge barred by a void', order.status, 'cancelled');
  await teller.faults('payment', []);
  say(`Now the charge arrives: ${await teller.release('payment')} held calls are let go.`);
  const charges = (await calls(orderId)).filter(({ operation }) => operation === 'charge');
  expect(
    'each is refused, 409 charge-voided, and has no effect',
    charges.every(({ status: answered, effect }) => answered === 409 && !effect),
    true,
  );
  // A cancel undoes every step, also one that was never called.
  await books(orderId, { chargesBarred: 1, reservationsBarred: 1 });
};

const stuckUndo: Scene = async (teller) => {
  const { title, say, post, send, expect, books, ended } = teller;
  title('An undo that needs a person');
  await teller.faults('payment', [
    { operation: 'refund', fault: 'error-before', status: 400, times: 1 },
  ]);
  const taken = await post(SOLD_OUT, randomUUID(), 'respond-async');
  const orderId = String(taken.json['orderId']);
  await teller.untilStatus(orderId, 'needs_attention');
  say(
    'Sold out, and the refund is refused for good: the order stays open, with the money in sight.',
  );
  const { status } = await send(`/orders/${orderId}/undo/retry`, {
    step: 'payment',
    who: 'ada',
    why: 'the payment service is repaired',
  });
  expect('an operator has it tried again: 202', status, 202);
  expect('the order ends cancelled', (await ended(orderId)).status, 'cancelled');
  await books(orderId, { charges: 1, refunds: 1 });
};

export const SCENES: readonly Scene[] = [
  oneOrderAKey,
  soldOut,
  killedWorker,
  lateCharge,
  stuckUndo,
];
