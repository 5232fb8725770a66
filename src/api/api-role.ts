import type { Client } from '@temporalio/client';
import type { FastifyBaseLogger } from 'fastify';
import type pg from 'pg';
import { ConfigError, processEnvironment, required } from '../config.js';
import type { Config } from '../config.js';
import { SHUTDOWN_DELAY_MS, serve } from '../http/serve.js';
import type { MetricsSource } from '../metrics/route.js';
import { createPool, isDatabaseUnavailable, isUndefinedTable } from '../postgres/pool.js';
import { createClientStore } from '../store/clients.js';
import { listenForOutcomes } from '../store/outcome-feed.js';
import { connectTemporal, temporalConfig } from '../temporal/connect.js';
import { keepRegistering } from '../temporal/search-attributes.js';
import { buildApp } from './app.js';

/** 20 connections: a request holds one for two short statements, never while it waits for an order. */
const POOL_SIZE = 20;

/** A worker in this process, to which the orders that the API starts are handed at once. */
export interface CompanionWorker {
  readonly eagerClient: () => Client | undefined;
  readonly metrics: MetricsSource;
  readonly stop: () => Promise<void>;
  readonly graceMs: number;
}

/**
 * Serves the API until a signal comes.
 *
 * @param worker stopped after the last request.
 * @throws ConfigError, or Error with one line that says what to set.
 */
export async function serveApi(
  config: Config,
  logger: FastifyBaseLogger,
  worker?: CompanionWorker,
): Promise<void> {
  const connectionString = required('DATABASE_URL', config.databaseUrl);
  const pool = createPool({
    connectionString,
    max: POOL_SIZE,
    applicationName: 'order-saga api',
    onIdleError: (err) => logger.warn({ err }, 'lost an idle connection to Postgres'),
  });
  if (config.apiKeys.length === 0) await demandStoredTenants(pool, logger);
  const { client, namespace, close } = connectTemporal(temporalConfig(processEnvironment()));
  const outcomes = listenForOutcomes(connectionString, (err) => {
    logger.warn({ err }, 'lost the feed of outcomes: looking at the rows meanwhile');
  });
  const stopping = new AbortController();
  const app = buildApp({
    config,
    logger,
    pool,
    outcomes,
    client,
    eagerClient: worker?.eagerClient,
    metrics: worker?.metrics,
    namespace,
    draining: stopping.signal,
  });
  const registering = keepRegistering(client.connection, namespace, logger, stopping.signal);
  await serve(app, {
    host: config.host,
    port: config.port,
    portVariable: 'PORT',
    drain: () => stopping.abort(),
    close: async () => {
      stopping.abort();
      await registering;
      await Promise.all([pool.end(), outcomes.close(), close(), worker?.stop()]);
    },
    delayMs: SHUTDOWN_DELAY_MS + (worker?.graceMs ?? 0),
  });
}

/**
 * An API that knows no tenant lets nobody in: that must be found out at its start.
 *
 * Where Postgres is away it starts all the same: requests are answered 503 until it can be asked.
 *
 * @throws ConfigError
 */
async function demandStoredTenants(pool: pg.Pool, logger: FastifyBaseLogger): Promise<void> {
  try {
    if (await createClientStore(pool).hasTenants()) return;
  } catch (err) {
    if (isDatabaseUnavailable(err)) {
      logger.warn({ err }, 'API_KEYS is not set, and Postgres can not be asked for clients now');
      return;
    }
    if (!isUndefinedTable(err)) throw err;
  }
  throw new ConfigError([
    'API_KEYS must be set: tenant:token pairs, comma-separated. ' +
      'Or store a client in Postgres first, with "npm run clients -- add <name>".',
  ]);
}
