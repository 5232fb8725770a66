import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

/** Resets a workflow to its first task, as `temporal workflow reset` does: it goes on in another run. */
export function resetToStart(client: Client, workflowId: string): Promise<void> {
  return resetTo(client, workflowId, ([first]) => first);
}

/**
 * Resets a workflow to one of its workflow tasks.
 *
 * @param pick chooses among the event ids that its newest run can be reset to, oldest first.
 */
export async function resetTo(
  client: Client,
  workflowId: string,
  pick: (points: readonly number[]) => number | undefined,
): Promise<void> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const last = Number(events?.at(-1)?.eventId);
  // The event after a task's start is its end; a task under way has none yet.
  const points = (events ?? [])
    .filter(({ workflowTaskStartedEventAttributes: task }) => Boolean(task))
    .map(({ eventId }) => Math.min(Number(eventId) + 1, last));
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    reason: 'test',
    requestId: randomUUID(),
    // An int64 as a number: protobuf takes both, its types know only Long.
    workflowTaskFinishEventId: pick(points) as never,
  });
}
