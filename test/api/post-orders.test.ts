import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { until } from '../support/until.js';
import { A_BODY, startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';

const LOCATION = /^\/orders\/ORD-[0-9a-f]{32}$/;

/** The part of an answer that a replay repeats. */
const replayed = ({ status, body, headers }: ApiAnswer) => ({
  status,
  body,
  location: headers['location'],
  contentType: headers['content-type'],
});

function assertProblem(answer: ApiAnswer, status: number, slug: string): void {
  assert.equal(answer.json['type'], `/problems/${slug}`, answer.body);
  assert.equal(answer.status, status);
  assert.equal(answer.json['status'], status);
  assert.match(answer.headers['content-type'] ?? '', /^application\/problem\+json/);
  assert.equal(answer.json['requestId'], answer.headers['x-request-id']);
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.ok(typeof answer.json['title'] === 'string' && typeof answer.json['detail'] === 'string');
}

describe('POST /orders with a worker', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi();
    await api.startWorker();
  });
  after(() => api.stop());

  it('confirms an order', async () => {
    const answer = await api.post();

    const { orderId, sagaId } = answer.json;
    assert.equal(answer.status, 201);
    assert.match(answer.headers['location'] ?? '', LOCATION);
    assert.equal(answer.headers['location'], `/orders/${String(orderId)}`);
    assert.match(String(sagaId), /^order-[0-9a-f]{32}$/);
    assert.equal(answer.body, JSON.stringify({ orderId, sagaId, status: 'confirmed' }));
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.ok(answer.headers['x-request-id']);
    assert.equal(answer.headers['idempotent-replayed'], undefined);
    assert.equal(answer.headers['preference-applied'], undefined);
  });

  for (const [what, body, status, slug, further] of [
    ['declined', { paymentMethod: 'pm_declined' }, 402, 'payment-declined', {}],
    ['out of stock', { items: [{ sku: 'SOLD-OUT', quantity: 1 }] }, 422, 'out-of-stock', {}],
    [
      'without a payment answer',
      { paymentMethod: 'pm_lost' },
      502,
      'payment-unavailable',
      { final: true },
    ],
    [
      'without an inventory answer',
      { items: [{ sku: 'LOST', quantity: 2 }] },
      502,
      'inventory-unavailable',
      { final: true },
    ],
  ] as const) {
    it(`answers an order that is ${what} with ${status}, now and again`, async () => {
      const post = { key: randomUUID(), body: { ...A_BODY, ...body } };

      const first = await api.post(post);
      const again = await api.post(post);

      assert.equal(first.status, status, first.body);
      assert.equal(first.json['type'], `/problems/${slug}`);
      assert.match(first.headers['content-type'] ?? '', /^application\/problem\+json/);
      assert.match(first.headers['location'] ?? '', LOCATION);
      assert.equal(first.headers['location'], `/orders/${String(first.json['orderId'])}`);
      assert.ok(first.json['sagaId']);
      assert.equal(first.json['requestId'], undefined);
      assert.equal(first.headers['retry-after'], undefined);
      assert.deepEqual({ ...first.json, ...further }, first.json);
      assert.equal(first.headers['idempotent-replayed'], undefined);
      assert.deepEqual(replayed(again), replayed(first));
      assert.equal(again.headers['idempotent-replayed'], 'true');
      assert.notEqual(again.headers['x-request-id'], first.headers['x-request-id']);
    });
  }

  it('replays the first answer byte for byte, also to a body that is equal only as a value', async () => {
    const key = randomUUID();
    const first = await api.post({ key, body: '{"userId":"u1","amount":1000,"currency":"JPY"}' });

    const again = await api.post({
      key: `"${key}"`,
      body: ' {"currency":"\\u004aPY",\n"amount":1000,"userId":"u1"} ',
      headers: { prefer: 'respond-async' },
    });

    assert.equal(first.status, 201);
    assert.deepEqual(replayed(again), replayed(first));
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(again.headers['preference-applied'], undefined);
  });

  it('refuses another body under a finished key and leaves its answer alone', async () => {
    const key = randomUUID();
    const first = await api.post({ key });
    const before = await api.rows();

    const other = await api.post({ key, body: { ...A_BODY, amount: 2000 } });

    assertProblem(other, 409, 'idempotency-key-reused');
    assert.deepEqual(await api.rows(), before);
    assert.deepEqual(replayed(await api.post({ key })), replayed(first));
  });

  it('takes a default that is written out for another body: requests are compared as sent', async () => {
    const key = randomUUID();
    await api.post({ key });

    assertProblem(
      await api.post({ key, body: { ...A_BODY, currency: 'JPY' } }),
      409,
      'idempotency-key-reused',
    );
  });

  it('gives one key of two tenants two orders, and neither sees the other', async () => {
    const key = randomUUID();

    const [mine, theirs] = [await api.post({ key }), await api.post({ key, token: 'token-b' })];

    assert.deepEqual([mine.status, theirs.status], [201, 201]);
    assert.notEqual(mine.json['orderId'], theirs.json['orderId']);
    assert.notEqual(mine.json['sagaId'], theirs.json['sagaId']);
    const unseen = await api.get(theirs.headers['location']!);
    assertProblem(unseen, 404, 'not-found');
  });

  it('makes one order of a hundred parallel posts, and every final answer is the same', async () => {
    const key = randomUUID();
    const before = await api.rows();

    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        api.post({ key, headers: index % 2 === 0 ? { prefer: 'wait=30' } : {} }),
      ),
    );

    const finals = answers.filter(({ status }) => status === 201);
    const others = answers.filter(({ status }) => status !== 201);
    assert.ok(finals.length >= 50);
    assert.equal(new Set(finals.map((answer) => JSON.stringify(replayed(answer)))).size, 1);
    const first = finals.filter(({ headers }) => headers['idempotent-replayed'] === undefined);
    assert.ok(first.length <= 1, 'only the request that started the workflow is unmarked');
    for (const other of others) assertProblem(other, 409, 'request-in-progress');
    const after = await api.rows();
    assert.deepEqual([after.claims - before.claims, after.orders - before.orders], [1, 1]);
  });

  it('says that it waited as asked', async () => {
    const answer = await api.post({ headers: { prefer: 'wait=100' } });

    assert.equal(answer.status, 201);
    assert.equal(answer.headers['preference-applied'], 'wait=60');
  });
});

