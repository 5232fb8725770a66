import assert from 'node:assert/strict';
import { check } from '../../hammer/check.js';
import type { Invariant } from '../../hammer/check.js';
import type { Entry, InventoryLine, Journal, PaymentLine, Timed } from '../../hammer/journal.js';

/** A clean run as the hammer records it, open to be damaged. */
interface Run {
  readonly payment: PaymentLine[];
  readonly inventory: InventoryLine[];
  readonly others: Entry[];
  reserved: number;
}

const CONFIRMED = orderId(1);
const SOLD_OUT = orderId(2);
const CANCELLED = orderId(3);

/** Each violation that faults.md plants, who must catch it, and how it is planted. */
const PLANTED: Readonly<Record<string, readonly [readonly Invariant[], (run: Run) => void]>> = {
  'a double charge': [
    ['I1', 'I2', 'I3'],
    (run) => run.payment.push({ ...charge(1, 101), key: `${CONFIRMED}:pay:again` }),
  ],
  'a double refund': [
    ['I2', 'I3', 'I5'],
    (run) => run.payment.push({ ...refund(2, 103), key: `${SOLD_OUT}:comp:pay:again` }),
  ],
  'a refund of a confirmed order': [['I3'], (run) => run.payment.push(refund(1, 101))],
  'a lost refund': [
    ['I3'],
    (run) => remove(run.payment, ({ kind, orderId: id }) => kind === 'refund' && id === SOLD_OUT),
  ],
  'a late charge after the cancel': [
    ['I3'],
    (run) => {
      remove(run.payment, ({ orderId: id }) => id === CANCELLED);
      run.payment.push(charge(3, 107, 60));
    },
  ],
  'a partial refund': [
    ['I2', 'I3', 'I4'],
    (run) => {
      remove(run.payment, ({ kind, orderId: id }) => kind === 'refund' && id === SOLD_OUT);
      run.payment.push(refund(2, 50));
    },
  ],
  'a refund without a charge': [
    ['I2', 'I3', 'I4'],
    (run) => remove(run.payment, ({ kind, orderId: id }) => kind === 'charge' && id === SOLD_OUT),
  ],
  'a stock leak': [['I6', 'I7'], (run) => remove(run.inventory, ({ kind }) => kind === 'release')],
  'an oversold SKU': [
    ['I6'],
    (run) => {
      run.reserved = 2;
      run.inventory.push({ ...reserve(1), items: [{ sku: 'DEFAULT', quantity: 10 }] });
    },
  ],
  'goods released twice': [
    ['I6', 'I7'],
    (run) => run.inventory.push({ ...release(3), key: `${CANCELLED}:comp:inv:again` }),
  ],
  'the wrong order of undos': [
    ['I9'],
    (run) => {
      remove(run.inventory, ({ kind }) => kind === 'release');
      run.inventory.push(release(3, 40));
    },
  ],
  'an orphan charge': [['I8'], (run) => run.payment.push(charge(9, 109))],
  'a stuck order': [
    ['I10'],
    (run) => run.others.push({ type: 'unfinished', orderId: CANCELLED, status: 'processing' }),
  ],
  'a confirmation without a charge': [
    ['I3'],
    (run) => remove(run.payment, ({ orderId: id }) => id === CONFIRMED),
  ],
};

/** Beyond the books: what only the answers show. */
const PLANTED_ANSWERS: Readonly<Record<string, readonly [Invariant, (run: Run) => void]>> = {
  'an answer that changes by a byte': ['I11', (run) => place(run, 1, `${confirmed(1)} `)],
  'a second order of one key': ['I1', (run) => place(run, 1, confirmed(2))],
  'two bodies taken under one key': [
    'I11',
    (run) => place(run, 1, confirmed(1), { intent: intentOf(1, 113), amount: 113 }),
  ],
  'an order of another tenant': ['I13', (run) => place(run, 1, confirmed(1), { tenant: 'south' })],
  'an acknowledged order that is gone': [
    'I12',
    (run) => place(run, 8, confirmed(8), {}, `/orders/${orderId(8)}`),
  ],
  'a key without an end': ['I10', (run) => place(run, 7, '{}', {}, undefined, 503)],
  'a confirmation of what was declined': [
    'I3',
    (run) => place(run, 1, confirmed(1), { mayConfirm: false }),
  ],
  'a 500': ['API', (run) => place(run, 1, '{}', {}, undefined, 500)],
};

describe('checker.selftest: the oracle is tested before the system', () => {
  it('finds nothing in a clean run', () => {
    assert.deepEqual(check(journalOf(cleanRun())), []);
  });

  for (const [what, [invariants, plant]] of Object.entries(PLANTED)) {
    it(`catches ${what}`, () => {
      const run = cleanRun();
      plant(run);

      const found = new Set(check(journalOf(run)).map(({ invariant }) => invariant));

      assert.deepEqual(
        invariants.filter((invariant) => !found.has(invariant)),
        [],
        `found only ${[...found].join(', ')}`,
      );
    });
  }

  for (const [what, [invariant, plant]] of Object.entries(PLANTED_ANSWERS)) {
    it(`catches ${what}`, () => {
      const run = cleanRun();
      plant(run);

      const found = check(journalOf(run)).map((violation) => violation.invariant);

      assert.ok(found.includes(invariant), `found only ${found.join(', ')}`);
    });
  }

  it('knows a lost refund by the join with what clients saw, and by nothing else', () => {
    const run = cleanRun();
    remove(run.payment, ({ kind, orderId: id }) => kind === 'refund' && id === SOLD_OUT);

    const found = new Set(check(journalOf(run)).map(({ invariant }) => invariant));

    assert.deepEqual([...found], ['I3']);
  });

  it('lets an undo that a person helped come last', () => {
    const run = cleanRun();
    remove(run.inventory, ({ kind }) => kind === 'release');
    run.inventory.push(release(3, 40));
    const asked = { request: 'retry-undo', tenant: 'operator', step: 'inventory' } as const;
    run.others.push({ type: 'invoke', id: 99, orderId: CANCELLED, ...asked });

    assert.deepEqual(check(journalOf(run)), []);
  });
});

