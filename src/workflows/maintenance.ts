import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.js';

/** 10 minutes: a run of 500 orders takes seconds; one that hangs must make room for the next. */
const MAINTENANCE_TIMEOUT_MS = 600_000;

/** 30 s: both activities report life after each batch. */
const HEARTBEAT_TIMEOUT_MS = 30_000;

const { reconcile, purge } = proxyActivities<Activities>({
  startToCloseTimeout: MAINTENANCE_TIMEOUT_MS,
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  // Once: the Schedule comes again soon, and starts from what then is true.
  retry: { maximumAttempts: 1 },
});

/** Sees to it that every order ends, whatever cut it short. Run by a Schedule; harmless beside itself. */
export async function reconcileOrders(): Promise<Record<string, number>> {
  return reconcile();
}

/** Deletes finished claims that have expired. Run by a Schedule. */
export async function purgeClaims(): Promise<number> {
  return purge();
}
