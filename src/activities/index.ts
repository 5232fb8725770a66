import type { OrderStore } from '../store/orders.js';
import type { Downstream } from './downstream.js';
import { createInventoryActivities } from './inventory.js';
import { createOrderActivities } from './orders.js';
import { createPaymentActivities } from './payment.js';

export interface ActivityDependencies {
  readonly payment: Downstream;
  readonly inventory: Downstream;
  readonly orders: OrderStore;
}

export type Activities = ReturnType<typeof createActivities>;

/** Everything that the workflows do to the world. */
export function createActivities({ payment, inventory, orders }: ActivityDependencies) {
  return {
    ...createPaymentActivities(payment),
    ...createInventoryActivities(inventory),
    ...createOrderActivities(orders),
  };
}
