import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * What this process counts, whichever roles it has. A label has a handful of values that we know beforehand: no order,
 * key, user, tenant or text of a client is ever one.
 */
export const registry = new Registry();

/** Seconds from a call's answer on the same machine to the longest that anybody waits. */
export const DURATION_BUCKETS_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** 100 ms: the usual 10 would wake an idle process a hundred times a second. */
const EVENT_LOOP_PRECISION_MS = 100;

let isProcessCounted = false;

/** The text of all metrics. What Node itself tells is looked at from the first time on: unread, it costs nothing. */
export async function metricsText(): Promise<string> {
  if (!isProcessCounted) {
    isProcessCounted = true;
    collectDefaultMetrics({
      register: registry,
      eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS,
    });
  }
  return registry.metrics();
}
