import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

/** Resets a workflow to its first task, as `temporal workflow reset` does: it goes on in another run. */
export async function resetToStart(client: Client, workflowId: string): Promise<void> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const started = events?.find(({ workflowTaskStartedEventAttributes: task }) => Boolean(task));
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    reason: 'test',
    requestId: randomUUID(),
    // An int64 as a number: protobuf takes both, its types know only Long.
    workflowTaskFinishEventId: (Number(started?.eventId) + 1) as never,
  });
}
