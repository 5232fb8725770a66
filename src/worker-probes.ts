import type { FastifyBaseLogger } from 'fastify';
import { createHttpApp, RETRY_AFTER_SECONDS } from './http/app.js';
import type { HttpApp } from './http/app.js';
import { addMetricsRoute } from './metrics/route.js';
import type { WorkerRole } from './worker-role.js';

/** What can be asked of a worker that has a process of its own: whether it lives, works, and how it does. */
export function buildWorkerApp(
  logger: FastifyBaseLogger,
  worker: Pick<WorkerRole, 'isRunning' | 'metrics'>,
  metricsToken: string | undefined,
): HttpApp {
  return createHttpApp(logger, (app) => {
    app.get('/healthz', () => ({ status: 'alive' }));
    app.get('/readyz', (_request, reply) => {
      if (worker.isRunning()) return reply.send({ status: 'ready' });
      const headers = { 'cache-control': 'no-store', 'retry-after': String(RETRY_AFTER_SECONDS) };
      return reply.code(503).headers(headers).send({ status: 'not-ready' });
    });
    addMetricsRoute(app, { token: metricsToken, sources: [worker.metrics] });
  });
}
