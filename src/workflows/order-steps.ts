import type { Activities } from '../activities/index.js';
import type { Attempts } from '../activities/step.js';
import { stepKeys } from '../domain/keys.js';
import type { Order, OrderItem, StepName } from '../domain/order.js';

/** One step of an order with its undo: what is called, under which key, and what its failure means. */
export interface OrderStep {
  readonly name: StepName;
  /** Shown beside the activity in the Web UI. */
  readonly summary: string;
  readonly forward: (activities: Activities) => Promise<Attempts>;
  readonly undoSummary: string;
  readonly undo: (activities: Activities) => Promise<Attempts>;
}

/** The steps of an order, in their order; the undos run the other way round. */
export function orderSteps(order: Order): readonly OrderStep[] {
  const { orderId, amountMinor, currency, paymentMethod, items } = order;
  const keys = stepKeys(orderId);
  const pieces = describe(items);
  return [
    {
      name: 'payment',
      summary: `charge ${amountMinor} ${currency} under ${keys.payment.key}`,
      forward: (via) =>
        via.chargePayment({
          key: keys.payment.key,
          orderId,
          amountMinor,
          currency,
          paymentMethod,
        }),
      undoSummary: `refund ${amountMinor} ${currency} under ${keys.payment.compensationKey}`,
      undo: (via) =>
        via.refundPayment({
          key: keys.payment.compensationKey,
          orderId,
          chargeKey: keys.payment.key,
        }),
    },
    {
      name: 'inventory',
      summary: `reserve ${pieces} under ${keys.inventory.key}`,
      forward: (via) => via.reserveInventory({ key: keys.inventory.key, orderId, items }),
      undoSummary: `release ${pieces} under ${keys.inventory.compensationKey}`,
      undo: (via) =>
        via.releaseInventory({
          key: keys.inventory.compensationKey,
          orderId,
          reservationKey: keys.inventory.key,
        }),
    },
  ];
}

/** Short, as Temporal limits a summary to 400 bytes: a hundred items would not fit. */
function describe(items: readonly OrderItem[]): string {
  const [first] = items;
  const more = items.length > 1 ? ` and ${items.length - 1} more` : '';
  return first === undefined ? 'nothing' : `${first.quantity} × ${first.sku}${more}`;
}
