import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { buildPaymentApp } from '../../src/services/payment/app.js';
import { slugOf, startService, untilTaken } from './service-harness.js';
import type { Answer, ServiceUnderTest } from './service-harness.js';

describe('payment service', () => {
  let payment: ServiceUnderTest;

  before(async () => {
    payment = await startService('payment', buildPaymentApp);
  });
  after(() => payment.stop());

  const anOrder = () => {
    const orderId = `ORD-${randomUUID()}`;
    const key = `${orderId}:pay`;
    const body = { orderId, amount: 1000, currency: 'JPY', paymentMethod: 'pm_ok' };
    return {
      orderId,
      key,
      body,
      charge: (changes: object = {}) => payment.post('/charges', key, { ...body, ...changes }),
      refund: (undoKey = `${orderId}:comp:pay`, changes: object = {}) =>
        payment.post('/refunds', undoKey, { orderId, chargeKey: key, ...changes }),
    };
  };
  type Order = ReturnType<typeof anOrder>;
  const effects = async ({ orderId }: Order) =>
    (await payment.calls(orderId)).map(({ effect }) => effect);
  const outcomeOf = ({ status, body }: Answer) => [status, body['outcome']];

  describe('a charge', () => {
    it('answers 201 with the charge and writes one line', async () => {
      const order = anOrder();

      const answer = await order.charge();

      assert.equal(answer.status, 201);
      const { createdAt, ...charge } = answer.body;
      assert.deepEqual(charge, {
        chargeKey: order.key,
        orderId: order.orderId,
        amount: 1000,
        currency: 'JPY',
      });
      assert.deepEqual(await payment.lines(order.orderId), [
        {
          kind: 'charge',
          key: order.key,
          orderId: order.orderId,
          amount: 1000,
          currency: 'JPY',
          createdAt,
        },
      ]);
    });

    it('is the same charge, and no second one, when it is repeated', async () => {
      const order = anOrder();
      const first = await order.charge();

      const second = await order.charge();

      assert.deepEqual([second.status, second.body], [first.status, first.body]);
      assert.deepEqual(await payment.kinds(order.orderId), ['charge']);
      assert.deepEqual(await effects(order), [true, false]);
    });

    it('happens once among 30 at the same time', async () => {
      const order = anOrder();

      const answers = await Promise.all(Array.from({ length: 30 }, () => order.charge()));

      for (const answer of answers) {
        assert.deepEqual([answer.status, answer.body], [201, answers[0]!.body]);
      }
      assert.deepEqual(await payment.kinds(order.orderId), ['charge']);
      assert.equal((await effects(order)).filter(Boolean).length, 1);
    });

    for (const change of [
      { amount: 1001 },
      { currency: 'EUR' },
      { orderId: 'another' },
      { paymentMethod: 'pm_declined' },
    ]) {
      it(`is refused under its key with another ${Object.keys(change)[0]}`, async () => {
        const order = anOrder();
        await order.charge();

        const answer = await order.charge(change);

        assert.deepEqual([answer.status, slugOf(answer)], [409, 'idempotency-key-reused']);
        assert.deepEqual(await payment.kinds(order.orderId), ['charge']);
        assert.deepEqual(await payment.kinds('another'), []);
      });
    }

    for (const paymentMethod of ['pm_declined', 'pm_unheard_of']) {
      it(`with ${paymentMethod} is declined, remembered, and no line`, async () => {
        const order = anOrder();

        const answers = [
          await order.charge({ paymentMethod }),
          await order.charge({ paymentMethod }),
        ];

        for (const answer of answers) {
          assert.deepEqual([answer.status, slugOf(answer)], [402, 'payment-declined']);
        }
        assert.deepEqual(await payment.lines(order.orderId), []);
        assert.deepEqual(await effects(order), [false, false]);
      });
    }

    it('can not follow a refusal under the same key', async () => {
      const order = anOrder();
      await order.charge({ paymentMethod: 'pm_declined' });

      const answer = await order.charge({ paymentMethod: 'pm_ok' });

      assert.deepEqual([answer.status, slugOf(answer)], [409, 'idempotency-key-reused']);
      assert.deepEqual(await payment.lines(order.orderId), []);
    });
  });

  describe('a refund', () => {
    it('gives the charge back once, whatever undo keys it comes with', async () => {
      const order = anOrder();
      await order.charge();

      const answers = [
        await order.refund('u1' + order.orderId),
        await order.refund('u1' + order.orderId),
        await order.refund('u2' + order.orderId),
      ];

      assert.deepEqual(answers.map(outcomeOf), [
        [200, 'refunded'],
        [200, 'already-refunded'],
        [200, 'already-refunded'],
      ]);
      const lines = await payment.lines(order.orderId);
      assert.deepEqual(
        lines.map(({ kind, key }) => [kind, key]),
        [
          ['charge', order.key],
          ['refund', 'u1' + order.orderId],
        ],
      );
      assert.deepEqual(await effects(order), [true, true, false, false]);
    });

    it('bars its charge from then on, which never answers its old 201', async () => {
      const order = anOrder();
      await order.charge();
      await order.refund();

      const answer = await order.charge();

      assert.deepEqual([answer.status, slugOf(answer)], [409, 'charge-voided']);
      assert.deepEqual(await payment.kinds(order.orderId), ['charge', 'refund']);
    });

    it('that comes before its charge voids the key, each time it is asked', async () => {
      const order = anOrder();

      const undos = [
        await order.refund('v1' + order.orderId),
        await order.refund('v2' + order.orderId),
      ];
      const late = await order.charge();
      const undoAgain = await order.refund('v1' + order.orderId);

      assert.deepEqual([...undos, undoAgain].map(outcomeOf), Array(3).fill([200, 'voided']));
      assert.deepEqual([late.status, slugOf(late)], [409, 'charge-voided']);
      const [line, ...rest] = await payment.lines(order.orderId);
      const { createdAt, ...voided } = line as unknown as Record<string, unknown>;
      assert.equal(typeof createdAt, 'string');
      assert.deepEqual(rest, []);
      assert.deepEqual(voided, {
        kind: 'void',
        key: order.key,
        orderId: order.orderId,
        amount: 0,
        currency: null,
      });
      assert.deepEqual(await effects(order), [true, false, false, false]);
    });

    it('of a declined charge is voided, writes nothing and leaves the refusal', async () => {
      const order = anOrder();
      await order.charge({ paymentMethod: 'pm_declined' });

      const undo = await order.refund();
      const late = await order.charge({ paymentMethod: 'pm_declined' });

      assert.deepEqual(outcomeOf(undo), [200, 'voided']);
      assert.deepEqual([late.status, slugOf(late)], [402, 'payment-declined']);
      assert.deepEqual(await payment.lines(order.orderId), []);
    });

    it('with the order id of another order is refused and leaves nothing, not even its key', async () => {
      const order = anOrder();
      await order.charge();

      const wrong = await order.refund(undefined, { orderId: 'another' });
      const right = await order.refund();

      assert.deepEqual([wrong.status, slugOf(wrong)], [422, 'order-mismatch']);
      assert.deepEqual(outcomeOf(right), [200, 'refunded']);
    });

    it('is refused under an undo key that was used for another charge', async () => {
      const [one, two] = [anOrder(), anOrder()];
      await Promise.all([one.charge(), two.charge()]);
      await one.refund('shared' + one.orderId);

      const answer = await two.refund('shared' + one.orderId);

      assert.deepEqual([answer.status, slugOf(answer)], [409, 'idempotency-key-reused']);
      assert.deepEqual(await payment.kinds(two.orderId), ['charge']);
    });

    it('is refused under a key that was used to charge, and a charge under an undo key', async () => {
      const [one, two] = [anOrder(), anOrder()];
      await one.charge();
      await two.refund();

      const refundUnderChargeKey = await one.refund(one.key);
      const chargeUnderUndoKey = await payment.post(
        '/charges',
        `${two.orderId}:comp:pay`,
        two.body,
      );

      for (const answer of [refundUnderChargeKey, chargeUnderUndoKey]) {
        assert.deepEqual([answer.status, slugOf(answer)], [409, 'idempotency-key-reused']);
      }
      assert.deepEqual(await payment.kinds(one.orderId), ['charge']);
      assert.deepEqual(await payment.kinds(two.orderId), ['void']);
    });
  });

  it('ends every race of charges and refunds at nothing or the whole amount, refunded once', async () => {
    const orders = Array.from({ length: 200 }, anOrder);

    const races = await Promise.all(
      orders.map(async (order, index) => {
        const undos = [0, 1, 2].map((n) => () => order.refund(`${n}${order.orderId}`));
        const calls = shuffle([() => order.charge(), () => order.charge(), ...undos], index + 1);
        return Promise.all(calls.map(untilTaken));
      }),
    );

    let refunded = 0;
    for (const [index, order] of orders.entries()) {
      const kinds = await payment.kinds(order.orderId);
      const outcomes = races[index]!.flatMap(({ body }) => body['outcome'] ?? []).sort();
      const late = await order.charge();
      assert.deepEqual([late.status, slugOf(late)], [409, 'charge-voided']);
      if (kinds.length === 1) {
        assert.deepEqual([kinds, outcomes], [['void'], ['voided', 'voided', 'voided']]);
        continue;
      }
      refunded += 1;
      assert.deepEqual(kinds, ['charge', 'refund']);
      assert.deepEqual(outcomes, ['already-refunded', 'already-refunded', 'refunded']);
    }
    // Both endings must have been met, or the race was none.
    assert.ok(refunded > 0 && refunded < orders.length, `${refunded} of ${orders.length} refunded`);
    const { rows } = await payment.pool.query<{ refunds: number; net: number }>(
      `select count(r.*)::integer as refunds, sum(c.amount_minor - coalesce(r.amount_minor, 0))::integer as net
       from charges c left join refunds r using (charge_key) where c.order_id = any($1)`,
      [orders.map(({ orderId }) => orderId)],
    );
    assert.deepEqual(rows[0], { refunds: refunded, net: 0 });
  });

  it('shows what became of a key, and 404 for one it never saw', async () => {
    const [charged, refunded, declined, voided] = [anOrder(), anOrder(), anOrder(), anOrder()];
    await Promise.all([charged.charge(), refunded.charge()]);
    await declined.charge({ paymentMethod: 'pm_declined' });
    await Promise.all([refunded.refund(), voided.refund()]);

    const read = ({ key }: Order) => payment.send('GET', `/charges/${encodeURIComponent(key)}`);
    const states = await Promise.all([charged, refunded, declined, voided].map(read));
    const unknown = await read(anOrder());
    const unescaped = await payment.send('GET', `/charges/${charged.key}`);

    assert.deepEqual(
      states.map(({ body }) => body['state']),
      ['charged', 'refunded', 'declined', 'voided'],
    );
    assert.deepEqual([unknown.status, slugOf(unknown)], [404, 'not-found']);
    assert.deepEqual(unescaped.body, states[0]!.body);
  });

  it('finds a key of 255 characters that all need escaping', async () => {
    const order = anOrder();
    const key = order.orderId.padEnd(255, '/%');
    await payment.post('/charges', key, order.body);

    const answer = await payment.send('GET', `/charges/${encodeURIComponent(key)}`);

    assert.deepEqual([answer.status, answer.body['chargeKey']], [200, key]);
  });

  it('lists all orders, oldest line first, where none is named', async () => {
    const [one, two] = [anOrder(), anOrder()];
    await one.charge();
    await two.charge();
    await one.refund();

    const answer = await payment.send('GET', '/ledger');

    const lines = (answer.body as unknown as { orderId: string; kind: string }[]).slice(-3);
    assert.deepEqual(
      lines.map(({ orderId, kind }) => [orderId, kind]),
      [
        [one.orderId, 'charge'],
        [two.orderId, 'charge'],
        [one.orderId, 'refund'],
      ],
    );
  });

  describe('refuses, and puts nothing on record,', () => {
    const { body } = anOrder();
    for (const [what, change] of Object.entries({
      'an amount of 0': { amount: 0 },
      'a negative amount': { amount: -1 },
      'an amount above the limit': { amount: 10_000_001 },
      'an amount in a string': { amount: '1000' },
      'a currency in small letters': { currency: 'jpy' },
      'an empty order id': { orderId: '' },
      'an order id of 65 characters': { orderId: 'x'.repeat(65) },
      'an unknown member': { paid: true },
    })) {
      it(what, async () => {
        const key = randomUUID();

        const answer = await payment.post('/charges', key, { ...body, ...change });

        assert.deepEqual([answer.status, slugOf(answer)], [400, 'validation-failed']);
        assert.equal((await payment.send('GET', `/charges/${key}`)).status, 404);
      });
    }

    for (const path of ['/charges', '/refunds']) {
      it(`a POST ${path} without a key, or with a bad one`, async () => {
        const { orderId, key, body: charge } = anOrder();
        const sent = path === '/charges' ? charge : { orderId, chargeKey: key };

        const missing = await payment.send('POST', path, sent);
        const invalid = await payment.post(path, 'a key', sent);

        assert.deepEqual([missing.status, slugOf(missing)], [400, 'idempotency-key-missing']);
        assert.deepEqual([invalid.status, slugOf(invalid)], [400, 'idempotency-key-invalid']);
        assert.deepEqual(await payment.calls(orderId), []);
        assert.deepEqual(await payment.lines(orderId), []);
      });
    }

    it('an unknown query parameter, and a U+0000 in one', async () => {
      const unknown = await payment.send('GET', '/ledger?order=x');
      const zero = await payment.send('GET', '/ledger?orderId=%00');

      assert.deepEqual([unknown.status, zero.status], [400, 400]);
    });
  });
});

/** A shuffle that a failed run can repeat: the seed is the order's index. */
function shuffle<T>(list: readonly T[], seed: number): T[] {
  const shuffled = [...list];
  let state = seed;
  for (let i = shuffled.length - 1; i > 0; i -= 1) {
    state = (state * 48_271) % 2_147_483_647;
    const j = state % (i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
  }
  return shuffled;
}
