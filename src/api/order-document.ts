import type { Client } from '@temporalio/client';
import { isFinal } from '../domain/order.js';
import { ORDER_PROGRESS } from '../domain/place-order.js';
import type { OrderProgress } from '../domain/place-order.js';
import { pendingSteps } from '../domain/steps.js';
import type { OrderRow } from '../store/order-rows.js';
import { boundedCall } from '../temporal/bounded-call.js';

/** 500 ms: the row has the answer; a worker that is slower than this only keeps the reader waiting. */
const QUERY_TIMEOUT_MS = 500;

export interface OrderDocuments {
  readonly client: Client;
  readonly namespace: string;
  /** Base address of the Temporal Web UI; undefined where there is none to link to. */
  readonly temporalUiUrl: string | undefined;
}

/**
 * An order as `GET /orders/{orderId}` shows it: the row, and for an open order what its workflow knows
 * beyond it. `reason` is null until the order is cancelled.
 */
export async function orderDocument(
  documents: OrderDocuments,
  row: OrderRow,
): Promise<OrderDocument> {
  const progress = isFinal(row.status) ? undefined : await progressOf(documents.client, row);
  return documentOfRow(documents, row, progress);
}

export type OrderDocument = ReturnType<typeof documentOfRow>;

/** The same document as far as the row has it, which is all of it once the order has ended. */
export function documentOfRow(
  { namespace, temporalUiUrl }: OrderDocuments,
  row: OrderRow,
  progress?: OrderProgress,
) {
  const { order, workflowId } = row;
  // Only the row says that an order has ended: until it is written, no answer is.
  const status = progress === undefined || isFinal(progress.status) ? row.status : progress.status;
  return {
    orderId: order.orderId,
    sagaId: workflowId,
    status,
    userId: row.userId,
    amount: order.amountMinor,
    currency: order.currency,
    items: order.items,
    steps: progress?.steps ?? row.steps ?? pendingSteps(order.orderId),
    reason: status === 'cancelled' ? row.reason : null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    temporalUi:
      temporalUiUrl === undefined
        ? null
        : `${temporalUiUrl.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`,
  };
}

/**
 * What the workflow knows of an open order beyond the row.
 *
 * @returns undefined where nobody answers in time: no worker, no Temporal, or a run it forgot.
 */
export async function progressOf(
  client: Client,
  { undoneBy, workflowId }: OrderRow,
): Promise<OrderProgress | undefined> {
  // A repair knows more of an order that it undoes than the workflow that was cut short.
  const handle = client.workflow.getHandle(undoneBy ?? workflowId);
  try {
    return await boundedCall(client.connection, QUERY_TIMEOUT_MS, () =>
      handle.query<OrderProgress>(ORDER_PROGRESS),
    );
  } catch {
    return undefined;
  }
}
