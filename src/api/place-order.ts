import type { Order } from '../domain/order.js';
import type { Limits } from '../domain/place-order.js';
import type { Healer } from '../orders/heal-order.js';
import { claimOf, orderStart } from '../orders/order-start.js';
import { orderInsert } from '../store/order-rows.js';
import type { OrderStore } from '../store/orders.js';
import type { Companion, Intent } from './idempotency/claims.js';
import type { Operation } from './idempotency/enter.js';
import type { Memo } from './idempotency/start-once.js';
import { mintOrderId } from './order-id.js';
import { DEFAULT_CURRENCY, DEFAULT_ITEMS, DEFAULT_PAYMENT_METHOD } from './schemas.js';
import type { PlaceOrderBody } from './schemas.js';

export interface PlaceOrderDependencies {
  readonly store: OrderStore;
  readonly healer: Healer;
  readonly taskQueue: string;
  readonly limits: Limits;
}

/** What the entry layer has to know to place the order that a request asks for. */
export function placeOrderOperation(
  { store, healer, taskQueue, limits }: PlaceOrderDependencies,
  intent: Intent,
  body: PlaceOrderBody,
): Operation {
  const { tenant, workflowId } = intent;
  const requested = (orderId: string): Order => orderOf(body, orderId, tenant);

  return {
    mintId: mintOrderId,
    companion: companionOf(intent, body),

    startOf: async (orderId, isNew) => {
      const stored = isNew ? undefined : await store.read(tenant, orderId);
      const order = stored?.order ?? requested(orderId);
      const claim = claimOf(intent);
      const isCancelled = stored !== undefined && stored.cancelRequestedAt !== null;
      const input = { inputVersion: 1, isFirstStart: isNew, order, claim, limits } as const;
      return orderStart(isCancelled ? { ...input, isCancelled } : input, taskQueue);
    },

    saveResult: async (memo: Memo, result: unknown) => {
      const stored = await store.read(tenant, memo.resourceId);
      const order = stored?.order ?? requested(memo.resourceId);
      await healer.saveOutcome({ order, workflowId }, { memo, result });
    },
  };
}

/** The defaults are filled in here, after the fingerprint was taken of what was sent. */
function orderOf(body: PlaceOrderBody, orderId: string, tenant: string): Order {
  return {
    orderId,
    tenant,
    amountMinor: body.amount,
    currency: body.currency ?? DEFAULT_CURRENCY,
    items: body.items ?? DEFAULT_ITEMS,
    paymentMethod: body.paymentMethod ?? DEFAULT_PAYMENT_METHOD,
  };
}

/** The order row, which has the whole request: written with the claim, for the workflow may have to start later. */
function companionOf({ tenant, workflowId }: Intent, body: PlaceOrderBody): Companion {
  return {
    insert: (orderId) => {
      const row = orderInsert(orderOf(body, orderId, tenant), workflowId, body.userId);
      return {
        sql: (first) => `${row.sql(first)} on conflict (order_id) do nothing`,
        values: row.values,
      };
    },
    deleteUnused: (kept) => ({
      sql: (first) =>
        `delete from orders where tenant = $${first} and workflow_id = $${first + 1}
           and order_id <> $${first + 2} and decision is null and exists (select from claim)`,
      values: [tenant, workflowId, kept],
    }),
  };
}
