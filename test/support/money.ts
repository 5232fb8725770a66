import type { RunningStack } from './stack.js';
import { until } from './until.js';

/** What an order holds of money and of goods, by the ledgers: what was taken less what was given back. */
export async function held(
  { payment, inventory }: Pick<RunningStack, 'payment' | 'inventory'>,
  orderId: string,
): Promise<{ readonly money: number; readonly reservations: number }> {
  const [charges, reservations] = await Promise.all([
    payment.ledger(orderId),
    inventory.ledger(orderId),
  ]);
  const money: Record<string, number> = { charge: 1, refund: -1, void: 0 };
  const goods: Record<string, number> = { reserve: 1, release: -1, void: 0 };
  return {
    money: charges.reduce((sum, { kind, amount }) => sum + (money[kind] ?? Number.NaN) * amount, 0),
    reservations: reservations.reduce((sum, { kind }) => sum + (goods[kind] ?? Number.NaN), 0),
  };
}

/** Waits until an order has ended. @returns its status. */
export async function ended(stack: Pick<RunningStack, 'get'>, orderId: string): Promise<string> {
  let status = '';
  await until(async () => {
    status = String((await stack.get(`/orders/${orderId}`)).json['status']);
    return status === 'confirmed' || status === 'cancelled';
  });
  return status;
}
