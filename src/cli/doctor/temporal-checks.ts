import { ScheduleNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { Config } from '../../config.js';
import { missingSearchAttributes, registerCommand } from '../../temporal/search-attributes.js';
import { withinTimeLimit } from '../../temporal/time-limit.js';
import { check, fail, ok, warn } from './check.js';
import type { Check, Found } from './check.js';

const ANSWER_LIMIT_MS = 5_000;

/** 75 s: a worker polls again after a minute at most, while Temporal lists a dead one for five. */
const POLLER_AGE_MS = 75_000;

const UNREACHABLE =
  'See that Temporal runs, and TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and its credentials.';

/** Temporal: the namespace and how long it remembers, what we search by, who works, and what runs by itself. */
export function temporalChecks(
  client: Client,
  namespace: string,
  config: Config,
): readonly Promise<Check>[] {
  const ask = <T>(call: () => Promise<T>): Promise<T> =>
    withinTimeLimit(client.connection, ANSWER_LIMIT_MS, call);
  const { taskQueue, idempotencyTtlSeconds } = config;

  return [
    check('retention', UNREACHABLE, async () => {
      const { config: kept } = await ask(() =>
        client.workflowService.describeNamespace({ namespace }),
      );
      const seconds = Number(kept?.workflowExecutionRetentionTtl?.seconds ?? 0);
      const compared = `namespace ${namespace} remembers for ${seconds} s, a key lives ${idempotencyTtlSeconds} s`;
      if (seconds >= idempotencyTtlSeconds) return ok(compared);
      return warn(
        compared,
        `temporal operator namespace update --namespace ${namespace} --retention ${idempotencyTtlSeconds}s`,
      );
    }),
    check('search attributes', UNREACHABLE, async () => {
      const missing = await ask(() => missingSearchAttributes(client.connection, namespace));
      if (missing.length === 0) return ok('registered');
      return fail(`not registered: ${missing.join(', ')}`, registerCommand(namespace));
    }),
    check('worker', UNREACHABLE, async () => {
      const { pollers } = await ask(() =>
        client.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: taskQueue },
          taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        }),
      );
      const recent = pollers.filter(
        ({ lastAccessTime }) =>
          Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1_000 <= POLLER_AGE_MS,
      );
      if (recent.length > 0)
        return ok(`${recent.length} polled ${taskQueue} within ${POLLER_AGE_MS / 1_000} s`);
      return fail(
        `none polled ${taskQueue} within ${POLLER_AGE_MS / 1_000} s`,
        'Start one: npm run start:worker. Orders are taken and wait meanwhile.',
      );
    }),
    ...['reconcileOrders', 'purgeClaims'].map((type) =>
      check(`schedule ${type}`, UNREACHABLE, () => ask(() => schedule(client, type, taskQueue))),
    ),
  ];
}

async function schedule(client: Client, type: string, taskQueue: string): Promise<Found> {
  const scheduleId = `${type}-${taskQueue}`;
  try {
    const { state, info, spec } = await client.schedule.getHandle(scheduleId).describe();
    const everyMs = spec.intervals?.[0]?.every ?? 0;
    if (state.paused) {
      return warn(
        `${scheduleId} is paused`,
        `temporal schedule toggle --unpause -s ${scheduleId} --reason …`,
      );
    }
    const last = info.recentActions.at(-1)?.takenAt.toISOString() ?? 'not yet';
    return ok(`runs each ${everyMs / 1_000} s, last ${last}`);
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
    return fail(
      `${scheduleId} is missing`,
      'A worker makes it within 20 s of its start: start one.',
    );
  }
}
