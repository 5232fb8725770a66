/**
 * Health check of the worker, which has no port: succeeds when Temporal has been polled by a worker of this host.
 *
 * Asks what counts, whether orders are taken, not whether a process is there: a worker that hangs or lost its
 * connection fails. A container's host name is its own, so it does not pass for another one.
 */
import { hostname } from 'node:os';
import { configOfProcess, processEnvironment } from '../../dist/config.js';
import { connectTemporal, temporalConfig } from '../../dist/temporal/connect.js';
import { withinTimeLimit } from '../../dist/temporal/time-limit.js';

/** 75 s: a worker polls again after a minute at most, while Temporal lists a dead one for five. */
const POLLER_AGE_MS = 75_000;
const CALL_TIMEOUT_MS = 5_000;

/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's API. */
const WORKFLOW_TASKS = 1;

const { taskQueue } = configOfProcess();
const { client, namespace, close } = connectTemporal(temporalConfig(processEnvironment()));
try {
  const { pollers } = await withinTimeLimit(client.connection, CALL_TIMEOUT_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: WORKFLOW_TASKS,
    }),
  );
  // The SDK's default identity is pid@host.
  const ours = pollers.filter(({ identity }) => identity.endsWith(`@${hostname()}`));
  const ages = ours.map(
    ({ lastAccessTime }) => Date.now() - Number(lastAccessTime.seconds) * 1_000,
  );
  if (!ages.some((age) => age <= POLLER_AGE_MS)) {
    throw new Error(`no worker of ${hostname()} has polled ${taskQueue} of late`);
  }
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
} finally {
  await close();
}
