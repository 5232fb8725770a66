import { Counter, Histogram } from 'prom-client';
import { OUTCOME_PROBLEMS } from '../domain/outcome.js';
import { DURATION_BUCKETS_SECONDS, registry } from './registry.js';

/** What a request with a key met. */
export const CLAIM_KINDS = [
  'new',
  'replayed',
  'in-progress',
  'driven-on',
  'conflict',
  'engine-unavailable',
] as const;
export type ClaimKind = (typeof CLAIM_KINDS)[number];

export const claims = new Counter({
  name: 'order_saga_claims_total',
  help: 'Requests with a key by what they met: nothing, an answer, a running order, one to be driven on, another body.',
  labelNames: ['kind'],
  registers: [registry],
});

export const ordersEnded = new Counter({
  name: 'order_saga_orders_ended_total',
  help: 'Orders that ended, each counted once, by the process that saved the answer.',
  labelNames: ['outcome', 'reason'],
  registers: [registry],
});

export const orderSeconds = new Histogram({
  name: 'order_saga_order_duration_seconds',
  help: 'Orders from their claim to their saved answer.',
  labelNames: ['outcome'],
  // Up to the day that an order may wait for a person.
  buckets: [...DURATION_BUCKETS_SECONDS, 300, 1_800, 14_400, 86_400],
  registers: [registry],
});

export const attentionOrders = new Counter({
  name: 'order_saga_attention_orders_total',
  help: 'Orders one of whose undos came to need a person, each time that it did.',
  registers: [registry],
});

export const healedOrders = new Counter({
  name: 'order_saga_healed_orders_total',
  help: 'Orders that the reconciler found cut short, by what it did for them.',
  labelNames: ['what'],
  registers: [registry],
});

// Shown as 0 from the start: a rate needs a value before the first one.
for (const kind of CLAIM_KINDS) claims.inc({ kind }, 0);
ordersEnded.inc({ outcome: 'confirmed', reason: 'none' }, 0);
for (const reason of Object.keys(OUTCOME_PROBLEMS)) {
  ordersEnded.inc({ outcome: 'cancelled', reason }, 0);
}
for (const what of ['saved', 'repairing', 'started', 'unused', 'orphaned', 'restored', 'failed']) {
  healedOrders.inc({ what }, 0);
}
