import type { FastifyBaseLogger } from 'fastify';
import type pg from 'pg';
import { createHttpApp, unavailable } from '../http/app.js';
import type { HttpApp } from '../http/app.js';
import { addMetricsRoute } from '../metrics/route.js';
import { demandToken } from './bearer-token.js';
import { createCallLog } from './call-log.js';
import { createFaults, FaultList } from './faults.js';
import type { Faults } from './faults.js';
import { createKeyedCalls } from './keyed-call.js';
import type { AnswerKeyedCall } from './keyed-call.js';
import { OrderQuery } from './schemas.js';

export interface ServiceDeps {
  readonly logger: FastifyBaseLogger;
  readonly pool: pg.Pool;
  /** Demanded as a bearer token; undefined where none is needed. */
  readonly token: string | undefined;
  /** Demanded of those who read the metrics; undefined where everybody may. */
  readonly metricsToken?: string | undefined;
  /** Whether the fault endpoints are open. */
  readonly faults: boolean;
}

/**
 * Builds what the two services have in common: token, probes, call log and faults. It does not listen.
 *
 * @param probe a statement that fails where the database is away or not migrated.
 */
export function createServiceApp(
  deps: ServiceDeps,
  probe: string,
  addRoutes: (app: HttpApp, answerKeyedCall: AnswerKeyedCall) => void,
): HttpApp {
  const callLog = createCallLog();
  const faults = deps.faults ? createFaults() : undefined;
  return createHttpApp(deps.logger, (app) => {
    if (deps.token !== undefined) demandToken(app, deps.token);
    addProbes(app, deps.pool, probe);
    addMetricsRoute(app, { token: deps.metricsToken });
    app.get('/calls', { schema: { querystring: OrderQuery } }, (request) =>
      callLog.list(request.query.orderId),
    );
    if (faults !== undefined) addFaultRoutes(app, faults);
    addRoutes(app, createKeyedCalls(app, callLog, faults));
  });
}

function addProbes(app: HttpApp, pool: pg.Pool, probe: string): void {
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    try {
      await pool.query(probe);
    } catch (error) {
      throw unavailable('store-unavailable', error);
    }
    return { status: 'ok' };
  });
}

/** Anybody who can call the service can break it here: hence only where the configuration says so. */
function addFaultRoutes(app: HttpApp, faults: Faults): void {
  app.get('/faults', () => faults.list());
  app.put('/faults', { schema: { body: FaultList } }, (request) => {
    faults.replace(request.body);
    return faults.list();
  });
  app.delete('/faults', () => {
    faults.replace([]);
    return faults.list();
  });
  app.post('/faults/release', async () => ({ released: await faults.release() }));
  // Before the server waits for its open requests: those that are held would never end.
  app.addHook('preClose', (done) => {
    faults.close();
    done();
  });
}
