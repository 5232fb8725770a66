import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createPool } from '../../src/postgres/pool.js';
import { sharedTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';
import { A_BODY, startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';
import { createTcpProxy } from './tcp-proxy.js';
import type { TcpProxy } from './tcp-proxy.js';

const addressOf = (url: URL | string): { hostname: string; port: number } => {
  const { hostname, port } = new URL(url);
  return { hostname, port: Number(port) };
};

describe('while Temporal is away', () => {
  let line: TcpProxy;
  let api: ApiStack;

  before(async () => {
    const { hostname, port } = addressOf(`tcp://${(await sharedTemporal()).address}`);
    line = await createTcpProxy(hostname, port);
    api = await startApi({ temporalAddress: `127.0.0.1:${line.port}` });
    await api.startWorker();
  });
  after(async () => {
    await api.stop();
    await line.cut();
  });

  it('keeps the claim, says 503, and takes the same order when it is back', async () => {
    const key = randomUUID();
    await line.cut();
    const begin = Date.now();

    const away = await api.post({ key });

    assert.ok(Date.now() - begin < 7_000, 'the wait is bounded');
    assert.equal(away.status, 503);
    assert.equal(away.json['type'], '/problems/engine-unavailable');
    assert.match(away.headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
    assert.equal(away.headers['location'], `/orders/${String(away.json['orderId'])}`);
    assert.ok(away.json['requestId']);
    assert.equal((await api.get(away.headers['location'])).json['status'], 'processing');

    await line.open();
    let back: ApiAnswer = await api.post({ key });
    await until(async () => (back = await api.post({ key })).status === 201);
    assert.equal(back.json['orderId'], away.json['orderId']);
  });

  it('replays, refuses other bodies and shows orders, which takes Postgres only', async () => {
    await line.open();
    const key = randomUUID();
    let first: ApiAnswer = await api.post({ key });
    await until(async () => (first = await api.post({ key })).status === 201);
    await line.cut();

    const [again, other, order] = await Promise.all([
      api.post({ key }),
      api.post({ key, body: { ...A_BODY, amount: 2 } }),
      api.get(first.headers['location']!),
    ]);

    assert.equal(again.body, first.body);
    assert.equal(other.json['type'], '/problems/idempotency-key-reused');
    assert.equal(order.json['status'], 'confirmed');
  });

  it('shows an open order within two seconds', async () => {
    await line.cut();
    const { headers } = await api.post();
    const begin = Date.now();

    const order = await api.get(headers['location']!);

    assert.ok(Date.now() - begin < 2_000);
    assert.equal(order.status, 200);
    assert.deepEqual(
      (order.json['steps'] as { state: string }[]).map(({ state }) => state),
      ['pending', 'pending'],
    );
  });

  it('is not ready but alive', async () => {
    await line.cut();

    const [ready, alive] = [await api.get('/readyz'), await api.get('/healthz')];

    assert.equal(alive.status, 200);
    assert.equal(ready.status, 503);
    const checks = ready.json['checks'] as { name: string; ok: boolean }[];
    assert.deepEqual(
      checks.map(({ name, ok }) => [name, ok]),
      [
        ['postgres', true],
        ['temporal', false],
        ['search-attributes', false],
        ['worker', false],
      ],
    );
  });
});

describe('when Temporal goes away while a request waits', () => {
  it('answers 202: the order is started', async () => {
    const { hostname, port } = addressOf(`tcp://${(await sharedTemporal()).address}`);
    const line = await createTcpProxy(hostname, port);
    await line.open();
    const api = await startApi({
      temporalAddress: `127.0.0.1:${line.port}`,
      config: { waitSeconds: 3 },
    });
    try {
      const waiting = api.post();
      await until(async () => (await api.workflows()) === 1);

      await line.cut();

      const answer = await waiting;
      assert.equal(answer.status, 202);
      assert.equal(answer.json['status'], 'processing');
    } finally {
      await api.stop();
      await line.cut();
    }
  });
});

describe('while Postgres is away', () => {
  let line: TcpProxy;
  let api: ApiStack;

  before(async () => {
    api = await startApi({
      pool: async ({ url }) => {
        const { hostname, port } = addressOf(url);
        line = await createTcpProxy(hostname, port);
        const own = new URL(url);
        own.port = String(line.port);
        return createPool({
          connectionString: own.href,
          max: 5,
          applicationName: 'order-saga test',
          onIdleError: () => undefined,
        });
      },
    });
    await api.startWorker();
  });
  after(async () => {
    await line.open();
    await api.stop();
    await line.cut();
  });

  it('says 503, starts nothing, and takes the order when it is back', async () => {
    const key = randomUUID();

    const away = await api.post({ key });
    const order = await api.get('/orders/ORD-0123456789abcdef0123456789abcdef');

    for (const answer of [away, order]) {
      assert.equal(answer.status, 503);
      assert.equal(answer.json['type'], '/problems/store-unavailable');
      assert.match(answer.headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
    }
    const ready = await api.get('/readyz');
    assert.equal(ready.status, 503);
    assert.doesNotMatch(ready.body, /127\.0\.0\.1|ECONN/);
    assert.equal(await api.workflows(), 0);

    await line.open();
    assert.equal((await api.post({ key })).status, 201);
    await line.cut();
  });
});
