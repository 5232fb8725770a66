import type { Client } from '@temporalio/client';
import type { FastifyBaseLogger } from 'fastify';
import type pg from 'pg';
import { limitsOf } from '../config.js';
import type { Config } from '../config.js';
import { createHttpApp } from '../http/app.js';
import type { HttpApp } from '../http/app.js';
import { createOpenOrderMetrics } from '../metrics/open-orders.js';
import { claims as claimCounter } from '../metrics/orders.js';
import { addMetricsRoute } from '../metrics/route.js';
import type { MetricsSource } from '../metrics/route.js';
import { createHealer } from '../orders/heal-order.js';
import { tellOfOrders } from '../orders/tell-of-orders.js';
import { createClientStore } from '../store/clients.js';
import { createOpenOrderStore } from '../store/open-orders.js';
import { createOrderChanges } from '../store/order-changes.js';
import { createOrderLists } from '../store/order-lists.js';
import { createOrderStore } from '../store/orders.js';
import type { OutcomeFeed } from '../store/outcome-feed.js';
import { createAuthentication } from './auth.js';
import { addDeskServiceRoutes } from './desk-services.js';
import { addDeskRoutes } from './desk.js';
import { addHealthRoutes } from './health.js';
import { createClaims } from './idempotency/claims.js';
import { createEntry } from './idempotency/enter.js';
import { documented } from './openapi/document.js';
import { addOrderActionRoutes } from './order-actions.js';
import { addOrderEventRoutes } from './order-events.js';
import { addOrderListRoutes } from './order-lists.js';
import { createOrderWatch } from './order-watch.js';
import { addOrderRoutes } from './orders.js';
import { protectPages } from './pages.js';
import { addProblemRoutes } from './problems.js';
import { addRateLimits } from './rate-limits.js';
import { createReadOrder } from './read-order.js';
import { logRequests } from './request-log.js';
import { createStoredTokens } from './stored-tokens.js';
import { createWaiting } from './waiting.js';

export type ApiConfig = Pick<
  Config,
  | 'apiKeys'
  | 'operatorKeys'
  | 'rateLimitPerMinute'
  | 'trustProxy'
  | 'taskQueue'
  | 'waitSeconds'
  | 'temporalUiUrl'
  | 'stepTimeoutMs'
  | 'stepDeadlineMs'
  | 'attentionAfterSeconds'
  | 'idempotencyTtlSeconds'
  | 'faults'
  | 'metricsToken'
  | 'paymentUrl'
  | 'paymentToken'
  | 'inventoryUrl'
  | 'inventoryToken'
>;

export interface ApiDependencies {
  readonly config: ApiConfig;
  readonly logger: FastifyBaseLogger;
  readonly pool: pg.Pool;
  readonly outcomes: OutcomeFeed;
  readonly client: Client;
  /** Starts an order at a worker of this process; undefined where there is none, or none now. */
  readonly eagerClient?: (() => Client | undefined) | undefined;
  /** What a worker in this process adds to the metrics. */
  readonly metrics?: MetricsSource | undefined;
  readonly namespace: string;
  /** Comes when the process is to stop. */
  readonly draining: AbortSignal;
}

/**
 * Builds the API. It never listens.
 *
 * @throws ConfigError where the tokens are not usable.
 */
export function buildApp(dependencies: ApiDependencies): HttpApp {
  const { config, logger, pool, outcomes, client, eagerClient, namespace, draining } = dependencies;
  const { taskQueue, waitSeconds, temporalUiUrl } = config;
  const claims = createClaims(pool);
  const store = createOrderStore(pool, tellOfOrders(logger));
  const openOrders = createOpenOrderStore(pool);
  const limits = limitsOf(config);
  const healer = createHealer({ client, orders: store, openOrders, taskQueue, limits });
  const storedTokens = createStoredTokens(createClientStore(pool));
  const documents = { client, namespace, temporalUiUrl };

  const addRoutes = (app: HttpApp): void => {
    app.addHook('onRequest', (request, reply, done) => {
      // Errors as well: a cache must not answer a retry for us.
      if (/^\/orders(?:[/?]|$)/.test(request.url)) void reply.header('cache-control', 'no-store');
      done();
    });
    const authentication = createAuthentication({
      apiKeys: config.apiKeys,
      operatorKeys: config.operatorKeys,
      storedTokens,
      limits: addRateLimits(app, config.rateLimitPerMinute),
    });
    const readOrder = createReadOrder(authentication, store, openOrders);
    logRequests(app, authentication);
    protectPages(app);
    addHealthRoutes(app, { pool, client, namespace, taskQueue });
    addMetricsRoute(app, {
      token: config.metricsToken,
      sources: [
        createOpenOrderMetrics(openOrders),
        ...(dependencies.metrics ? [dependencies.metrics] : []),
      ],
    });
    addProblemRoutes(app);
    addOrderRoutes(app, {
      authentication,
      entry: createEntry({
        claims,
        client,
        eagerClient,
        count: (kind) => claimCounter.inc({ kind }),
      }),
      readOrder,
      openOrders,
      healer,
      placeOrder: { store, healer, taskQueue, limits },
      documents,
      waiting: createWaiting(claims, outcomes, draining),
      waitSeconds,
    });
    addOrderEventRoutes(app, {
      authentication,
      readOrder,
      watch: createOrderWatch({ changes: createOrderChanges(pool), outcomes, documents, logger }),
      draining,
    });
    addOrderListRoutes(app, { authentication, lists: createOrderLists(pool), documents });
    addOrderActionRoutes(app, { authentication, client, openOrders, healer });
    addDeskRoutes(app);
    if (config.faults) addDeskServiceRoutes(app, { authentication, readOrder, config });
  };
  return createHttpApp(logger, documented(addRoutes), { trustProxy: config.trustProxy });
}