describe('POST /orders without a worker', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi({ config: { waitSeconds: 1 } });
  });
  after(() => api.stop());

  function assertProcessing(answer: ApiAnswer): void {
    const { orderId, sagaId } = answer.json;
    assert.equal(answer.status, 202, answer.body);
    assert.deepEqual(answer.json, { orderId, sagaId, status: 'processing' });
    assert.equal(answer.headers['location'], `/orders/${String(orderId)}`);
    assert.match(answer.headers['location'], LOCATION);
    assert.match(answer.headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['idempotent-replayed'], undefined);
  }

  it('answers 202 after the usual wait', async () => {
    const begin = Date.now();
    const answer = await api.post();

    assertProcessing(answer);
    assert.equal(answer.headers['preference-applied'], undefined);
    assert.ok(Date.now() - begin >= 1_000);
  });

  for (const [prefer, applied] of [
    ['respond-async', 'respond-async'],
    ['wait=0', 'wait=0'],
    ['respond-async, wait=0', 'respond-async, wait=0'],
    ['wait=1', 'wait=1'],
  ] as const) {
    it(`answers 202 to Prefer: ${prefer}`, async () => {
      const answer = await api.post({ headers: { prefer } });

      assertProcessing(answer);
      assert.equal(answer.headers['preference-applied'], applied);
    });
  }

  it('answers a duplicate of a running order 409, or 202 to one that would wait', async () => {
    const key = randomUUID();
    const first = await api.post({ key, headers: { prefer: 'respond-async' } });
    const before = await api.rows();

    const plain = await api.post({ key });
    const malformed = await api.post({ key, headers: { prefer: 'wait=soon, handling=strict' } });
    const patient = await api.post({ key, headers: { prefer: 'wait=1' } });
    const other = await api.post({ key, body: { ...A_BODY, amount: 2 } });

    for (const answer of [plain, malformed]) {
      assertProblem(answer, 409, 'request-in-progress');
      assert.equal(answer.headers['location'], first.headers['location']);
      assert.match(answer.headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
    }
    assertProcessing(patient);
    assert.equal(patient.body, first.body);
    assertProblem(other, 409, 'idempotency-key-reused');
    assert.deepEqual(await api.rows(), before);
  });

  it('keeps the key, the user and the token out of the workflow, and shows the order there', async () => {
    const key = `secret-key-${randomUUID()}`;
    const body = { ...A_BODY, userId: 'secret-user', items: [{ sku: 'a`b', quantity: 2 }] };
    const answer = await api.post({ key, body, headers: { prefer: 'respond-async' } });

    const handle = api.client.workflow.getHandle(String(answer.json['sagaId']));
    const description = await handle.describe();
    const history = JSON.stringify(await handle.fetchHistory());

    assert.equal(description.type, 'placeOrder');
    assert.equal(
      description.typedSearchAttributes.get({ name: 'OrderId', type: 'KEYWORD' }),
      answer.json['orderId'],
    );
    assert.equal(
      description.typedSearchAttributes.get({ name: 'OrderStatus', type: 'KEYWORD' }),
      'processing',
    );
    assert.equal(
      await description.staticSummary(),
      `${String(answer.json['orderId'])}: 1000 JPY (minor units)`,
    );
    assert.match((await description.staticDetails()) ?? '', /- 2 × `a b`/);
    const started = description.raw.executionConfig;
    assert.equal(Number(started?.workflowExecutionTimeout?.seconds ?? 0), 0);
    assert.equal(Number(started?.workflowRunTimeout?.seconds ?? 0), 0);
    assert.equal(Number(started?.defaultWorkflowTaskTimeout?.seconds), 5);
    const written = [history, JSON.stringify(description.memo), ...api.logLines].map((text) =>
      text.includes('"data"') ? text + decodedData(text) : text,
    );
    for (const text of written) assert.doesNotMatch(text, /secret-key|secret-user|token-a/);
  });

  it('answers requests that wait at once when it is to stop', async () => {
    const begin = Date.now();
    const waiting = api.post({ headers: { prefer: 'wait=60' } });
    const before = await api.workflows();
    await until(async () => (await api.workflows()) > before);

    api.draining.abort();

    assertProcessing(await waiting);
    assertProcessing(await api.post({ headers: { prefer: 'wait=60' } }));
    assert.ok(Date.now() - begin < 10_000);
  });
});

