import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { digestOfToken, mintToken } from '../../src/clients/token.js';
import { createClientStore } from '../../src/store/clients.js';
import type { Client, ClientStore } from '../../src/store/clients.js';
import { until } from '../support/until.js';
import { startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';

const UNDO = { step: 'payment', who: 'ada', why: 'repaired' };
const NOWHERE = '/orders/ORD-0123456789abcdef0123456789abcdef';

describe('clients whose tokens are in Postgres', () => {
  let api: ApiStack;
  let clients: ClientStore;

  before(async () => {
    // Without a key of the environment for tenants: these are all there are.
    api = await startApi({ config: { apiKeys: [] } });
    clients = createClientStore(api.database.pool);
    await api.startWorker();
  });
  after(() => api.stop());

  const added = async (client: Client): Promise<string> => {
    const token = mintToken();
    assert.ok(await clients.add(client, digestOfToken(token)));
    return token;
  };
  const aTenant = (): Client => ({ kind: 'tenant', name: `t-${randomUUID()}` });
  const undo = (token: string): Promise<ApiAnswer> =>
    api.post({ url: `${NOWHERE}/undo/retry`, body: UNDO, token });

  it('place orders the moment they are added, and see their own only', async () => {
    const [ours, theirs] = [await added(aTenant()), await added(aTenant())];
    const key = randomUUID();

    const [our, their] = await Promise.all([
      api.post({ key, token: ours }),
      api.post({ key, token: theirs }),
    ]);

    assert.deepEqual([our.status, their.status], [201, 201]);
    assert.notEqual(our.json['orderId'], their.json['orderId']);
    assert.equal((await api.get(our.headers['location']!, ours)).status, 200);
    assert.equal((await api.get(our.headers['location']!, theirs)).status, 404);
  });

  it('get the answer of their first request under a rotated token', async () => {
    const client = aTenant();
    const old = await added(client);
    const key = randomUUID();
    const first = await api.post({ key, token: old });
    const fresh = mintToken();

    await clients.rotate(client, digestOfToken(fresh), 3_600);

    for (const token of [old, fresh]) {
      const again = await api.post({ key, token });
      assert.deepEqual([again.status, again.body], [201, first.body]);
      assert.equal(again.headers['idempotent-replayed'], 'true');
    }
  });

  it('are refused within seconds of their token’s end', async () => {
    const client = aTenant();
    const token = await added(client);
    assert.equal((await api.get(NOWHERE, token)).status, 404);

    await clients.revoke(client, undefined);

    await until(async () => (await api.get(NOWHERE, token)).status === 401);
  });

  it('may do what their kind may', async () => {
    const tenant = await added(aTenant());
    const operator = await added({ kind: 'operator', name: `o-${randomUUID()}` });

    const answers = {
      operatorUndoes: await undo(operator),
      tenantUndoes: await undo(tenant),
      operatorReads: await api.get(NOWHERE, operator),
      operatorPosts: await api.post({ token: operator }),
      operatorCancels: await api.post({ url: `${NOWHERE}/cancel`, body: '{}', token: operator }),
      environmentUndoes: await undo('token-ops'),
    };

    assert.deepEqual(
      Object.entries(answers).map(([what, { status }]) => [what, status]),
      [
        ['operatorUndoes', 404],
        ['tenantUndoes', 403],
        ['operatorReads', 404],
        ['operatorPosts', 403],
        ['operatorCancels', 403],
        ['environmentUndoes', 404],
      ],
    );
    assert.equal(answers.tenantUndoes.json['type'], '/problems/forbidden');
  });

  for (const [what, authorization] of [
    ['no header', undefined],
    ['an empty header', ''],
    ['another scheme', 'Basic dG9rZW4tYTo='],
    ['no token', 'Bearer '],
    ['two tokens', 'Bearer a b'],
    ['a token of nobody', `Bearer ${mintToken()}`],
    ['what is kept of a token', `Bearer ${digestOfToken('token')}`],
    ['a token outside visible ASCII', 'Bearer tök'],
  ] as const) {
    it(`are told from those with ${what}: 401, whatever the body holds`, async () => {
      const before = await api.rows();
      for (const url of ['/orders', `${NOWHERE}/cancel`, `${NOWHERE}/undo/resolve`]) {
        const answer = await api.app.inject({
          method: 'POST',
          url,
          headers: {
            'content-type': 'application/json',
            'idempotency-key': 'k',
            ...(authorization === undefined ? {} : { authorization }),
          },
          payload: '{"not JSON',
        });
        assert.equal(answer.statusCode, 401, url);
        assert.equal(answer.headers['www-authenticate'], 'Bearer');
        assert.equal(answer.json<{ type: string }>().type, '/problems/unauthorized');
      }
      assert.deepEqual(await api.rows(), before);
    });
  }
});

describe('clients of both kinds of list', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi();
    await api.startWorker();
  });
  after(() => api.stop());

  it('work side by side, and are one tenant where the name is one', async () => {
    const token = mintToken();
    const clients = createClientStore(api.database.pool);
    await clients.add({ kind: 'tenant', name: 'tenant-a' }, digestOfToken(token));
    const key = randomUUID();

    const first = await api.post({ key, token: 'token-a' });
    const again = await api.post({ key, token });

    assert.deepEqual([first.status, again.status, again.body], [201, 201, first.body]);
  });
});
