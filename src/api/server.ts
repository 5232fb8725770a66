import { ConfigError, configOfProcess, required, processEnvironment } from '../config.js';
import { serve } from '../http/serve.js';
import { createLogger } from '../logger.js';
import { createPool } from '../postgres/pool.js';
import { listenForOutcomes } from '../store/outcome-feed.js';
import { connectTemporal, temporalConfig } from '../temporal/connect.js';
import { keepRegistering } from '../temporal/search-attributes.js';
import { buildApp } from './app.js';

/** 20 connections: a request holds one for two short statements, never while it waits for an order. */
const POOL_SIZE = 20;

const config = configOfProcess();
const logger = createLogger('api', config.logLevel);

try {
  await run();
} catch (error) {
  // One readable line, not a stack: what is wrong is outside of this program.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

async function run(): Promise<void> {
  if (config.apiKeys.length === 0) {
    throw new ConfigError(['API_KEYS must be set: tenant:token pairs, comma-separated.']);
  }
  const connectionString = required('DATABASE_URL', config.databaseUrl);
  const pool = createPool({
    connectionString,
    max: POOL_SIZE,
    applicationName: 'order-saga api',
    onIdleError: (err) => logger.warn({ err }, 'lost an idle connection to Postgres'),
  });
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
      await Promise.all([pool.end(), outcomes.close(), close()]);
    },
  });
}
