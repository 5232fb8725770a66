import { Counter, Histogram } from 'prom-client';
import type { HttpApp } from '../http/app.js';
import type { ProblemType } from '../http/problem.js';
import { DURATION_BUCKETS_SECONDS, registry } from './registry.js';

const requestSeconds = new Histogram({
  name: 'order_saga_http_request_duration_seconds',
  help: 'Requests by route, from their head to the end of the answer; a stream of events lasts as long as it is read.',
  labelNames: ['method', 'route', 'status'],
  buckets: DURATION_BUCKETS_SECONDS,
  registers: [registry],
});

const conflicts = new Counter({
  name: 'order_saga_conflicts_total',
  help: 'Requests answered 409, by the slug of the problem.',
  labelNames: ['slug'],
  registers: [registry],
});

const problems = new Counter({
  name: 'order_saga_problems_total',
  help: 'Requests answered with a problem that is no outcome of an order, by its slug.',
  labelNames: ['slug', 'status'],
  registers: [registry],
});

export const replays = new Counter({
  name: 'order_saga_replays_total',
  help: 'Final answers given to another request than the one that started the order.',
  registers: [registry],
});

/** Measures every request by its route; what is no route of ours counts as one. */
export function measureRequests(app: HttpApp): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    const labels = { method, route: routeOptions.url ?? 'none', status: reply.statusCode };
    requestSeconds.observe(labels, reply.elapsedTime / 1_000);
    done();
  });
}

export function countProblem({ slug, status }: ProblemType): void {
  problems.inc({ slug, status });
  if (status === 409) conflicts.inc({ slug });
}
