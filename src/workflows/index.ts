/** Everything a worker can run; the names are the workflow types. */
export { placeOrder } from './place-order.js';
export { repairOrder } from './repair-order.js';
export { purgeClaims, reconcileOrders } from './maintenance.js';
