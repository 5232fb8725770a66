import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { InjectOptions } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import { OPERATIONS } from '../../src/api/openapi/operations.js';
import { ALL_PROBLEMS } from '../../src/api/problems.js';
import { createPool } from '../../src/postgres/pool.js';
import { sharedTemporal } from '../support/temporal.js';
import { A_BODY, startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';
import { createTcpProxy } from './tcp-proxy.js';
import type { TcpProxy } from './tcp-proxy.js';

/** What Node's parser or a bug of ours answers, whatever is asked: shown in test/http. */
const OF_ANY_REQUEST = [
  'malformed-request',
  'request-timeout',
  'header-too-large',
  'internal-error',
];

/** It would take thousands of open streams. */
const NOT_PROVOKED: Readonly<Record<string, readonly string[]>> = { watchOrder: ['overloaded'] };

type Operation = OpenAPIV3_1.OperationObject;
type Provoke = () => Promise<ApiAnswer>;

describe('/openapi.json', () => {
  let temporal: TcpProxy;
  let postgres: TcpProxy;
  let api: ApiStack;
  /** Refuses every second request. */
  let strict: ApiStack;
  let document: OpenAPIV3_1.Document;
  /** The path of a confirmed order. */
  let order: string;

  before(async () => {
    temporal = await proxyTo(`tcp://${(await sharedTemporal()).address}`);
    api = await startApi({
      config: { metricsToken: 'token-metrics' },
      temporalAddress: `127.0.0.1:${temporal.port}`,
      pool: async ({ url }) => {
        postgres = await proxyTo(url);
        const own = new URL(url);
        own.port = String(postgres.port);
        return createPool({
          connectionString: own.href,
          max: 5,
          applicationName: 'order-saga test',
          onIdleError: () => undefined,
        });
      },
    });
    strict = await startApi({ config: { rateLimitPerMinute: 1 } });
    await api.startWorker();
    document = JSON.parse((await api.get('/openapi.json')).body) as OpenAPIV3_1.Document;
    order = (await api.post()).headers['location']!;
    for (const token of ['token-a', 'token-ops']) await strict.get('/orders/ORD-1', token);
    await strict.get('/problems/not-found');
  });
  after(async () => {
    await Promise.all([temporal.open(), postgres.open()]);
    await Promise.all([api.stop(), strict.stop()]);
    await Promise.all([temporal.cut(), postgres.cut()]);
  });

  it('is a valid OpenAPI 3.1 document, and needs no token', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));

    assert.ok(valid, JSON.stringify(errors));
    assert.match(document.openapi, /^3\.1\./);
    assert.equal((await api.app.inject('/openapi.json')).statusCode, 200);
  });

  it('has every route, described', () => {
    const described = Object.keys(OPERATIONS).map((name) => name.replaceAll(/:(\w+)/g, '{$1}'));

    assert.deepEqual(
      operationsOf(document)
        .map(([name]) => name)
        .sort(),
      described.sort(),
    );
    for (const [name, { operationId, summary, responses, security }] of operationsOf(document)) {
      assert.ok(operationId && summary && responses && security, name);
    }
  });

  it('has a schema, an example and a page for every problem', async () => {
    const { schemas = {}, examples = {} } = document.components ?? {};
    for (const { slug, status, title } of ALL_PROBLEMS.values()) {
      const page = await api.get(`/problems/${slug}`);
      const { value } = examples[slug] as { value: Record<string, unknown> };
      assert.ok(schemas[slug], slug);
      assert.deepEqual(
        [value['type'], value['status'], value['title']],
        [`/problems/${slug}`, status, title],
      );
      assert.equal(page.json['type'], value['type']);
      assert.equal(page.json['status'], status);
    }
  });

  it('agrees with the table of docs/design.md on every problem, its status and where it may come', async () => {
    const design = await readFile(new URL('../../docs/design.md', import.meta.url), 'utf8');
    const section = design.split('\n## Problems\n')[1]?.split('\n## ')[0] ?? '';
    const rows = [...section.matchAll(/^\| `([a-z-]+)` +\| (\d+) +\| (.+?) +\|$/gm)];
    const all = operationsOf(document).map(([, { operationId = '' }]) => operationId);
    const places = (slug: string): string => {
      const at = operationsOf(document)
        .filter(([, operation]) => slugsOf(operation).includes(slug))
        .map(([, { operationId = '' }]) => operationId);
      if (at.length === 0) return 'any other method';
      if (at.length === all.length) return 'all';
      const without = all.filter((id) => !at.includes(id));
      return without.length < 4 ? `all but ${without.join(', ')}` : at.join(', ');
    };
    const expected = [...ALL_PROBLEMS.values()]
      .map(({ slug, status }) => [slug, String(status), places(slug)])
      .sort(([, a = ''], [, b = '']) => a.localeCompare(b));

    assert.deepEqual(
      rows.map((row) => row.slice(1)),
      expected,
      expected.map(([slug, status, at]) => `| \`${slug}\` | ${status} | ${at} |`).join('\n'),
    );
  });

  describe('has all problems that can be provoked, and no others, of', () => {
    const json = { 'content-type': 'application/json' };
    const undo = { step: 'payment', why: 'test' };
    /** A request that is good, for each operation; what is wrong with it is changed. */
    const good: Readonly<Record<string, (orderPath: string) => InjectOptions>> = {
      placeOrder: () => ({
        method: 'POST',
        url: '/orders',
        headers: { ...as('token-a'), ...json, 'idempotency-key': randomUUID() },
        payload: JSON.stringify(A_BODY),
      }),
      listOrders: () => ({ url: '/orders', headers: as('token-a') }),
      readOrder: (url) => ({ url, headers: as('token-a') }),
      watchOrder: (path) => ({ url: `${path}/events`, headers: as('token-a') }),
      cancelOrder: (path) => ({
        method: 'POST',
        url: `${path}/cancel`,
        headers: { ...as('token-a'), ...json },
        payload: '{}',
      }),
      retryUndo: (path) => undoRequest(path, 'retry'),
      resolveUndo: (path) => undoRequest(path, 'resolve'),
      readHealth: () => ({ url: '/healthz' }),
      readReadiness: () => ({ url: '/readyz' }),
      readMetrics: () => ({ url: '/metrics', headers: as('token-metrics') }),
      explainProblem: () => ({ url: '/problems/not-found' }),
      readDocument: () => ({ url: '/openapi.json' }),
    };
    const undoRequest = (path: string, action: string): InjectOptions => ({
      method: 'POST',
      url: `${path}/undo/${action}`,
      headers: { ...as('token-ops'), ...json },
      payload: JSON.stringify(undo),
    });

    /** Sends a good request of an operation with something changed. */
    const send = (
      id: string,
      { headers = {}, path = order, ...change }: InjectOptions & { path?: string } = {},
    ): Promise<ApiAnswer> => {
      const request = good[id]!(path);
      return api.inject({ ...request, ...change, headers: { ...request.headers, ...headers } });
    };
    const sendBody = (id: string, body: object, headers = {}): Promise<ApiAnswer> =>
      send(id, { payload: JSON.stringify(body), headers });
    const withoutPostgres = async (id: string): Promise<ApiAnswer> => {
      await postgres.cut();
      const answer = await send(id);
      await postgres.open();
      return answer;
    };

    /** What can be done wrong alike with every operation that has the problem. */
    const anyway: Readonly<Record<string, (id: string) => Promise<ApiAnswer>>> = {
      'validation-failed': (id) => send(id, { url: `${good[id]!(order).url as string}?unknown=1` }),
      unauthorized: (id) => send(id, { headers: { authorization: 'Bearer nobody' } }),
      forbidden: (id) => send(id, { headers: as(id.endsWith('Undo') ? 'token-a' : 'token-ops') }),
      'not-found': (id) =>
        id === 'explainProblem'
          ? send(id, { url: '/problems/none' })
          : send(id, { path: `/orders/ORD-${'0'.repeat(32)}` }),
      'malformed-json': (id) => send(id, { payload: '{' }),
      'body-too-large': (id) => send(id, { payload: `"${'a'.repeat(70_000)}"` }),
      'unsupported-media-type': (id) => send(id, { headers: { 'content-type': 'text/plain' } }),
      'store-unavailable': withoutPostgres,
      'rate-limited': (id) => strict.inject(good[id]!(order)),
    };

    const keptKey = { 'idempotency-key': randomUUID() };
    let away: Promise<Record<string, ApiAnswer>> | undefined;
    /** What those answer that ask Temporal, while it is away. At once, as each waits for it a while. */
    const engineAway = (): Promise<Record<string, ApiAnswer>> => {
      away ??= (async () => {
        const stuck = await stuckOrder();
        await temporal.cut();
        const [placeOrder, retryUndo, resolveUndo] = await Promise.all([
          send('placeOrder', { headers: keptKey }),
          send('retryUndo', { path: stuck }),
          send('resolveUndo', { path: stuck }),
        ]);
        await temporal.open();
        return { placeOrder, retryUndo, resolveUndo };
      })();
      return away;
    };

    const outcome = (change: object): Promise<ApiAnswer> =>
      sendBody('placeOrder', { ...A_BODY, ...change });
    const undoProblems = (id: string): Record<string, Provoke> => ({
      'card-data-refused': () => sendBody(id, { ...undo, why: '4242 4242 4242 4242' }),
      'undo-not-stuck': () => send(id),
      'engine-unavailable': async () => (await engineAway())[id]!,
    });
    const special: Readonly<Record<string, Readonly<Record<string, Provoke>>>> = {
      placeOrder: {
        'idempotency-key-missing': () =>
          api.inject({ ...good['placeOrder']!(order), headers: { ...as('token-a'), ...json } }),
        'idempotency-key-invalid': () =>
          send('placeOrder', { headers: { 'idempotency-key': '"' } }),
        'card-data-refused': () => outcome({ userId: '4242424242424242' }),
        'idempotency-key-reused': async () => {
          const key = { 'idempotency-key': randomUUID() };
          await send('placeOrder', { headers: key });
          return sendBody('placeOrder', { ...A_BODY, amount: 1 }, key);
        },
        'request-in-progress': async () => {
          const headers = { 'idempotency-key': randomUUID() };
          const body = { ...A_BODY, paymentMethod: 'pm_hold' };
          await sendBody('placeOrder', body, { ...headers, prefer: 'respond-async' });
          return sendBody('placeOrder', body, headers);
        },
        overloaded: async () => {
          await api.database.pool.query(LOSE_CLAIMS);
          try {
            return await send('placeOrder');
          } finally {
            await api.database.pool.query('drop trigger lose on claims');
          }
        },
        'engine-unavailable': async () => (await engineAway())['placeOrder']!,
        'payment-declined': () => outcome({ paymentMethod: 'pm_declined' }),
        'out-of-stock': () => outcome({ items: [{ sku: 'SOLD-OUT', quantity: 1 }] }),
        'payment-unavailable': () => outcome({ paymentMethod: 'pm_lost' }),
        'inventory-unavailable': () => outcome({ items: [{ sku: 'LOST', quantity: 1 }] }),
        'order-cancelled': async () => {
          const { placeOrder } = await engineAway();
          await send('cancelOrder', { path: placeOrder!.headers['location']! });
          return send('placeOrder', { headers: { ...keptKey, prefer: 'wait=20' } });
        },
      },
      cancelOrder: { 'order-not-cancellable': () => send('cancelOrder') },
      retryUndo: undoProblems('retryUndo'),
      resolveUndo: undoProblems('resolveUndo'),
    };

    for (const id of Object.keys(good)) {
      it(id, async () => {
        const [, operation] = operationsOf(document).find(([, one]) => one.operationId === id)!;
        const shownElsewhere = [...OF_ANY_REQUEST, ...(NOT_PROVOKED[id] ?? [])];
        const provocable = slugsOf(operation).filter((slug) => !shownElsewhere.includes(slug));

        assert.deepEqual(
          shownElsewhere.filter((slug) => !slugsOf(operation).includes(slug)),
          [],
        );
        assert.deepEqual(
          Object.keys(special[id] ?? {}).filter((slug) => !provocable.includes(slug)),
          [],
        );
        for (const slug of provocable) {
          const answer = await (special[id]?.[slug] ?? (() => anyway[slug]!(id)))();
          assert.deepEqual(
            [answer.json['type'], answer.status],
            [`/problems/${slug}`, ALL_PROBLEMS.get(slug)?.status],
          );
        }
      });
    }

    it('nothing else', () => {
      assert.deepEqual(
        operationsOf(document)
          .map(([, { operationId }]) => operationId)
          .sort(),
        Object.keys(good).sort(),
      );
    });
  });

  describe('has a page at /docs that', () => {
    it('is whole without another server', async () => {
      const page = await api.app.inject('/docs');
      const parts = [...page.body.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url]) => url!);

      assert.equal(page.statusCode, 200);
      assert.ok(parts.length > 3);
      for (const url of [...parts, '/docs/json']) {
        assert.match(url, /^\/docs\//);
        assert.equal((await api.app.inject(url)).statusCode, 200, url);
      }
    });
  });

  /** An order whose row says that the undo of its payment is stuck. */
  async function stuckOrder(): Promise<string> {
    const { headers, json } = await api.post({ body: { ...A_BODY, paymentMethod: 'pm_declined' } });
    await api.database.pool.query(
      `update orders set status = 'needs_attention', decision = 'undo', steps =
         jsonb_set(steps, '{0,compensationState}', '"stuck"') where order_id = $1`,
      [json['orderId']],
    );
    return headers['location']!;
  }
});

/** The claim of a key gets lost between its insert and the look at it, as if a purge took it each time. */
const LOSE_CLAIMS = `
  create or replace function lose() returns trigger language plpgsql as 'begin return null; end';
  create trigger lose before insert on claims for each row execute function lose()`;

const as = (token: string) => ({ authorization: `Bearer ${token}` });

async function proxyTo(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url);
  const line = await createTcpProxy(hostname, Number(port));
  await line.open();
  return line;
}

function operationsOf({ paths = {} }: OpenAPIV3_1.Document): (readonly [string, Operation])[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  );
}

/** The problems that an operation may answer. */
function slugsOf({ responses = {} }: Operation): string[] {
  return Object.values(responses).flatMap((response) => {
    const { content = {} } = response as OpenAPIV3_1.ResponseObject;
    return Object.keys(content['application/problem+json']?.examples ?? {});
  });
}
