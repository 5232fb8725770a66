import { STEPS } from './step-table.js';
import type { StepName } from './step-table.js';

/** The forward key of a step and the key of its undo. */
export interface StepKeys {
  readonly key: string;
  readonly compensationKey: string;
}

/**
 * The downstream keys of one order: one per side effect, the same for as long as the order lives.
 *
 * Built from the order id, never from the run ID, the attempt or the clock: a retry, a worker crash and a
 * reset must all arrive downstream with the key of the first try, or money moves twice. A client's key that
 * is used again after its life is a new order with a new id, hence with new step keys.
 *
 * @param orderId `ORD-` and 32 hex digits.
 */
export function stepKeys(orderId: string): Readonly<Record<StepName, StepKeys>> {
  const entries = STEPS.map(({ name, word }) => [
    name,
    { key: `${orderId}:${word}`, compensationKey: `${orderId}:comp:${word}` },
  ]);
  return Object.fromEntries(entries) as Record<StepName, StepKeys>;
}
