import type { OrderOutcome } from '../domain/outcome.js';
import type { RepairOrderInput } from '../domain/place-order.js';
import { CONFIRMED, openOrderRun } from './order-run.js';

/**
 * Undoes an order whose `placeOrder` was closed before it could: terminated, timed out, or failed.
 *
 * It does not know how far the order got, and need not: every undo runs under the keys that `placeOrder`
 * would have used, one that finds nothing leaves a tombstone, and a call that is still under way is barred
 * by it. An order that was decided to be kept is left as it is.
 */
export async function repairOrder({
  workflowId,
  ...input
}: RepairOrderInput): Promise<OrderOutcome> {
  const { steps, progress, registerUndo, decideToUndo, save, end } = openOrderRun(
    input,
    workflowId,
  );
  for (const step of steps) {
    progress.update(step.name, { state: 'unknown' });
    registerUndo(step);
  }
  const { decision } = await decideToUndo('order-cancelled');
  if (decision.decision === 'keep') await save(CONFIRMED);
  return end(decision);
}
