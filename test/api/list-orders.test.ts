import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mintOrderId } from '../../src/api/order-id.js';
import { startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';

/** No Temporal and no worker: a list needs neither. */
const NOBODY_THERE = '127.0.0.1:1';

interface Stored {
  readonly userId?: string;
  readonly status?: string;
  readonly createdAt?: string;
}

describe('GET /orders', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi({ temporalAddress: NOBODY_THERE });
  });
  after(() => api.stop());

  it('lists what GET /orders/{orderId} shows of each, newest first', async () => {
    const older = await stored('token-a');
    const newer = await stored('token-a', { status: 'cancelled' });

    const { status, headers, json } = await api.get('/orders');

    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual(json, {
      orders: [await shown(newer), await shown(older)],
      nextCursor: null,
    });
  });

  it('pages through every order once, also those of one microsecond, while others are added', async () => {
    const userId = randomUUID();
    const moments = ['2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000002Z'];
    const ids: string[] = [];
    for (let n = 0; n < 25; n++) {
      ids.push(await stored('token-a', { userId, createdAt: moments[n % 2]! }));
    }

    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { json } = await list({ userId, limit: '4', ...(cursor && { cursor }) });
      const orders = idsOf(json);
      assert.ok(orders.length > 0 && orders.length <= 4);
      seen.push(...orders);
      cursor = (json['nextCursor'] as string | null) ?? undefined;
      await stored('token-a', { userId });
    } while (cursor !== undefined);

    assert.deepEqual([...seen].sort(), [...ids].sort());
    const newest = ids.filter((_id, n) => n % 2 === 1);
    assert.deepEqual([...seen.slice(0, 12)].sort(), [...newest].sort());
  });

  it('has twenty a page, a hundred at most, and a cursor only where there is more', async () => {
    const userId = randomUUID();
    for (let n = 0; n < 20; n++) await stored('token-a', { userId });
    const exact = (await list({ userId })).json;
    await stored('token-a', { userId });
    const more = (await list({ userId })).json;
    const all = (await list({ userId, limit: '100' })).json;

    assert.deepEqual([idsOf(exact).length, exact['nextCursor']], [20, null]);
    assert.deepEqual([idsOf(more).length, typeof more['nextCursor']], [20, 'string']);
    assert.deepEqual([idsOf(all).length, all['nextCursor']], [21, null]);
  });

  it('filters by status and by user, by both and by neither', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    const stuck = await stored('token-a', { userId: one, status: 'needs_attention' });
    const confirmed = await stored('token-a', { userId: one, status: 'confirmed' });
    await stored('token-a', { userId: two, status: 'needs_attention' });

    assert.deepEqual(await ids({ userId: one, status: 'needs_attention' }), [stuck]);
    assert.deepEqual(await ids({ userId: one }), [confirmed, stuck]);
    assert.deepEqual(await ids({ userId: one, status: 'compensating' }), []);
    assert.ok((await ids({ status: 'needs_attention' })).includes(stuck));
    assert.ok(!(await ids({ status: 'needs_attention' })).includes(confirmed));
    assert.deepEqual(await ids({ userId: "' or true --" }), []);
  });

  it("never shows another tenant's order, whatever is asked for", async () => {
    const userId = randomUUID();
    const theirs = await stored('token-b', { userId, status: 'needs_attention' });
    await stored('token-b', { userId });
    const { json } = await list({ userId, limit: '1' }, 'token-b');
    const cursor = String(json['nextCursor']);

    for (const query of [{}, { userId }, { status: 'needs_attention' }, { userId, cursor }]) {
      assert.ok(!(await ids(query)).includes(theirs));
    }
    assert.deepEqual(await ids({ userId, cursor }, 'token-b'), [theirs]);
  });

  it('shows operators what needs a person, of all tenants, and nothing else', async () => {
    const userId = randomUUID();
    const stuck = [
      await stored('token-a', { userId, status: 'needs_attention' }),
      await stored('token-b', { userId, status: 'needs_attention' }),
    ];
    await stored('token-b', { userId });

    const found = await ids({ userId, status: 'needs_attention' }, 'token-ops');

    assert.deepEqual(found, stuck.reverse());
    for (const query of [{}, { status: 'confirmed' }, { userId }]) {
      assert.equal((await list(query, 'token-ops')).status, 403);
    }
  });

  it('refuses what it does not know: parameters, values, repeats, cursors of its own making', async () => {
    const cursor = `1767225600000001.${mintOrderId()}`;
    const queries = [
      'x=1',
      'status=done',
      'status=',
      'status=confirmed&status=confirmed',
      'userId=',
      'userId=a%00b',
      `userId=${'u'.repeat(65)}`,
      'userId=a&userId=a',
      'cursor=',
      'cursor=abc',
      `cursor=${cursor}%20`,
      `cursor=${cursor}%0A`,
      `cursor=${cursor.slice(0, -1)}`,
      `cursor=${cursor}&cursor=${cursor}`,
      `cursor=9999999999999999999.${mintOrderId()}`,
      `cursor=-1.${mintOrderId()}`,
      'limit=0',
      'limit=101',
      'limit=-1',
      'limit=1.5',
      'limit=1e1',
      'limit=ten',
      'limit=',
      'limit=+5',
      'limit=1&limit=1',
    ];
    for (const query of queries) {
      const { status, json } = await api.get(`/orders?${query}`);
      assert.deepEqual([status, json['type']], [400, '/problems/validation-failed'], query);
    }
    assert.equal((await api.get(`/orders?cursor=${cursor}`)).status, 200);
    assert.equal((await api.get('/orders', 'no-token')).status, 401);
  });

  async function stored(token: string, order: Stored = {}): Promise<string> {
    const orderId = mintOrderId();
    const { userId = 'u1', status = 'processing', createdAt } = order;
    const decision = { processing: null, confirmed: 'keep' }[status];
    await api.database.pool.query(
      `insert into orders (order_id, tenant, workflow_id, user_id, amount_minor, currency, items,
         payment_method, status, decision, reason, created_at)
       values ($1, $2, $3, $4, 1000, 'JPY', '[{"sku":"DEFAULT","quantity":1}]', 'pm_ok', $5, $6, $7,
         coalesce($8, clock_timestamp()))`,
      [
        orderId,
        token.replace('token', 'tenant'),
        `order-${orderId.slice(4)}`,
        userId,
        status,
        decision === undefined ? 'undo' : decision,
        decision === undefined ? 'out-of-stock' : null,
        createdAt,
      ],
    );
    return orderId;
  }

  const list = (query: Readonly<Record<string, string>>, token = 'token-a'): Promise<ApiAnswer> =>
    api.get(`/orders?${new URLSearchParams(query).toString()}`, token);

  const idsOf = (json: ApiAnswer['json']): readonly string[] =>
    (json['orders'] as { orderId: string }[]).map(({ orderId }) => orderId);

  const ids = async (query: Readonly<Record<string, string>>, token?: string) =>
    idsOf((await list(query, token)).json);

  const shown = async (orderId: string) => (await api.get(`/orders/${orderId}`)).json;
});