/** Payloads in a history are base64: what they say, as text. */
function decodedData(text: string): string {
  return [...text.matchAll(/"data":"([^"]*)"/g)]
    .map(([, data = '']) => Buffer.from(data, 'base64').toString('utf8'))
    .join('\n');
}

describe('POST /orders refuses', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi();
  });
  after(async () => {
    const left = { ...(await api.rows()), workflows: await api.workflows() };
    await api.stop();
    assert.deepEqual(left, { claims: 0, orders: 0, workflows: 0 }, 'a refusal leaves nothing');
  });

  const item = { sku: 's', quantity: 1 };
  for (const [what, body] of [
    ['no user', { amount: 1 }],
    ['an empty user', { userId: '', amount: 1 }],
    ['a long user', { userId: 'x'.repeat(65), amount: 1 }],
    ['no amount', { userId: 'u' }],
    ['an amount as text', { userId: 'u', amount: '1000' }],
    ['an amount as a boolean', { userId: 'u', amount: true }],
    ['no amount but null', { userId: 'u', amount: null }],
    ['nothing to pay', { userId: 'u', amount: 0 }],
    ['a negative amount', { userId: 'u', amount: -1 }],
    ['a large amount', { userId: 'u', amount: 10_000_001 }],
    ['a fraction', '{"userId":"u","amount":1.5}'],
    ['a fraction that is none', '{"userId":"u","amount":1000.0}'],
    ['an exponent', '{"userId":"u","amount":1e3}'],
    ['an unknown member', { ...A_BODY, discount: 500 }],
    ['an unknown member of an item', { ...A_BODY, items: [{ ...item, price: 1 }] }],
    ['a currency of lower case', { ...A_BODY, currency: 'jpy' }],
    ['a currency that is none', { ...A_BODY, currency: 'QQQ' }],
    ['no items', { ...A_BODY, items: [] }],
    ['a SKU twice', { ...A_BODY, items: [item, { sku: 's', quantity: 2 }] }],
    [
      '101 items',
      { ...A_BODY, items: Array.from({ length: 101 }, (_, i) => ({ sku: `s${i}`, quantity: 1 })) },
    ],
    ['a quantity of 0', { ...A_BODY, items: [{ sku: 's', quantity: 0 }] }],
    ['a quantity of 1001', { ...A_BODY, items: [{ sku: 's', quantity: 1001 }] }],
    ['a long SKU', { ...A_BODY, items: [{ sku: 's'.repeat(65), quantity: 1 }] }],
    ['an empty payment method', { ...A_BODY, paymentMethod: '' }],
    ['a long payment method', { ...A_BODY, paymentMethod: 'p'.repeat(65) }],
    ['U+0000', '{"userId":"\\u0000","amount":1}'],
    ['a lone surrogate', '{"userId":"\\ud800","amount":1}'],
    ['a list', []],
  ] as const) {
    it(`${what}: 400`, async () => {
      assertProblem(await api.post({ body }), 400, 'validation-failed');
    });
  }

  it('an unknown query parameter: 400', async () => {
    assertProblem(await api.post({ url: '/orders?dryRun=1' }), 400, 'validation-failed');
  });

  for (const [what, body] of [
    ['a duplicate member', '{"userId":"u","amount":1,"amount":1000}'],
    ['a byte order mark', '\ufeff{"userId":"u","amount":1}'],
    ['an empty body', ''],
    ['half a body', '{"userId":'],
    ['__proto__', '{"userId":"u","amount":1,"__proto__":{}}'],
  ] as const) {
    it(`${what}: 400`, async () => {
      assertProblem(await api.post({ body }), 400, 'malformed-json');
    });
  }

  for (const [what, headers] of [
    ['text', { 'content-type': 'text/plain' }],
    ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
    ['a compressed body', { 'content-encoding': 'gzip' }],
  ] as const) {
    it(`${what}: 415`, async () => {
      assertProblem(await api.post({ headers }), 415, 'unsupported-media-type');
    });
  }

  it('a body over 64 KiB: 413', async () => {
    const body = { ...A_BODY, userId: 'x'.repeat(65_536) };

    assertProblem(await api.post({ body }), 413, 'body-too-large');
  });

  for (const [what, post] of [
    ['in the key', { key: '4111-1111-1111-1111' }],
    ['in the user', { body: { ...A_BODY, userId: 'card 4111 1111 1111 1111' } }],
    ['in the payment method', { body: { ...A_BODY, paymentMethod: '378282246310005' } }],
  ] as const) {
    it(`a card number ${what}: 400, without repeating it`, async () => {
      const answer = await api.post(post);

      assertProblem(answer, 400, 'card-data-refused');
      assert.doesNotMatch(answer.body + api.logLines.join(''), /4111.1111|378282/);
    });
  }

  for (const [what, key] of [
    ['empty', ''],
    ['of blanks', '   '],
    ['too long', 'k'.repeat(256)],
    ['with a blank inside', 'a b'],
    ['with a lone quote', '"k'],
    ['with an inner quote', 'a"b'],
    ['of nothing in quotes', '""'],
  ] as const) {
    it(`a key that is ${what}: 400`, async () => {
      assertProblem(await api.post({ key }), 400, 'idempotency-key-invalid');
    });
  }

  it('no key, before it looks at the body: 400', async () => {
    const answer = await api.app.inject({
      method: 'POST',
      url: '/orders',
      headers: { authorization: 'Bearer token-a', 'content-type': 'text/plain' },
      payload: 'no JSON',
    });

    assert.equal(answer.statusCode, 400);
    assert.equal(answer.json<{ type: string }>().type, '/problems/idempotency-key-missing');
  });

  for (const [what, authorization] of [
    ['no token', undefined],
    ['a token nobody has', 'Bearer token-c'],
    ['another scheme', 'Basic token-a'],
    ['a token with more behind it', 'Bearer token-a token-a'],
    ['an empty token', 'Bearer '],
  ] as const) {
    it(`${what}, before it looks at anything else: 401`, async () => {
      const answer = await api.app.inject({
        method: 'POST',
        url: '/orders',
        headers: {
          'content-type': 'text/plain',
          ...(authorization === undefined ? {} : { authorization }),
        },
        payload: 'no JSON',
      });

      assert.equal(answer.statusCode, 401);
      assert.equal(answer.json<{ type: string }>().type, '/problems/unauthorized');
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
      assert.equal(answer.headers['cache-control'], 'no-store');
    });
  }

  it("an operator's token: 403", async () => {
    assertProblem(await api.post({ token: 'token-ops' }), 403, 'forbidden');
  });

  it('another method: 405', async () => {
    const answer = await api.app.inject({ method: 'PUT', url: '/orders' });

    assert.equal(answer.statusCode, 405);
    assert.equal(answer.headers['allow'], 'GET, HEAD, POST');
    assert.equal(answer.headers['cache-control'], 'no-store');
  });

  it('another address: 404', async () => {
    for (const url of ['/order', '//orders', '/Orders', '/orders/x/y']) {
      assert.equal((await api.post({ url })).json['type'], '/problems/not-found', url);
    }
  });
});

describe('POST /orders takes', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi({ config: { waitSeconds: 0 } });
  });
  after(() => api.stop());

  it('the largest order', async () => {
    const items = Array.from({ length: 100 }, (_, index) => ({
      sku: `😀`.repeat(61) + String(index).padStart(3, '0'),
      quantity: 1000,
    }));
    const body = {
      userId: 'ü'.repeat(64),
      amount: 10_000_000,
      currency: 'EUR',
      paymentMethod: 'p'.repeat(64),
      items,
    };

    assert.equal((await api.post({ body })).status, 202);
  });

  it('a number in a SKU that looks like a card', async () => {
    const body = { ...A_BODY, items: [{ sku: '4111111111111111', quantity: 1 }] };

    assert.equal((await api.post({ body })).status, 202);
  });

  it('a key of 255 characters, with quotes or without, as one', async () => {
    const key = 'k'.repeat(255);

    const answers = [await api.post({ key }), await api.post({ key: `"${key}"` })];

    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 409],
    );
    assert.equal(answers[1]?.json['type'], '/problems/request-in-progress');
  });
});
