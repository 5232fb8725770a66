import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { buildInventoryApp } from '../../src/services/inventory/app.js';
import { seedStock } from '../../src/services/inventory/stock.js';
import { slugOf, startService, untilTaken } from './service-harness.js';
import type { Answer, ServiceUnderTest } from './service-harness.js';

describe('inventory service', () => {
  let inventory: ServiceUnderTest;

  before(async () => {
    inventory = await startService('inventory', buildInventoryApp);
  });
  after(() => inventory.stop());

  /** A SKU of the test's own with so many units. */
  const aSku = async (onHand: number): Promise<string> => {
    const sku = `SKU-${randomUUID()}`;
    const answer = await inventory.send('PUT', `/stock/${sku}`, { onHand });
    assert.equal(answer.status, 200);
    return sku;
  };
  const stock = async (sku: string) => (await inventory.send('GET', `/stock/${sku}`)).body;
  const anOrder = (items: readonly { sku: string; quantity: number }[]) => {
    const orderId = `ORD-${randomUUID()}`;
    const key = `${orderId}:inv`;
    return {
      orderId,
      key,
      reserve: (changes: object = {}) =>
        inventory.post('/reservations', key, { orderId, items, ...changes }),
      release: (undoKey = `${orderId}:comp:inv`, changes: object = {}) =>
        inventory.post('/releases', undoKey, { orderId, reservationKey: key, ...changes }),
    };
  };
  const effects = async (orderId: string) =>
    (await inventory.calls(orderId)).map(({ effect }) => effect);
  const outcomeOf = ({ status, body }: Answer) => [status, body['outcome']];

  describe('a reservation', () => {
    it('answers 201, raises what is reserved and writes one line', async () => {
      const sku = await aSku(5);
      const items = [{ sku, quantity: 2 }];
      const order = anOrder(items);

      const answer = await order.reserve();

      const { createdAt, ...reservation } = answer.body;
      assert.equal(answer.status, 201);
      assert.deepEqual(reservation, { reservationKey: order.key, orderId: order.orderId, items });
      assert.deepEqual(await stock(sku), { sku, onHand: 5, reserved: 2, available: 3 });
      assert.deepEqual(await inventory.lines(order.orderId), [
        { kind: 'reserve', key: order.key, orderId: order.orderId, items, createdAt },
      ]);
    });

    it('happens once among 30 at the same time, and all get the same answer', async () => {
      const sku = await aSku(100);
      const order = anOrder([{ sku, quantity: 3 }]);

      const answers = await Promise.all(Array.from({ length: 30 }, () => order.reserve()));

      for (const answer of answers) {
        assert.deepEqual([answer.status, answer.body], [201, answers[0]!.body]);
      }
      assert.equal((await stock(sku))['reserved'], 3);
      assert.equal((await effects(order.orderId)).filter(Boolean).length, 1);
    });

    it('takes all items or none', async () => {
      const [plenty, few] = [await aSku(10), await aSku(1)];
      const order = anOrder([
        { sku: plenty, quantity: 1 },
        { sku: few, quantity: 2 },
      ]);

      const answer = await order.reserve();

      assert.deepEqual([answer.status, slugOf(answer)], [422, 'out-of-stock']);
      assert.equal((await stock(plenty))['reserved'], 0);
      assert.deepEqual(await inventory.lines(order.orderId), []);
      assert.deepEqual(await effects(order.orderId), [false]);
    });

    it('that was refused stays refused when stock has come since', async () => {
      const sku = await aSku(0);
      const order = anOrder([{ sku, quantity: 1 }]);
      await order.reserve();
      await inventory.send('PUT', `/stock/${sku}`, { onHand: 10 });

      const again = await order.reserve();
      const other = await order.reserve({ items: [{ sku, quantity: 2 }] });

      assert.deepEqual([again.status, slugOf(again)], [422, 'out-of-stock']);
      assert.deepEqual([other.status, slugOf(other)], [409, 'idempotency-key-reused']);
      assert.equal((await stock(sku))['reserved'], 0);
    });

    it('of an unknown SKU is out of stock', async () => {
      const answer = await anOrder([{ sku: 'no-such-thing', quantity: 1 }]).reserve();

      assert.deepEqual([answer.status, slugOf(answer)], [422, 'out-of-stock']);
    });

    it('is refused under its key with other items or another order', async () => {
      const sku = await aSku(10);
      const order = anOrder([{ sku, quantity: 1 }]);
      await order.reserve();

      const answers = [
        await order.reserve({ items: [{ sku, quantity: 2 }] }),
        await order.reserve({ orderId: 'another' }),
      ];

      for (const answer of answers) {
        assert.deepEqual([answer.status, slugOf(answer)], [409, 'idempotency-key-reused']);
      }
      assert.equal((await stock(sku))['reserved'], 1);
    });

    it('gives 10 of 50 orders one of 10 units each, at the same time', async () => {
      const sku = await aSku(10);
      const orders = Array.from({ length: 50 }, () => anOrder([{ sku, quantity: 1 }]));

      const answers = await Promise.all(orders.map((order) => order.reserve()));

      assert.equal(answers.filter(({ status }) => status === 201).length, 10);
      assert.equal(answers.filter((answer) => slugOf(answer) === 'out-of-stock').length, 40);
      assert.deepEqual(await stock(sku), { sku, onHand: 10, reserved: 10, available: 0 });
    });

    it('does not deadlock with others that name the same SKUs in another order', async () => {
      const skus = await Promise.all([aSku(1000), aSku(1000), aSku(1000), aSku(1000)]);
      const rotated = (n: number) =>
        skus.map((_, i) => ({ sku: skus[(i + n) % skus.length]!, quantity: 1 }));
      const orders = Array.from({ length: 60 }, (_, i) =>
        anOrder(i % 2 === 0 ? rotated(i) : rotated(i).reverse()),
      );

      const reserved = await Promise.all(orders.map((order) => order.reserve()));
      const released = await Promise.all(orders.map((order) => order.release()));

      assert.ok(reserved.every(({ status }) => status === 201));
      assert.ok(released.every(({ body }) => body['outcome'] === 'released'));
      for (const sku of skus) assert.equal((await stock(sku))['available'], 1000);
    });
  });

  describe('a release', () => {
    it('gives the stock back once, whatever undo keys it comes with', async () => {
      const sku = await aSku(5);
      const order = anOrder([{ sku, quantity: 2 }]);
      await order.reserve();

      const answers = [
        await order.release(`1${order.orderId}`),
        await order.release(`1${order.orderId}`),
        await order.release(`2${order.orderId}`),
      ];
      const late = await order.reserve();

      assert.deepEqual(answers.map(outcomeOf), [
        [200, 'released'],
        [200, 'already-released'],
        [200, 'already-released'],
      ]);
      assert.deepEqual([late.status, slugOf(late)], [409, 'reservation-voided']);
      assert.deepEqual(await stock(sku), { sku, onHand: 5, reserved: 0, available: 5 });
      const lines = await inventory.lines(order.orderId);
      assert.deepEqual(
        lines.map(({ kind, key }) => [kind, key]),
        [
          ['reserve', order.key],
          ['release', `1${order.orderId}`],
        ],
      );
    });

    it('that comes before its reservation voids the key and moves no stock', async () => {
      const sku = await aSku(5);
      const order = anOrder([{ sku, quantity: 2 }]);

      const undos = [await order.release(`1${order.orderId}`), await order.release()];
      const late = await order.reserve();

      assert.deepEqual(undos.map(outcomeOf), Array(2).fill([200, 'voided']));
      assert.deepEqual([late.status, slugOf(late)], [409, 'reservation-voided']);
      assert.deepEqual(await stock(sku), { sku, onHand: 5, reserved: 0, available: 5 });
      const [line, ...rest] = await inventory.lines(order.orderId);
      const { createdAt, ...voided } = line as unknown as Record<string, unknown>;
      assert.equal(typeof createdAt, 'string');
      assert.deepEqual(rest, []);
      assert.deepEqual(voided, {
        kind: 'void',
        key: order.key,
        orderId: order.orderId,
        items: [],
      });
    });

    it('of a refused reservation is voided, writes nothing and leaves the refusal', async () => {
      const order = anOrder([{ sku: await aSku(0), quantity: 1 }]);
      await order.reserve();

      const undo = await order.release();
      const late = await order.reserve();

      assert.deepEqual(outcomeOf(undo), [200, 'voided']);
      assert.deepEqual([late.status, slugOf(late)], [422, 'out-of-stock']);
      assert.deepEqual(await inventory.lines(order.orderId), []);
    });

    it('with another order id is refused; under a used key, too', async () => {
      const sku = await aSku(5);
      const [one, two] = [anOrder([{ sku, quantity: 1 }]), anOrder([{ sku, quantity: 1 }])];
      await Promise.all([one.reserve(), two.reserve()]);

      const wrongOrder = await one.release(undefined, { orderId: two.orderId });
      const right = await one.release();
      const usedKey = await two.release(`${one.orderId}:comp:inv`);
      const forwardKey = await two.release(two.key);

      assert.deepEqual([wrongOrder.status, slugOf(wrongOrder)], [422, 'order-mismatch']);
      assert.deepEqual(outcomeOf(right), [200, 'released']);
      for (const answer of [usedKey, forwardKey]) {
        assert.deepEqual([answer.status, slugOf(answer)], [409, 'idempotency-key-reused']);
      }
      assert.equal((await stock(sku))['reserved'], 1);
    });
  });

  it('keeps the stock equal to the ledger through a race of reservations and releases', async () => {
    const skus = [await aSku(30), await aSku(40)];
    const orders = Array.from({ length: 120 }, (_, i) =>
      anOrder(
        (i % 2 === 0 ? skus : [...skus].reverse()).map((sku) => ({ sku, quantity: 1 + (i % 2) })),
      ),
    );

    await Promise.all(
      orders.map(async (order, i) => {
        const undos = [() => order.release(`1${order.orderId}`), () => order.release()];
        const calls = [...(i % 3 === 0 ? [] : undos), order.reserve, order.reserve];
        const answers = await Promise.all(calls.map((call) => untilTaken(() => call())));
        for (const answer of answers) assert.ok(answer.status < 500, JSON.stringify(answer.body));
      }),
    );

    const { rows } = await inventory.pool.query<{ sku: string; held: number; reserved: number }>(
      `select s.sku, s.reserved, coalesce(sum((item ->> 'quantity')::integer), 0)::integer as held
       from stock s
       left join (reservations f cross join jsonb_array_elements(f.items) as item)
         on item ->> 'sku' = s.sku and f.kind = 'reservation'
         and not exists (select from releases r where r.reservation_key = f.reservation_key)
       where s.sku = any($1) group by s.sku`,
      [skus],
    );
    assert.equal(rows.length, 2);
    for (const { sku, held, reserved } of rows) {
      assert.equal(reserved, held, sku);
      assert.ok(reserved > 0, 'an order that is not undone must have got its units');
    }
  });

  describe('stock', () => {
    it('is set as a whole, and not below what is reserved', async () => {
      const sku = await aSku(5);
      await anOrder([{ sku, quantity: 3 }]).reserve();

      const tooLow = await inventory.send('PUT', `/stock/${sku}`, { onHand: 2 });
      const lowest = await inventory.send('PUT', `/stock/${sku}`, { onHand: 3 });

      assert.deepEqual([tooLow.status, slugOf(tooLow)], [409, 'stock-reserved']);
      assert.deepEqual(lowest.body, { sku, onHand: 3, reserved: 3, available: 0 });
    });

    it('of an unknown SKU is 404', async () => {
      const answer = await inventory.send('GET', '/stock/no-such-thing');

      assert.deepEqual([answer.status, slugOf(answer)], [404, 'not-found']);
    });

    it('is seeded once: a later start leaves it alone', async () => {
      const [one, two] = [`SKU-${randomUUID()}`, `SKU-${randomUUID()}`];
      await seedStock(inventory.pool, { [one]: 7 });
      await anOrder([{ sku: one, quantity: 1 }]).reserve();

      await seedStock(inventory.pool, { [one]: 100, [two]: 0 });

      assert.deepEqual(await stock(one), { sku: one, onHand: 7, reserved: 1, available: 6 });
      assert.deepEqual(await stock(two), { sku: two, onHand: 0, reserved: 0, available: 0 });
    });

    for (const body of [{ onHand: -1 }, { onHand: '5' }, { onHand: 1, reserved: 0 }, {}]) {
      it(`refuses ${JSON.stringify(body)}`, async () => {
        const answer = await inventory.send('PUT', `/stock/SKU-${randomUUID()}`, body);

        assert.deepEqual([answer.status, slugOf(answer)], [400, 'validation-failed']);
      });
    }
  });

  it('shows what became of a key, and 404 for one it never saw', async () => {
    const sku = await aSku(5);
    const [kept, undone, refused, voided, unknown] = [
      anOrder([{ sku, quantity: 1 }]),
      anOrder([{ sku, quantity: 1 }]),
      anOrder([{ sku, quantity: 100 }]),
      anOrder([{ sku, quantity: 1 }]),
      anOrder([{ sku, quantity: 1 }]),
    ];
    await Promise.all([kept.reserve(), undone.reserve(), refused.reserve()]);
    await Promise.all([undone.release(), voided.release()]);

    const answers = await Promise.all(
      [kept, undone, refused, voided, unknown].map(({ key }) =>
        inventory.send('GET', `/reservations/${encodeURIComponent(key)}`),
      ),
    );

    assert.deepEqual(
      answers.map(({ status, body }) => [status, body['state']]),
      [
        [200, 'reserved'],
        [200, 'released'],
        [200, 'out-of-stock'],
        [200, 'voided'],
        [404, undefined],
      ],
    );
  });

  for (const [what, items] of Object.entries({
    'no items': [],
    'a SKU twice': [
      { sku: 'DEFAULT', quantity: 1 },
      { sku: 'DEFAULT', quantity: 2 },
    ],
    'a quantity of 0': [{ sku: 'DEFAULT', quantity: 0 }],
    'a quantity in a string': [{ sku: 'DEFAULT', quantity: '1' }],
    'an unknown member': [{ sku: 'DEFAULT', quantity: 1, price: 1 }],
    '101 items': Array.from({ length: 101 }, (_, i) => ({ sku: `S${i}`, quantity: 1 })),
  })) {
    it(`refuses ${what}, and puts nothing on record`, async () => {
      const order = anOrder(items as { sku: string; quantity: number }[]);

      const answer = await order.reserve();

      assert.deepEqual([answer.status, slugOf(answer)], [400, 'validation-failed']);
      assert.deepEqual(await inventory.calls(order.orderId), []);
    });
  }
});
