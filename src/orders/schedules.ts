import { setTimeout } from 'node:timers/promises';
import { ScheduleAlreadyRunning } from '@temporalio/client';
import type { Client, ScheduleOptions } from '@temporalio/client';
import { TemporalTimeout, withinTimeLimit } from '../temporal/time-limit.js';

/**
 * 20 s: schedules live in Temporal, so they are lost with its data, and then nobody drives orders on. It costs four
 * calls; much longer, and an order that was lost with them would take longer than its client waits.
 */
const KEEP_INTERVAL_MS = 20_000;

/** 2 s before the next try where Temporal was away. */
const RETRY_MS = 2_000;

/** 10 s: two or three calls. */
const CALL_TIMEOUT_MS = 10_000;

export interface ScheduleIntervals {
  readonly taskQueue: string;
  readonly reconcileIntervalSeconds: number;
  readonly purgeIntervalSeconds: number;
}

/**
 * Sees to it that both schedules exist, with the intervals of this process: at start, and again and again,
 * as they may be lost. One each, however many processes do the same.
 *
 * @param signal ends it.
 */
export async function keepSchedules(
  client: Client,
  intervals: ScheduleIntervals,
  onError: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let waitMs = KEEP_INTERVAL_MS;
    try {
      await withinTimeLimit(client.connection, CALL_TIMEOUT_MS, () =>
        putSchedules(client, intervals),
      );
    } catch (error) {
      waitMs = RETRY_MS;
      if (!(error instanceof TemporalTimeout)) onError(error);
    }
    await setTimeout(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

async function putSchedules(client: Client, intervals: ScheduleIntervals): Promise<void> {
  const { taskQueue, reconcileIntervalSeconds, purgeIntervalSeconds } = intervals;
  await put(client, schedule('reconcileOrders', taskQueue, reconcileIntervalSeconds));
  await put(client, schedule('purgeClaims', taskQueue, purgeIntervalSeconds));
}

/** Named after its task queue: two stacks in one namespace must not drive each other's orders. */
function schedule(workflowType: string, taskQueue: string, everySeconds: number): ScheduleOptions {
  return {
    scheduleId: `${workflowType}-${taskQueue}`,
    spec: { intervals: [{ every: everySeconds * 1_000 }] },
    action: {
      type: 'startWorkflow',
      workflowType,
      workflowId: `${workflowType}-${taskQueue}`,
      taskQueue,
    },
    // A round that takes long makes the next superfluous; rounds missed in an outage need not be made up for.
    policies: { overlap: 'SKIP', catchupWindow: '1 minute' },
  };
}

async function put(client: Client, options: ScheduleOptions): Promise<void> {
  try {
    await client.schedule.create(options);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const { spec, action, policies } = options;
    const handle = client.schedule.getHandle(options.scheduleId);
    const current = await handle.describe();
    const [interval] = current.spec.intervals ?? [];
    const [wanted] = spec.intervals ?? [];
    if (interval?.every === wanted?.every) return;
    // A schedule that somebody has paused stays paused.
    await handle.update(({ state }) => ({ spec, action, policies: policies ?? {}, state }));
  }
}
