import { Counter } from 'prom-client';
import { registry } from './registry.js';

/** Calls and effects apart: a repeated call has none, and that is what keeps a charge single. */
export const serviceCalls = new Counter({
  name: 'order_saga_service_calls_total',
  help: 'Keyed calls that a service took, by whether this very call wrote a line of its ledger.',
  labelNames: ['operation', 'effect', 'status'],
  registers: [registry],
});
