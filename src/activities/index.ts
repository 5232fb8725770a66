import type { OrderStore } from '../store/orders.js';
import type { Downstream } from './downstream.js';
import { createInventoryActivities } from './inventory.js';
import { createOrderActivities } from './orders.js';
import { createPaymentActivities } from './payment.js';

/** What the Schedules do; made by the process, which has a Temporal client. */
export interface Maintenance {
  /** One round over orders that may need help. @returns how many were found in which state. */
  readonly reconcile: () => Promise<Record<string, number>>;
  /** @returns how many claims were deleted. */
  readonly purge: () => Promise<number>;
}

export interface ActivityDependencies {
  readonly payment: Downstream;
  readonly inventory: Downstream;
  readonly orders: OrderStore;
  readonly maintenance: Maintenance;
}

export type Activities = ReturnType<typeof createActivities>;

/** Everything that the workflows do to the world. */
export function createActivities({
  payment,
  inventory,
  orders,
  maintenance,
}: ActivityDependencies) {
  return {
    ...createPaymentActivities(payment),
    ...createInventoryActivities(inventory),
    ...createOrderActivities(orders),
    ...maintenance,
  };
}
