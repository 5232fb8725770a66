import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { digestOfToken, mintToken } from '../../src/clients/token.js';
import { createClientStore } from '../../src/store/clients.js';
import { A_BODY, startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';

const PER_MINUTE = 5;
const NOWHERE = '/orders/ORD-0123456789abcdef0123456789abcdef';

// One API a test: what was counted in one would be missing in the next.
describe('rate limits', () => {
  let api: ApiStack;

  beforeEach(async () => {
    api = await startApi({
      config: { rateLimitPerMinute: PER_MINUTE, trustProxy: ['127.0.0.1'], waitSeconds: 0 },
    });
  });
  afterEach(() => api.stop());

  /** A request with a token, from an address where the proxy names one. */
  const get = async (url: string, token: string, address?: string) => {
    const answer = await api.app.inject({
      url,
      headers: {
        authorization: `Bearer ${token}`,
        ...(address === undefined ? {} : { 'x-forwarded-for': address }),
      },
    });
    return answer.statusCode;
  };
  const repeat = async <T>(times: number, act: () => Promise<T>): Promise<T[]> => {
    const results: T[] = [];
    for (let done = 0; done < times; done += 1) results.push(await act());
    return results;
  };

  it('answer 429 with Retry-After after so many requests, and keep nothing of them', async () => {
    const key = randomUUID();
    const taken = await api.post({ key });
    await repeat(PER_MINUTE - 1, () => get(NOWHERE, 'token-a'));
    const before = await api.rows();

    const refused = [
      await api.post({ key }),
      await api.post(),
      await api.post({ body: '{"not JSON' }),
      await api.post({ url: `${NOWHERE}/cancel`, body: '{}' }),
    ];

    assert.equal(taken.status, 202);
    for (const answer of refused) assertLimited(answer);
    assert.deepEqual(await api.rows(), before);
    assert.equal(await api.workflows(), 1);
  });

  it('are told apart by tenant, by operator and by address', async () => {
    await repeat(PER_MINUTE, () => get(NOWHERE, 'token-a', '192.0.2.1'));

    assert.deepEqual(
      [
        await get(NOWHERE, 'token-a', '192.0.2.1'),
        await get(NOWHERE, 'token-b', '192.0.2.1'),
        await get(NOWHERE, 'token-ops', '192.0.2.1'),
        await get(NOWHERE, 'token-a', '192.0.2.2'),
      ],
      [429, 404, 404, 404],
    );
  });

  it('take the addresses of one IPv6 subnet for one: a host has as many as it likes', async () => {
    await repeat(PER_MINUTE, () => get(NOWHERE, 'token-a', '2001:db8::1'));

    assert.equal(await get(NOWHERE, 'token-a', '2001:db8::ffff:2'), 429);
    assert.equal(await get(NOWHERE, 'token-a', '2001:db8:1::1'), 404);
  });

  it('hold for guesses of a token too, by address, and leave those alone who have one', async () => {
    const guess = (): Promise<number> => get(NOWHERE, mintToken(), '192.0.2.1');
    const token = mintToken();
    const tenant = { kind: 'tenant', name: 'stored' } as const;
    await createClientStore(api.database.pool).add(tenant, digestOfToken(token));
    assert.equal(await get(NOWHERE, token, '192.0.2.1'), 404);

    const guesses = await repeat(PER_MINUTE + 2, guess);

    assert.deepEqual(new Set(guesses.slice(0, PER_MINUTE)), new Set([401]));
    assert.deepEqual(guesses.slice(PER_MINUTE), [429, 429]);
    assert.equal(await get(NOWHERE, 'token-a', '192.0.2.1'), 404);
    assert.equal(await get(NOWHERE, token, '192.0.2.1'), 404);
    assert.equal(await get(NOWHERE, mintToken(), '192.0.2.2'), 401);
  });

  it('hold for addresses that need no token, and for those that are not there', async () => {
    const before = await repeat(PER_MINUTE, () => get('/problems/forbidden', ''));

    assert.deepEqual(new Set(before), new Set([200]));
    for (const url of ['/problems/forbidden', '/', '/no-such-page']) {
      assert.equal(await get(url, ''), 429, url);
    }
  });

  it('do not hold for probes', async () => {
    const answers = await repeat(PER_MINUTE + 1, () => get('/healthz', ''));

    assert.deepEqual(new Set(answers), new Set([200]));
    assert.notEqual(await get('/readyz', ''), 429);
  });
});

describe('an address behind no proxy that is trusted', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi({ config: { rateLimitPerMinute: 1 } });
  });
  after(() => api.stop());

  it('is not what X-Forwarded-For says', async () => {
    const post = (address: string) =>
      api.post({ body: { ...A_BODY, amount: 0 }, headers: { 'x-forwarded-for': address } });

    assert.equal((await post('192.0.2.1')).status, 400);
    assertLimited(await post('192.0.2.2'));
  });
});

function assertLimited(answer: ApiAnswer): void {
  assert.equal(answer.status, 429);
  assert.equal(answer.json['type'], '/problems/rate-limited');
  assert.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8');
  assert.match(answer.headers['retry-after'] ?? '', /^([1-9]|[1-5][0-9]|60)$/);
  assert.equal(answer.headers['idempotent-replayed'], undefined);
}
