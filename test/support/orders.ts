import { createHash, randomUUID } from 'node:crypto';
import type { Order } from '../../src/domain/order.js';
import type { Limits, PlaceOrderInput } from '../../src/domain/place-order.js';

export const LIMITS: Limits = {
  stepTimeoutMs: 10_000,
  stepDeadlineMs: 300_000,
  attentionAfterSeconds: 900,
  claimTtlSeconds: 86_400,
};

/** A new order that nobody has seen. */
export function anOrder(change: Partial<Order> = {}): Order {
  return {
    orderId: `ORD-${randomUUID().replaceAll('-', '')}`,
    tenant: 'demo',
    amountMinor: 1_000,
    currency: 'JPY',
    items: [{ sku: 'DEFAULT', quantity: 1 }],
    paymentMethod: 'pm_ok',
    ...change,
  };
}

export function anInput(order: Order = anOrder(), limits: Partial<Limits> = {}): PlaceOrderInput {
  return {
    inputVersion: 1,
    isFirstStart: true,
    order,
    claim: {
      tenant: order.tenant,
      scope: 'POST:/orders',
      keyDigest: hex(`key of ${order.orderId}`),
      requestHash: hex(`request of ${order.orderId}`),
    },
    limits: { ...LIMITS, ...limits },
  };
}

export const workflowIdOf = (order: Order): string => `order-${hex(order.orderId).slice(0, 32)}`;

const hex = (text: string): string => createHash('sha256').update(text).digest('hex');
