import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { TelemetryOptions, WorkerOptions } from '@temporalio/worker';
import type { FastifyBaseLogger } from 'fastify';
import { createActivities } from './activities/index.js';
import { limitsOf, processEnvironment, required } from './config.js';
import type { Config } from './config.js';
import { REPORT_MARGIN_MS } from './domain/limits.js';
import type { MetricsSource } from './metrics/route.js';
import { sdkMetrics } from './metrics/temporal.js';
import { createHealer } from './orders/heal-order.js';
import { createMaintenance } from './orders/reconcile.js';
import { keepSchedules } from './orders/schedules.js';
import { tellOfOrders } from './orders/tell-of-orders.js';
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

export interface WorkerRole {
  /** Runs until `stop`; waits for a Temporal that is not there yet. */
  readonly run: () => Promise<void>;
  /**
   * On the worker's own connection, which hands a workflow started by it to this worker at once. Undefined until
   * there is one.
   */
  readonly eagerClient: () => Client | undefined;
  /** What the SDK counts; empty until it runs. */
  readonly metrics: MetricsSource;
  /** Whether it polls for work. */
  readonly isRunning: () => boolean;
  /** Ends polling, lets running attempts end, then closes everything. */
  readonly stop: () => Promise<void>;
  /** How long `stop` may take before its running attempts are cut. */
  readonly graceMs: number;
}

/** Makes the worker of this process; one at most, as the SDK has one runtime a process. */
export function createWorkerRole(config: Config, logger: FastifyBaseLogger): WorkerRole {
  const temporal = temporalConfig(processEnvironment());
  const { client, namespace, close: closeClient } = connectTemporal(temporal);
  const stopping = new AbortController();
  const pool = createPool({
    connectionString: required('DATABASE_URL', config.databaseUrl),
    max: POOL_SIZE,
    applicationName: 'order-saga worker',
    onIdleError: (err) => logger.warn({ err }, 'lost an idle connection to Postgres'),
  });
  const graceMs = config.stepTimeoutMs + REPORT_MARGIN_MS + GRACE_MARGIN_MS;
  const { taskQueue } = config;
  /** Empty until Temporal is reached; a stop may come before. */
  let worker: Worker | undefined;
  let metrics: MetricsSource | undefined;
  let eagerClient: Client | undefined;
  let running: Promise<void> | undefined;
  let upkeep: Promise<unknown> | undefined;

  return {
    graceMs,
    eagerClient: () => eagerClient,
    metrics: () => metrics?.() ?? Promise.resolve(''),
    isRunning: () => worker?.getState() === 'RUNNING',
    run: async () => {
      metrics = await sdkMetrics((telemetryOptions) => installRuntime(logger, telemetryOptions));
      const connection = await connect();
      worker = await createWorker(connection);
      eagerClient = new Client({ connection, namespace });
      running = worker.run().finally(() => connection.close());
      upkeep = Promise.all([
        keepRegistering(client.connection, namespace, logger, stopping.signal),
        keepSchedules(
          client,
          config,
          (err) => logger.warn({ err }, 'no schedules yet'),
          stopping.signal,
        ),
        warnOfShortRetention(client, namespace, config.idempotencyTtlSeconds, logger),
      ]);
      logger.info({ taskQueue, namespace }, 'worker is running');
      await running;
    },
    stop: async () => {
      stopping.abort();
      eagerClient = undefined;
      if (worker?.getState() === 'RUNNING') worker.shutdown();
      await running;
      await upkeep;
      await Promise.all([pool.end(), closeClient()]);
    },
  };

  function createWorker(connection: NativeConnection): Promise<Worker> {
    const orders = createOrderStore(pool, tellOfOrders(logger));
    const openOrders = createOpenOrderStore(pool);
    const limits = limitsOf(config);
    const healer = createHealer({ client, orders, openOrders, taskQueue, limits });
    return Worker.create({
      connection,
      namespace,
      taskQueue,
      ...workflows(),
      ...versioning(config),
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
      shutdownGraceTime: graceMs,
    });
  }

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
}

/** Auto-upgrade: an order that waits for a person for weeks must not keep an old build alive. */
function versioning({ workerVersion }: Config): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (workerVersion === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: workerVersion,
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

function installRuntime(logger: FastifyBaseLogger, telemetryOptions: TelemetryOptions): void {
  Runtime.install({
    telemetryOptions,
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
}

/** The bundle that the build made; without a build the sources, which are bundled now. */
function workflows(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const codePath = fileURLToPath(new URL('./workflow-bundle.js', import.meta.url));
  return existsSync(codePath)
    ? { workflowBundle: { codePath } }
    : { workflowsPath: fileURLToPath(new URL('./workflows/index.ts', import.meta.url)) };
}
