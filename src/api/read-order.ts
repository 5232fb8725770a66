import type { FastifyRequest } from 'fastify';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import type { OpenOrderStore } from '../store/open-orders.js';
import type { OrderRow } from '../store/order-rows.js';
import type { OrderStore } from '../store/orders.js';
import type { Authentication } from './auth.js';
import { isOrderId } from './order-id.js';

/**
 * Reads the row of an order for whoever asks: a tenant its own, an operator any.
 *
 * @throws Problem `not-found`, the same for an unknown order and for that of another tenant.
 */
export type ReadOrder = (request: FastifyRequest, orderId: string) => Promise<OrderRow>;

export function createReadOrder(
  authentication: Authentication,
  store: OrderStore,
  openOrders: OpenOrderStore,
): ReadOrder {
  return async (request, orderId) => {
    const isOperator = authentication.operatorOf(request) !== undefined;
    const read = (): Promise<OrderRow | undefined> =>
      isOperator
        ? openOrders.readOfAnyTenant(orderId)
        : store.read(authentication.tenantOf(request), orderId);
    const row = isOrderId(orderId) ? await read() : undefined;
    if (row === undefined) throw new Problem(PROTOCOL_PROBLEMS['not-found']);
    return row;
  };
}
