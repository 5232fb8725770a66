import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sharedStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';

const ORDER = { userId: 'u1', amount: 1_000 };

describe('promise: one order a key', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(120_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
  });

  it('confirms an order, with one charge and one reservation', async () => {
    const answer = await stack.post(ORDER);

    assert.equal(answer.status, 201);
    const { orderId, sagaId, status } = answer.json;
    assert.match(String(orderId), /^ORD-[0-9a-f]{32}$/);
    assert.match(String(sagaId), /^order-[0-9a-f]{32}$/);
    assert.equal(status, 'confirmed');
    assert.equal(answer.headers.get('location'), `/orders/${String(orderId)}`);
    assert.equal(answer.headers.get('idempotent-replayed'), null);
    assert.deepEqual(await stack.payment.kinds(String(orderId)), ['charge']);
    assert.deepEqual(await stack.inventory.kinds(String(orderId)), ['reserve']);
  });

  it('answers a repeated request with the same bytes and a mark, and does nothing more', async () => {
    const key = randomUUID();
    const first = await stack.post(ORDER, { key });

    // Equal as JSON: members in another order, white space, the key in quotes.
    const again = await stack.post('{ "amount": 1000,\n "userId": "u1" }', { key: `"${key}"` });

    assert.deepEqual([again.status, again.text], [first.status, first.text]);
    for (const header of ['content-type', 'location']) {
      assert.equal(again.headers.get(header), first.headers.get(header));
    }
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.notEqual(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
    assert.equal((await stack.payment.calls(String(first.json['orderId']))).length, 1);
  });

  it('refuses another body under the same key, 1000 then 2000, and leaves the first order alone', async () => {
    const key = randomUUID();
    const first = await stack.post(ORDER, { key });

    const other = await stack.post({ ...ORDER, amount: 2_000 }, { key });
    const again = await stack.post(ORDER, { key });

    assert.equal(other.status, 409);
    assert.equal(other.json['type'], '/problems/idempotency-key-reused');
    assert.deepEqual([again.status, again.text], [201, first.text]);
  });

  it('makes one order of 100 parallel posts of one key over two API processes', async () => {
    const key = randomUUID();
    const second = await stack.startApi();

    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        stack.post(ORDER, { key, ...(index % 2 === 0 ? {} : { api: second }) }),
      ),
    );

    const final = answers.filter(({ status }) => status === 201);
    const running = answers.filter(({ status }) => status === 409);
    assert.equal(final.length + running.length, 100);
    assert.ok(final.length >= 1);
    assert.equal(new Set(final.map(({ text }) => text)).size, 1);
    for (const answer of running) {
      assert.equal(answer.json['type'], '/problems/request-in-progress');
      assert.ok(answer.headers.has('retry-after'));
    }
    const orderId = String(final[0]?.json['orderId']);
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
    const afterwards = await stack.post(ORDER, { key, api: second });
    assert.deepEqual([afterwards.status, afterwards.text], [201, final[0]?.text]);
  });

  it('answers all of 100 parallel posts with the one order when they ask to wait', async () => {
    const key = randomUUID();

    const answers = await Promise.all(
      Array.from({ length: 100 }, () => stack.post(ORDER, { key, headers: { prefer: 'wait=30' } })),
    );

    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    const started = answers.filter(({ headers }) => !headers.has('idempotent-replayed'));
    assert.equal(started.length, 1);
  });

  it('lets one of two bodies have each key, however they are spelled and sent at once, for each tenant', async () => {
    const second = await stack.startApi();
    const keys = Array.from({ length: 8 }, () => randomUUID());
    const sendOne = async (key: string, token: string, index: number) => {
      const amount = index % 2 === 0 ? 1_000 : 2_000;
      const body =
        index % 3 === 0 ? `{"amount":${amount},\n"\\u0075serId":"u1"}` : { userId: 'u1', amount };
      const answer = await stack.post(body, {
        key: index % 5 === 0 ? `"${key}"` : key,
        token,
        headers: { prefer: index % 4 < 2 ? 'wait=60' : 'wait=60; x, respond-async' },
        ...(index % 7 < 3 ? {} : { api: second }),
      });
      return { amount, answer };
    };
    const owned = keys.flatMap((key) =>
      ['demo-token', 'other-token'].map((token) => ({ key, token })),
    );

    const orders = await Promise.all(
      owned.map(async ({ key, token }) => {
        const sent = await Promise.all(
          Array.from({ length: 10 }, (_, index) => sendOne(key, token, index)),
        );
        const won = sent.filter(({ answer }) => answer.status === 201);
        const lost = sent.filter(({ answer }) => answer.status !== 201);
        const types = new Set(lost.map(({ answer }) => answer.json['type']));
        assert.deepEqual([won.length, new Set(won.map(({ amount }) => amount)).size], [5, 1]);
        assert.equal(new Set(won.map(({ answer }) => answer.text)).size, 1);
        assert.deepEqual([...types], ['/problems/idempotency-key-reused']);
        return { orderId: String(won[0]?.answer.json['orderId']), amount: won[0]?.amount };
      }),
    );

    assert.equal(new Set(orders.map(({ orderId }) => orderId)).size, owned.length);
    for (const { orderId, amount } of orders) {
      const ledger = await stack.payment.ledger(orderId);
      assert.deepEqual(
        ledger.map((line) => [line.kind, line.amount]),
        [['charge', amount]],
      );
    }
  }).timeout(90_000);

  it('takes a key of another tenant for another order', async () => {
    const key = randomUUID();
    const ours = await stack.post(ORDER, { key });

    const theirs = await stack.post(ORDER, { key, token: 'other-token' });

    assert.equal(theirs.status, 201);
    assert.notEqual(theirs.json['orderId'], ours.json['orderId']);
    const path = `/orders/${String(theirs.json['orderId'])}`;
    assert.equal((await stack.get(path)).status, 404);
    assert.equal((await stack.get(path, 'other-token')).status, 200);
  });

  it('sells ten of ten to fifty buyers', async () => {
    const sku = `TEN-${randomUUID()}`;
    await stack.inventory.json(`/stock/${sku}`, { method: 'PUT', body: '{"onHand":10}' });

    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        stack.post({ ...ORDER, items: [{ sku, quantity: 1 }] }, { headers: { prefer: 'wait=60' } }),
      ),
    );

    const bought = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 422);
    assert.deepEqual([bought.length, refused.length], [10, 40]);
    assert.deepEqual(await stack.inventory.json(`/stock/${sku}`), {
      sku,
      onHand: 10,
      reserved: 10,
      available: 0,
    });
    for (const { json } of refused) {
      assert.deepEqual(await stack.payment.kinds(String(json['orderId'])), ['charge', 'refund']);
    }
  }).timeout(90_000);

  for (const [name, options] of [
    ['without a key', { key: '' }],
    ['without a token', { token: '' }],
    ['with a wrong token', { token: 'demo-tokem' }],
  ] as const) {
    it(`refuses a request ${name}, and leaves nothing behind`, async () => {
      const key = randomUUID();

      const answer = await stack.post(ORDER, { key, ...options });
      const good = await stack.post(ORDER, { key });

      assert.deepEqual(
        [answer.status, answer.json['type']],
        name === 'without a key'
          ? [400, '/problems/idempotency-key-missing']
          : [401, '/problems/unauthorized'],
      );
      assert.equal(good.headers.get('idempotent-replayed'), null);
    });
  }
});
