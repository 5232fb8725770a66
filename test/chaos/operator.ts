import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { resetTo } from '../support/reset.js';
import type { RunningStack } from '../support/stack.js';
import type { Harm, PlannedHarm } from './plan.js';

export const repairOf = (orderId: string): string => `repair-${orderId}`;

/** Does one harm. @returns whether there was anything left to be harmed. */
export async function doHarm(
  stack: RunningStack,
  { harm, onRepair, point }: Pick<PlannedHarm, 'harm' | 'onRepair' | 'point'>,
  order: { readonly orderId: string; readonly sagaId: string },
): Promise<boolean> {
  if (harm === 'client-cancel') {
    const { status } = await stack.send(`/orders/${order.orderId}/cancel`);
    return status === 202;
  }
  const targets = onRepair ? [repairOf(order.orderId), order.sagaId] : [order.sagaId];
  for (const workflowId of targets) {
    try {
      await OPERATIONS[harm](stack.temporal, workflowId, point);
      return true;
    } catch {
      // Too late, or no such workflow: no error of the operator's.
    }
  }
  return false;
}

const OPERATIONS: Record<
  Exclude<Harm, 'client-cancel'>,
  (client: Client, workflowId: string, point: number) => Promise<unknown>
> = {
  terminate: (client, workflowId) =>
    client.workflow.getHandle(workflowId).terminate(`at random ${randomUUID()}`),
  cancel: (client, workflowId) => client.workflow.getHandle(workflowId).cancel(),
  reset: (client, workflowId, point) =>
    resetTo(client, workflowId, (points) => points[Math.round(point * (points.length - 1))]),
  delete: (client, workflowId) =>
    client.workflowService.deleteWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId },
    }),
};

/** How a workflow stands, by its newest run. */
export async function statusOf(client: Client, workflowId: string): Promise<string> {
  const described = await client.workflow
    .getHandle(workflowId)
    .describe()
    .catch(() => undefined);
  return described?.status.name ?? 'unknown';
}
