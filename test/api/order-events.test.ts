import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import type pg from 'pg';
import { createPool } from '../../src/postgres/pool.js';
import { openEvents } from '../support/event-stream.js';
import type { ReceivedStream } from '../support/event-stream.js';
import { until } from '../support/until.js';
import { A_BODY, startApi } from './stack.js';
import type { ApiStack } from './stack.js';

const HELD = { body: { ...A_BODY, paymentMethod: 'pm_hold' } };

describe('GET /orders/{orderId}/events', () => {
  let api: ApiStack;
  let base: string;
  let statements = 0;
  const open: ReceivedStream[] = [];

  before(async () => {
    // Patient, so that a step stays under way for as long as a test looks at it.
    const config = { waitSeconds: 0, stepDeadlineMs: 60_000 };
    api = await startApi({ config, pool: ({ url }) => Promise.resolve(countingPool(url)) });
    await api.startWorker();
    base = await listen(api);
  });
  afterEach(() => {
    for (const stream of open.splice(0)) stream.close();
  });
  after(() => api.stop());

  it('shows an order as GET does, again with each change, and ends with its final state', async () => {
    const location = await place();
    const stream = await watch(location);
    await until(() => stateOf(stream) === 'running');

    assert.equal((await post(`${location}/cancel`)).statusCode, 202);
    await stream.ended;

    assert.equal(stream.status, 200);
    assert.match(String(stream.headers['content-type']), /^text\/event-stream/);
    assert.equal(stream.headers['cache-control'], 'no-store');
    const states = stream.events.map(({ data }) => data['status']);
    assert.equal(states[0], 'processing');
    assert.equal(states.at(-1), 'cancelled');
    assert.deepEqual(stream.events.at(-1)?.data, (await api.get(location)).json);
    const ids = stream.events.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, 'no state twice in a row');
  });

  it('shows a finished order once', async () => {
    const location = await place({});
    await finished(location);

    const stream = await watch(location);
    await stream.ended;

    assert.deepEqual(
      stream.events.map(({ data }) => data),
      [(await api.get(location)).json],
    );
  });

  it('goes on after the event that a reader had last', async () => {
    const location = await place();
    const first = await watch(location);
    await until(() => stateOf(first) === 'running');
    const last = first.events.at(-1)?.id ?? '';
    first.close();

    const second = await watch(location, { 'last-event-id': last });
    await post(`${location}/cancel`);
    await second.ended;

    assert.notEqual(second.events[0]?.id, last);
    assert.equal(second.events.at(-1)?.data['status'], 'cancelled');
    const end = second.events.at(-1)?.id ?? '';
    // What tells an EventSource not to come back.
    assert.equal((await watch(location, { 'last-event-id': end })).status, 204);
    const unknown = await watch(location, { 'last-event-id': 'never-given' });
    await unknown.ended;
    assert.deepEqual(
      unknown.events.map(({ id }) => id),
      [end],
    );
  });

  it('asks the database as often for five hundred readers as for one, and not at all for none', async () => {
    const location = await place();
    const one = await watch(location);
    await until(() => stateOf(one) === 'running');
    const streams = [one];
    for (let n = 0; n < 10; n++) {
      streams.push(...(await Promise.all(Array.from({ length: 50 }, () => watch(location)))));
    }
    await until(() => streams.every((stream) => stream.events.length > 0));

    const before = statements;
    await until(() => statements >= before + 3);
    assert.equal(statements, before + 3, 'one statement a round');
    await post(`${location}/cancel`);
    await Promise.all(streams.map(({ ended }) => ended));

    assert.ok(streams.every(({ events }) => events.at(-1)?.data['status'] === 'cancelled'));
    await assertQuiet();
  }).timeout(60_000);

  it('forgets readers that went away', async () => {
    const location = await place();
    const streams = await Promise.all([watch(location), watch(location)]);
    await until(() => streams.every(({ events }) => events.length > 0));

    for (const stream of streams) stream.close();

    await assertQuiet();
    await post(`${location}/cancel`);
  });

  it('ends the stream of an order whose row is gone', async () => {
    const location = await place();
    const stream = await watch(location);
    await until(() => stateOf(stream) === 'running');

    await api.database.pool.query('delete from orders where order_id = $1', [idIn(location)]);
    await stream.ended;

    assert.equal(stream.events.at(-1)?.data['status'], 'processing');
    await api.client.workflow.getHandle(String(stream.events[0]?.data['sagaId'])).terminate();
  });

  it("takes a token, no parameters, no other method, and is silent about another's order", async () => {
    const location = await place({});
    await finished(location);
    const get = (url: string, token: string) => api.get(url, token);

    assert.equal((await get(`${location}/events`, 'no-token')).status, 401);
    assert.equal((await get(`${location}/events?x=1`, 'token-a')).status, 400);
    assert.equal((await get(`${location}/events`, 'token-ops')).status, 200);
    const theirs = await get(`${location}/events`, 'token-b');
    const nobodys = await get(`/orders/ORD-${'0'.repeat(32)}/events`, 'token-a');
    const without = ({ body, json }: typeof theirs) => body.replace(String(json['requestId']), '');
    assert.deepEqual([theirs.status, nobodys.status], [404, 404]);
    assert.equal(without(theirs), without(nobodys));
    for (const method of ['HEAD', 'POST', 'DELETE'] as const) {
      const answer = await api.app.inject({ method, url: `${location}/events` });
      assert.deepEqual([answer.statusCode, answer.headers['allow']], [405, 'GET']);
    }
  });

  it('ends every stream in a drain, also that of a reader that takes nothing', async () => {
    const closing = await startApi({ config: { waitSeconds: 0 } });
    const address = await listen(closing);
    const { headers } = await closing.post({ body: A_BODY });
    const url = `${address}${headers['location'] ?? ''}/events`;
    const auth = { authorization: 'Bearer token-a' };
    const streams = await Promise.all([openEvents(url, auth), openEvents(url, auth)]);
    streams[1].response.pause();

    await closing.stop();

    await streams[0].ended;
    assert.equal(streams[0].events.at(-1)?.data['status'], 'processing');
  });

  /** Places an order whose charge waits until it is cancelled. @returns its address. */
  async function place(order: Parameters<ApiStack['post']>[0] = HELD): Promise<string> {
    const { headers } = await api.post(order);
    return headers['location'] ?? '';
  }

  const finished = (location: string) =>
    until(async () => (await api.get(location)).json['status'] === 'confirmed');

  async function watch(location: string, headers: Readonly<Record<string, string>> = {}) {
    const auth = { authorization: 'Bearer token-a' };
    const stream = await openEvents(`${base}${location}/events`, { ...auth, ...headers });
    open.push(stream);
    return stream;
  }

  const post = (url: string) =>
    api.app.inject({ method: 'POST', url, headers: { authorization: 'Bearer token-a' } });

  /** Nothing more is asked: a second passes, which is two rounds, without a statement. */
  async function assertQuiet(): Promise<void> {
    let quietSince = statements;
    let looks = 0;
    await until(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      looks = statements === quietSince ? looks + 1 : 0;
      quietSince = statements;
      return looks > 10;
    });
  }

  function countingPool(url: string): pg.Pool {
    const pool = createPool({
      connectionString: url,
      max: 20,
      applicationName: 'order-saga test',
      onIdleError: () => undefined,
    });
    const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
    return Object.assign(pool, {
      query: (...args: unknown[]) => {
        statements += 1;
        return query(...args);
      },
    });
  }
});

async function listen({ app }: ApiStack): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

const idIn = (location: string): string => location.replace('/orders/', '');

/** The state of the payment as the stream showed it last. */
function stateOf({ events }: ReceivedStream): string | undefined {
  const steps = events.at(-1)?.data['steps'] as { readonly state: string }[] | undefined;
  return steps?.[0]?.state;
}
