/** The keyed calls of an order, to the same services and under the same keys as ours. */
import { stepKeys } from '../../dist/domain/keys.js';

/** A definite no of a service: not to be retried. */
export class Refused extends Error {
  constructor(reason) {
    super(reason);
    this.name = 'Refused';
    this.reason = reason;
  }
}

export const CONFIRMED = { answerVersion: 1, status: 'confirmed' };
export const cancelled = (reason) => ({ answerVersion: 1, status: 'cancelled', reason });

export function createSteps({ paymentUrl, inventoryUrl }) {
  return {
    charge: ({ orderId, amount, currency, paymentMethod }) =>
      post(`${paymentUrl}/charges`, stepKeys(orderId).payment.key, {
        orderId,
        amount,
        currency,
        paymentMethod,
      }),
    refund: ({ orderId }) => {
      const { key, compensationKey } = stepKeys(orderId).payment;
      return post(`${paymentUrl}/refunds`, compensationKey, { orderId, chargeKey: key });
    },
    reserve: ({ orderId, items }) =>
      post(`${inventoryUrl}/reservations`, stepKeys(orderId).inventory.key, { orderId, items }),
  };
}

/** Node's own `fetch` keeps its connections alive. */
async function post(url, key, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });
  const document = await response.json();
  if (response.ok) return;
  const reason = String(document.type).replace('/problems/', '');
  if (response.status === 402 || response.status === 422) throw new Refused(reason);
  throw new Error(`${url} answered ${response.status} ${reason}`);
}
