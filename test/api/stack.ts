import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import type { InjectOptions } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import type pg from 'pg';
import type { Activities } from '../../src/activities/index.js';
import { createOrderActivities } from '../../src/activities/orders.js';
import { buildApp } from '../../src/api/app.js';
import type { ApiConfig } from '../../src/api/app.js';
import { FAILURES } from '../../src/domain/failures.js';
import type { HttpApp } from '../../src/http/app.js';
import { createLogger } from '../../src/logger.js';
import { createOrderStore } from '../../src/store/orders.js';
import { listenForOutcomes } from '../../src/store/outcome-feed.js';
import { connectTemporal } from '../../src/temporal/connect.js';
import { registerSearchAttributes } from '../../src/temporal/search-attributes.js';
import { conformanceTo } from '../support/conformance.js';
import type { Conformance } from '../support/conformance.js';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';
import { sharedTemporal } from '../support/temporal.js';
import { startWorkflowWorker } from '../support/workflow-worker.js';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Undefined where the body is no JSON. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface Post {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly url?: string;
}

export interface Rows {
  readonly claims: number;
  readonly orders: number;
}

export interface StackOptions {
  readonly config?: Partial<ApiConfig>;
  /** Address of Temporal as the API sees it. */
  readonly temporalAddress?: string;
  /** Postgres as the API sees it. */
  readonly pool?: (database: TestDatabase) => Promise<pg.Pool>;
}

export const A_BODY = { userId: 'u1', amount: 1000 };

export type ApiStack = Awaited<ReturnType<typeof startApi>>;

/** The API on a database and a task queue of its own, with no worker until the test starts one. */
export async function startApi(options: StackOptions = {}) {
  const { address } = await sharedTemporal();
  const database = await createDatabase('orders');
  const direct = connectTemporal({ connectionOptions: { address } });
  await registerSearchAttributes(direct.client.connection, 'default');
  const temporal = connectTemporal({
    connectionOptions: { address: options.temporalAddress ?? address },
  });
  const pool = (await options.pool?.(database)) ?? database.pool;
  const draining = new AbortController();
  const config = configFor(`test-${randomUUID()}`, options.config);
  const logLines: string[] = [];
  const logger = createLogger('api', 'debug', { write: (line) => void logLines.push(line) });
  const { client, namespace } = temporal;
  const outcomes = listenForOutcomes(database.url, () => undefined);
  const app = buildApp({
    config,
    logger,
    pool,
    outcomes,
    client,
    namespace,
    draining: draining.signal,
  });
  await app.ready();
  const check = conformanceTo(app.swagger() as OpenAPIV3_1.Document);
  let stopWorker: (() => Promise<void>) | undefined;

  return {
    app,
    database,
    draining,
    logLines,
    /** A client that no test cuts. */
    client: direct.client,
    post: (post: Post = {}) => postOrder(app, post, check),
    get: (url: string, token = 'token-a') =>
      inject(app, { url, headers: { authorization: `Bearer ${token}` } }, check),
    /** Any request. */
    inject: (request: InjectOptions) => inject(app, request, check),
    startWorker: async () => {
      const activities = activitiesOn(database.pool);
      ({ stop: stopWorker } = await startWorkflowWorker(config.taskQueue, activities));
    },
    rows: async (): Promise<Rows> => {
      const { rows } = await database.pool.query<Rows>(
        'select (select count(*)::int from claims) as claims, (select count(*)::int from orders) as orders',
      );
      return rows[0]!;
    },
    workflows: (): Promise<number> => countWorkflows(direct.client, config.taskQueue),
    stop: async () => {
      draining.abort();
      await app.close();
      await stopWorker?.();
      await Promise.all([outcomes.close(), temporal.close(), direct.close()]);
      if (pool !== database.pool) await pool.end();
      await database.drop();
    },
  };
}

function configFor(taskQueue: string, change: Partial<ApiConfig> = {}): ApiConfig {
  return {
    apiKeys: [
      { name: 'tenant-a', token: 'token-a' },
      { name: 'tenant-b', token: 'token-b' },
    ],
    operatorKeys: [{ name: 'ops', token: 'token-ops' }],
    rateLimitPerMinute: 1_000_000,
    trustProxy: [],
    taskQueue,
    waitSeconds: 20,
    temporalUiUrl: 'http://ui.example/',
    stepTimeoutMs: 1_000,
    stepDeadlineMs: 300,
    attentionAfterSeconds: 900,
    idempotencyTtlSeconds: 86_400,
    faults: false,
    metricsToken: undefined,
    paymentUrl: 'http://127.0.0.1:1',
    paymentToken: undefined,
    inventoryUrl: 'http://127.0.0.1:1',
    inventoryToken: undefined,
    ...change,
  };
}

/** The world as the body asks for it: by the payment method and the SKU; the rows are real. */
function activitiesOn(pool: pg.Pool): Activities {
  const lost = (): Error => ApplicationFailure.retryable('no answer', FAILURES.stepUnknown);
  const refused = (type: string): Error => ApplicationFailure.nonRetryable('no', type);
  const done = { attempts: 1 };
  const untilCancelled = (): Promise<never> => Context.current().cancelled;
  /* eslint-disable @typescript-eslint/require-await -- activities are asynchronous by contract */
  return {
    ...createOrderActivities(createOrderStore(pool)),
    chargePayment: async ({ paymentMethod }) => {
      if (paymentMethod === 'pm_declined') throw refused(FAILURES.paymentDeclined);
      if (paymentMethod === 'pm_lost') throw lost();
      if (paymentMethod === 'pm_hold') await untilCancelled();
      return done;
    },
    reserveInventory: async ({ items }) => {
      if (items.some(({ sku }) => sku === 'SOLD-OUT')) throw refused(FAILURES.outOfStock);
      if (items.some(({ sku }) => sku === 'LOST')) throw lost();
      return done;
    },
    refundPayment: async () => done,
    releaseInventory: async () => done,
    reconcile: async () => ({}),
    purge: async () => 0,
  };
  /* eslint-enable @typescript-eslint/require-await */
}

function postOrder(app: HttpApp, post: Post, check: Conformance): Promise<ApiAnswer> {
  const { key = randomUUID(), body = A_BODY, token = 'token-a', url = '/orders' } = post;
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': key,
    ...post.headers,
  };
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  return inject(app, { method: 'POST', url, headers, payload }, check);
}

/** Each answer is held against the API's document. */
async function inject(
  app: HttpApp,
  request: InjectOptions,
  check: Conformance,
): Promise<ApiAnswer> {
  const { statusCode: status, headers, body } = await app.inject(request);
  const { method = 'GET', url } = request;
  assert.ok(typeof url === 'string');
  check({
    method,
    path: url,
    status,
    header: (name) => headers[name.toLowerCase()]?.toString(),
    body,
  });
  const json = body.startsWith('{') ? (JSON.parse(body) as ApiAnswer['json']) : {};
  return { status, headers: headers as ApiAnswer['headers'], body, json };
}

/** Counts by listing, which lags: to be asked until it is what a test expects, or at its end. */
async function countWorkflows(client: Client, taskQueue: string): Promise<number> {
  const { count } = await client.workflow.count(`TaskQueue = '${taskQueue}'`);
  return count;
}
