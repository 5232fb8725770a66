import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { createActivities } from './activities/index.js';
import { configOfProcess, limitsOf, required, processEnvironment } from './config.js';
import { REPORT_MARGIN_MS } from './domain/limits.js';
import { closeOnSignal, SHUTDOWN_DELAY_MS } from './http/serve.js';
import { createLogger } from './logger.js';
import { createHealer } from './orders/heal-order.js';
import { createMaintenance } from './orders/reconcile.js';
import { keepSchedules } from './orders/schedules.js';
import { createPool } from './postgres/pool.js';
import { createOpenOrderStore } from './store/open-orders.js';
import { createOrderStore } from './store/orders.js';
import { connectTemporal, temporalConfig } from './temporal/connect.js';
import { warnOfShortRetention } from './temporal/retention.js';
import { keepRegistering } from './temporal/search-attributes.js';

/** 2 s above one attempt: at a stop a running call ends by itself, instead of being cut and asked again. */
const GRACE_MARGIN_MS = 2_000;

/** 10 connections: an order writes once or twice, for some milliseconds each. */
const POOL_SIZE = 10;

/** 200 open workflows in memory: 50 orders in flight and those that wait for a person, at some 300 kB each. */
const MAX_CACHED_WORKFLOWS = 200;

/** One: a second thread holds 40 MB more, and two cores have other work; run more workers instead. */
const WORKFLOW_THREADS = 1;

/** 2 s between attempts to reach Temporal at start. */
const CONNECT_RETRY_MS = 2_000;

const config = configOfProcess();
const logger = createLogger('worker', config.logLevel);
const temporal = temporalConfig(processEnvironment());
Runtime.install({
  logger: {
    log: (level, message, meta) => {
      const method = level.toLowerCase() as 'trace' | 'debug' | 'info' | 'warn' | 'error';
      logger[method](meta ?? {}, message);
    },
    trace: (message, meta) => logger.trace(meta ?? {}, message),
    debug: (message, meta) => logger.debug(meta ?? {}, message),
    info: (message, meta) => logger.info(meta ?? {}, message),
    warn: (message, meta) => logger.warn(meta ?? {}, message),
    error: (message, meta) => logger.error(meta ?? {}, message),
  },
  // We stop the worker ourselves, once, whatever number of signals come.
  shutdownSignals: [],
});

const { client, namespace, close: closeClient } = connectTemporal(temporal);
const stopping = new AbortController();
const pool = createPool({
  connectionString: required('DATABASE_URL', config.databaseUrl),
  max: POOL_SIZE,
  applicationName: 'order-saga worker',
  onIdleError: (err) => logger.warn({ err }, 'lost an idle connection to Postgres'),
});
const shutdownGraceMs = config.stepTimeoutMs + REPORT_MARGIN_MS + GRACE_MARGIN_MS;
/** Empty until Temporal is reached; a signal may come before. */
const started: { worker?: Worker; running?: Promise<void>; upkeep?: Promise<unknown> } = {};
closeOnSignal(
  logger,
  async () => {
    stopping.abort();
    if (started.worker?.getState() === 'RUNNING') started.worker.shutdown();
    await started.running;
    await started.upkeep;
    await Promise.all([pool.end(), closeClient()]);
  },
  shutdownGraceMs + SHUTDOWN_DELAY_MS,
);

const connection = await connect();
const orders = createOrderStore(pool);
const openOrders = createOpenOrderStore(pool);
const healer = createHealer({
  client,
  orders,
  openOrders,
  taskQueue: config.taskQueue,
  limits: limitsOf(config),
});
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: config.taskQueue,
  ...workflows(),
  activities: createActivities({
    payment: { baseUrl: config.paymentUrl, token: config.paymentToken },
    inventory: { baseUrl: config.inventoryUrl, token: config.inventoryToken },
    orders,
    maintenance: createMaintenance({
      client,
      openOrders,
      healer,
      intervalSeconds: config.reconcileIntervalSeconds,
    }),
  }),
  maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
  workflowThreadPoolSize: WORKFLOW_THREADS,
  shutdownGraceTime: shutdownGraceMs,
});
started.worker = worker;
started.running = worker.run().finally(() => connection.close());
started.upkeep = Promise.all([
  keepRegistering(client.connection, namespace, logger, stopping.signal),
  keepSchedules(client, config, (err) => logger.warn({ err }, 'no schedules yet'), stopping.signal),
  warnOfShortRetention(client, namespace, config.idempotencyTtlSeconds, logger),
]);
logger.info({ taskQueue: config.taskQueue, namespace }, 'worker is running');
await started.running;

/** Waits for the server: a worker that starts first is no error. */
async function connect(): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect(temporal.connectionOptions);
    } catch (err) {
      logger.warn({ err }, `can not reach Temporal: trying again in ${CONNECT_RETRY_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, CONNECT_RETRY_MS));
    }
  }
}

/** The bundle that the build made; without a build the sources, which are bundled now. */
function workflows(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const codePath = fileURLToPath(new URL('./workflow-bundle.js', import.meta.url));
  return existsSync(codePath)
    ? { workflowBundle: { codePath } }
    : { workflowsPath: fileURLToPath(new URL('./workflows/index.ts', import.meta.url)) };
}
