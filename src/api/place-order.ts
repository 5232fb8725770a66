import { defineSearchAttributeKey } from '@temporalio/common';
import { stepsAfter } from '../domain/steps.js';
import type { Order } from '../domain/order.js';
import type { OrderOutcome } from '../domain/outcome.js';
import { ORDER_ID_ATTRIBUTE, ORDER_STATUS_ATTRIBUTE, PLACE_ORDER } from '../domain/place-order.js';
import type { Limits, PlaceOrderInput } from '../domain/place-order.js';
import { orderInsert } from '../store/orders.js';
import type { OrderStore } from '../store/orders.js';
import type { Companion, Intent } from './idempotency/claims.js';
import type { Operation } from './idempotency/enter.js';
import type { Memo, Start } from './idempotency/start-once.js';
import { mintOrderId } from './order-id.js';
import { DEFAULT_CURRENCY, DEFAULT_ITEMS, DEFAULT_PAYMENT_METHOD } from './schemas.js';
import type { PlaceOrderBody } from './schemas.js';

const ORDER_ID = defineSearchAttributeKey(ORDER_ID_ATTRIBUTE, 'KEYWORD');
const ORDER_STATUS = defineSearchAttributeKey(ORDER_STATUS_ATTRIBUTE, 'KEYWORD');

export interface PlaceOrderDependencies {
  readonly store: OrderStore;
  readonly taskQueue: string;
  readonly limits: Limits;
}

/** What the entry layer has to know to place the order that a request asks for. */
export function placeOrderOperation(
  { store, taskQueue, limits }: PlaceOrderDependencies,
  intent: Intent,
  body: PlaceOrderBody,
): Operation {
  const { tenant, scope, keyDigest, requestHash, workflowId } = intent;
  const requested = (orderId: string): Order => orderOf(body, orderId, tenant);

  return {
    mintId: mintOrderId,
    companion: companionOf(intent, body),

    startOf: async (orderId, isNew) => {
      const stored = isNew ? undefined : await store.read(tenant, orderId);
      const order = stored?.order ?? requested(orderId);
      const claim = { tenant, scope, keyDigest, requestHash };
      return startOf({ inputVersion: 1, isFirstStart: isNew, order, claim, limits }, taskQueue);
    },

    saveResult: async (memo: Memo, result: unknown) => {
      const orderId = memo.resourceId;
      const outcome = asOutcome(result, workflowId);
      const stored = await store.read(tenant, orderId);
      await store.saveOutcome({
        order: stored?.order ?? requested(orderId),
        workflowId,
        steps: stepsAfter(outcome, orderId),
        claim: { tenant, scope, keyDigest, requestHash },
        claimTtlSeconds: limits.claimTtlSeconds,
        outcome,
      });
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

function startOf(input: PlaceOrderInput, taskQueue: string): Omit<Start, 'memo' | 'workflowId'> {
  const { order } = input;
  return {
    workflowType: PLACE_ORDER,
    taskQueue,
    args: [input],
    typedSearchAttributes: [
      { key: ORDER_ID, value: order.orderId },
      { key: ORDER_STATUS, value: 'processing' },
    ],
    staticSummary: `${order.orderId}: ${order.amountMinor} ${order.currency} (minor units)`,
    staticDetails: detailsOf(order),
  };
}

/** 20 lines: Temporal takes 20,000 bytes of details, and nobody reads more than a screen. */
const MAX_ITEM_LINES = 20;

function detailsOf({ orderId, amountMinor, currency, items }: Order): string {
  const lines = items
    .slice(0, MAX_ITEM_LINES)
    // SKUs are the client's text: kept from acting as Markdown.
    .map(({ sku, quantity }) => `- ${quantity} × \`${sku.replaceAll(/[`\s]/g, ' ')}\``);
  const rest = items.length - lines.length;
  return [
    `**Order \`${orderId}\`** of ${amountMinor} ${currency} (minor units): charge, then reserve.`,
    'A step that fails is undone together with those before it, newest first.',
    [...lines, ...(rest > 0 ? [`- and ${rest} more`] : [])].join('\n'),
  ].join('\n\n');
}

function asOutcome(result: unknown, workflowId: string): OrderOutcome {
  const version = (result as Partial<OrderOutcome> | null)?.answerVersion as unknown;
  if (version === 1) return result as OrderOutcome;
  throw new Error(`The result of the workflow ${workflowId} is of no version known here.`);
}
