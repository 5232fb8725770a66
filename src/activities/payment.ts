import { FAILURES } from '../domain/failures.js';
import type { Downstream } from './downstream.js';
import { forward, undo } from './step.js';
import type { Attempts } from './step.js';

export interface Charge {
  readonly key: string;
  readonly orderId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly paymentMethod: string;
}

export interface Refund {
  readonly key: string;
  readonly orderId: string;
  /** The forward key of the charge to undo, whether it arrived or not. */
  readonly chargeKey: string;
}

export function createPaymentActivities(payment: Downstream) {
  return {
    /** Charges once in effect, however often it is called. */
    chargePayment({
      key,
      orderId,
      amountMinor,
      currency,
      paymentMethod,
    }: Charge): Promise<Attempts> {
      return forward(payment, {
        step: 'payment',
        path: '/charges',
        key,
        body: { orderId, amount: amountMinor, currency, paymentMethod },
        isDone: ({ status, document }) =>
          status === 201 && document?.['chargeKey'] === key && document['amount'] === amountMinor,
        refusal: { problem: 'payment-declined', failure: FAILURES.paymentDeclined },
      });
    },

    /** Returns the charge, or bars it should it still be on its way. */
    refundPayment({ key, orderId, chargeKey }: Refund): Promise<Attempts> {
      return undo(
        payment,
        {
          step: 'payment',
          path: '/refunds',
          key,
          body: { orderId, chargeKey },
          alreadyUndone: 'already-refunded',
          undone: ['refunded', 'voided'],
        },
        'refund',
      );
    },
  };
}
