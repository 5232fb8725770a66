import type { CancelReason } from '../domain/outcome.js';
import type { Order, OrderItem, OrderStatus, StepRecord } from '../domain/order.js';

/** A row of `orders`, with the whole request: it is needed to start the workflow again. */
export interface OrderRow {
  readonly order: Order;
  readonly workflowId: string;
  /** Null when the row was rebuilt from Temporal, which never sees the user. */
  readonly userId: string | null;
  readonly status: OrderStatus;
  readonly decision: 'keep' | 'undo' | null;
  readonly reason: CancelReason | null;
  /** Null until the first decision. */
  readonly steps: readonly StepRecord[] | null;
  /** The workflow that undoes or undid the order: its own or a repair. Null until that is decided. */
  readonly undoneBy: string | null;
  readonly cancelRequestedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The order row that is written in one statement with its claim. `claim` is the claim's CTE. */
export function orderInsert(order: Order, workflowId: string, userId: string | null) {
  return {
    /** @param first number of the first free parameter. */
    sql: (first: number): string => {
      const p = (offset: number): string => `$${first + offset}`;
      return `insert into orders (order_id, tenant, workflow_id, user_id, amount_minor, currency, items, payment_method)
        select ${p(0)}, ${p(1)}, ${p(2)}, ${p(3)}, ${p(4)}::integer, ${p(5)}, ${p(6)}::jsonb, ${p(7)} from claim`;
    },
    values: [
      order.orderId,
      order.tenant,
      workflowId,
      userId,
      order.amountMinor,
      order.currency,
      JSON.stringify(order.items),
      order.paymentMethod,
    ],
  };
}

export interface Row {
  readonly order_id: string;
  readonly tenant: string;
  readonly workflow_id: string;
  readonly user_id: string | null;
  readonly amount_minor: number;
  readonly currency: string;
  readonly items: readonly OrderItem[];
  readonly payment_method: string;
  readonly status: OrderStatus;
  readonly decision: 'keep' | 'undo' | null;
  readonly reason: CancelReason | null;
  readonly steps: readonly StepRecord[] | null;
  readonly undone_by: string | null;
  readonly cancel_requested_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

export function toOrderRow(row: Row): OrderRow {
  return {
    order: {
      orderId: row.order_id,
      tenant: row.tenant,
      amountMinor: row.amount_minor,
      currency: row.currency,
      items: row.items,
      paymentMethod: row.payment_method,
    },
    workflowId: row.workflow_id,
    userId: row.user_id,
    status: row.status,
    decision: row.decision,
    reason: row.reason,
    steps: row.steps,
    undoneBy: row.undone_by,
    cancelRequestedAt: row.cancel_requested_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** The columns of an `OrderRow`; `o` is the table. */
export const ORDER_COLUMNS = `
  o.order_id, o.tenant, o.workflow_id, o.user_id, o.amount_minor, o.currency, o.items, o.payment_method,
  o.status, o.decision, o.reason, o.steps, o.undone_by, o.cancel_requested_at, o.created_at, o.updated_at`;
