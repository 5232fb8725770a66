import { defineSearchAttributeKey } from '@temporalio/common';
import type { Memo, Start } from '../api/idempotency/start-once.js';
import type { Order } from '../domain/order.js';
import type { OrderOutcome } from '../domain/outcome.js';
import { ORDER_ID_ATTRIBUTE, ORDER_STATUS_ATTRIBUTE, PLACE_ORDER } from '../domain/place-order.js';
import type { ClaimRef, PlaceOrderInput } from '../domain/place-order.js';

const ORDER_ID = defineSearchAttributeKey(ORDER_ID_ATTRIBUTE, 'KEYWORD');
const ORDER_STATUS = defineSearchAttributeKey(ORDER_STATUS_ATTRIBUTE, 'KEYWORD');

/** What a person sees of an order in the Web UI from its first moment: the same for a repair of it. */
export function shownOf(order: Order) {
  return {
    typedSearchAttributes: [
      { key: ORDER_ID, value: order.orderId },
      { key: ORDER_STATUS, value: 'processing' },
    ],
    staticSummary: `${order.orderId}: ${order.amountMinor} ${order.currency} (minor units)`,
    staticDetails: detailsOf(order),
  };
}

/** The start of `placeOrder`. Its memo is kept apart, as the entry layer writes it. */
export function orderStart(
  input: PlaceOrderInput,
  taskQueue: string,
): Omit<Start, 'memo' | 'workflowId'> {
  return { workflowType: PLACE_ORDER, taskQueue, args: [input], ...shownOf(input.order) };
}

/** The claim that a workflow was started for, without the resource that it creates. */
export function claimOf({ tenant, scope, keyDigest, requestHash }: ClaimRef): ClaimRef {
  return { tenant, scope, keyDigest, requestHash };
}

export function memoOf({ tenant, scope, keyDigest, requestHash }: ClaimRef, orderId: string): Memo {
  return { tenant, scope, keyDigest, requestHash, resourceId: orderId };
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

/** Reads a workflow's result. @throws Error where a newer release wrote it: nothing may be saved then. */
export function asOutcome(result: unknown, workflowId: string): OrderOutcome {
  const version = (result as Partial<OrderOutcome> | null)?.answerVersion as unknown;
  if (version === 1) return result as OrderOutcome;
  throw new Error(`The result of the workflow ${workflowId} is of no version known here.`);
}
