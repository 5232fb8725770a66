import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { Random } from './random.js';

/** `EVENT_TYPE_WORKFLOW_TASK_COMPLETED` in Temporal's API. */
const WORKFLOW_TASK_COMPLETED = 7;

/** Resets a workflow to a drawn one of its completed tasks, as an operator may; a closed one runs again from there. */
export async function resetWorkflow(
  client: Client,
  workflowId: string,
  random: Random,
): Promise<void> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const tasks = (events ?? []).filter(
    ({ eventType }) => Number(eventType) === WORKFLOW_TASK_COMPLETED,
  );
  const event = tasks[random.between(0, tasks.length - 1)];
  // A workflow that has not been worked on yet can't be set back.
  if (event === undefined) return;
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    reason: 'the hammer',
    requestId: randomUUID(),
    workflowTaskFinishEventId: event.eventId ?? null,
  });
}