/** Three orders: confirmed over 101, sold out over 103, cancelled over 107 after both steps. */
function cleanRun(): Run {
  const run: Run = {
    payment: [charge(1, 101), charge(2, 103), refund(2, 103), charge(3, 107), refund(3, 107)],
    inventory: [reserve(1), reserve(3), release(3)],
    others: [],
    reserved: 1,
  };
  place(run, 1, confirmed(1));
  place(run, 2, problem(2, 'out-of-stock'), {}, undefined, 422);
  place(run, 3, problem(3, 'order-cancelled'), {}, undefined, 422);
  document(run, 1, 101, 'confirmed', null);
  document(run, 2, 103, 'cancelled', 'out-of-stock');
  document(run, 3, 107, 'cancelled', 'order-cancelled');
  return run;
}

function journalOf({ payment, inventory, others, reserved }: Run): Journal {
  const stock = [{ sku: 'DEFAULT', onHand: 5, reserved, available: 5 - reserved }];
  const entries: Entry[] = [
    { type: 'plan', seed: 'test', minutes: 1, attentionAfterMs: 5_000 },
    ...others,
    { type: 'payment-ledger', lines: payment },
    { type: 'inventory-ledger', lines: inventory },
    { type: 'stock', stock },
  ];
  return entries.map((entry, index): Timed<Entry> => ({ ...entry, atMs: index }));
}

function place(
  { others }: Run,
  order: number,
  body: string,
  change: { tenant?: string; intent?: string; amount?: number; mayConfirm?: boolean } = {},
  location?: string,
  status = 201,
): void {
  const id = others.length + 1;
  const amount = [0, 101, 103, 107][order] ?? 0;
  const where = location ?? (body.includes('ORD-') ? `/orders/${orderIdIn(body)}` : undefined);
  others.push(
    {
      type: 'invoke',
      id,
      request: 'place',
      tenant: 'north',
      key: `key-${order}`,
      intent: intentOf(order, amount),
      amount,
      mayConfirm: true,
      ...change,
    },
    {
      type: 'ok',
      id,
      status,
      headers: { ...(where !== undefined && { location: where }) },
      body,
    },
  );
}

function document(
  { others }: Run,
  order: number,
  amount: number,
  status: string,
  reason: string | null,
): void {
  others.push({
    type: 'order',
    orderId: orderId(order),
    tenant: 'north',
    status: 200,
    statusForOthers: 404,
    document: {
      orderId: orderId(order),
      sagaId: `order-${order}`,
      status,
      userId: `user-${order}`,
      amount,
      reason,
      steps: [],
    },
  });
}

function charge(order: number, amount: number, second = 10): PaymentLine {
  return paymentLine('charge', order, amount, `${orderId(order)}:pay`, second);
}

function refund(order: number, amount: number): PaymentLine {
  return paymentLine('refund', order, amount, `${orderId(order)}:comp:pay`, 14);
}

function paymentLine(
  kind: PaymentLine['kind'],
  order: number,
  amount: number,
  key: string,
  second: number,
): PaymentLine {
  return { kind, key, orderId: orderId(order), amount, currency: 'JPY', createdAt: at(second) };
}

function reserve(order: number): InventoryLine {
  return inventoryLine('reserve', order, `${orderId(order)}:inv`, 12);
}

function release(order: number, second = 13): InventoryLine {
  return inventoryLine('release', order, `${orderId(order)}:comp:inv`, second);
}

function inventoryLine(
  kind: InventoryLine['kind'],
  order: number,
  key: string,
  second: number,
): InventoryLine {
  const items = [{ sku: 'DEFAULT', quantity: 1 }];
  return { kind, key, orderId: orderId(order), items, createdAt: at(second) };
}

function confirmed(order: number): string {
  return JSON.stringify({ orderId: orderId(order), sagaId: `order-${order}`, status: 'confirmed' });
}

function problem(order: number, slug: string): string {
  const sagaId = `order-${order}`;
  return JSON.stringify({ type: `/problems/${slug}`, orderId: orderId(order), sagaId });
}

function remove<T>(lines: T[], isRemoved: (line: T) => boolean): void {
  const kept = lines.filter((line) => !isRemoved(line));
  assert.ok(kept.length < lines.length, 'there was nothing to damage');
  lines.splice(0, lines.length, ...kept);
}

function orderId(order: number): string {
  return `ORD-${String(order).padStart(32, '0')}`;
}

const orderIdIn = (body: string): string => /ORD-[0-9a-f]{32}/.exec(body)?.[0] ?? '';
const intentOf = (order: number, amount: number): string =>
  JSON.stringify({ userId: `user-${order}`, amount });
const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;
