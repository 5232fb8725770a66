import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { startApi } from './stack.js';
import type { ApiStack } from './stack.js';

describe('what is told of a request', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi();
    await api.startWorker();
  });
  after(() => api.stop());
  beforeEach(() => (api.logLines.length = 0));

  const lines = (): readonly Record<string, unknown>[] =>
    api.logLines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'request');

  it('in the log: its id, its tenant, the digest of its key and what came of it', async () => {
    const key = randomUUID();

    const { headers } = await api.post({ key, body: { userId: 'u1', amount: 1 } });

    const [line, ...others] = lines();
    assert.deepEqual(others, []);
    const { reqId, tenant, method, route, status, keyDigest, durationMs } = line!;
    assert.deepEqual(
      [reqId, tenant, method, route, status],
      [headers['x-request-id'], 'tenant-a', 'POST', '/orders', 201],
    );
    assert.equal(keyDigest, createHash('sha256').update(key).digest('hex'));
    assert.equal(typeof durationMs, 'number');
  });

  it('in the log also where it is refused, as far as it is known whose it is', async () => {
    await api.post({ token: 'token-ops' });
    await api.post({ token: 'nobody' });
    await api.get('/orders/ORD-0123456789abcdef0123456789abcdef');
    await api.get('/no/such?page=1');

    assert.deepEqual(
      lines().map(({ status, tenant, operator, route, orderId }) => [
        status,
        tenant,
        operator,
        route,
        orderId,
      ]),
      [
        [403, undefined, 'ops', '/orders', undefined],
        [401, undefined, undefined, '/orders', undefined],
        [404, 'tenant-a', undefined, '/orders/:orderId', 'ORD-0123456789abcdef0123456789abcdef'],
        [404, undefined, undefined, undefined, undefined],
      ],
    );
  });

  it('nowhere: its key, its token, its body, its query', async () => {
    const secrets = Array.from({ length: 5 }, () => `secret-${randomUUID()}`);
    const [key = '', token = '', user = '', query = '', path = ''] = secrets;

    const answers = [
      await api.post({ key, body: { userId: user, amount: 1 } }),
      await api.post({ key, body: { userId: user, amount: 2 } }),
      await api.post({ key, token, body: { userId: user, amount: 1 } }),
      await api.post({ key, body: `{"userId":"${user}",` }),
      await api.post({ key, body: { userId: user, amount: user } }),
      await api.post({ key, body: { userId: user, amount: 1, [user]: user } }),
      await api.post({ key, url: `/orders?a=${query}` }),
      await api.get(`/orders/${path}`, token),
      await api.get(`/${path}?b=${query}`, token),
    ];

    const told = api.logLines.join('') + answers.map(({ body }) => body).join('');
    for (const secret of secrets) assert.ok(!told.includes(secret), secret);
  });

  it('by an error of ours: nothing of statement, row or stack; in the log its kind, without the row', async () => {
    const { pool } = api.database;
    const user = `canary-${randomUUID()}`;
    await pool.query(`alter table orders add constraint no_canary check (user_id <> '${user}')`);
    const key = randomUUID();

    const answer = await api.post({ key, body: { userId: user, amount: 1 } });

    await pool.query('alter table orders drop constraint no_canary');
    assert.equal(answer.status, 500);
    assert.equal(answer.json['type'], '/problems/internal-error');
    assert.deepEqual(Object.keys(answer.json), ['type', 'title', 'status', 'detail', 'requestId']);
    assert.doesNotMatch(answer.body, /orders|constraint|insert|select|\bat /i);
    const log = api.logLines.join('');
    assert.match(log, /violates check constraint/);
    assert.ok(!log.includes(user) && !log.includes(key));
    assert.equal((await api.post({ key, body: { userId: user, amount: 1 } })).status, 201);
  });

  it('to browsers: run nothing but the scripts of this address', async () => {
    for (const url of ['/problems/forbidden', '/no-such-page', '/orders']) {
      const { headers } = await api.get(url);

      const policy = headers['content-security-policy'] ?? '';
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /script-src 'self'(;|$)/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|upgrade-insecure|https?:/);
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['strict-transport-security'], undefined);
    }
  });
});
