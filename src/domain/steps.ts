import { stepKeys } from './keys.js';
import { STEP_NAMES } from './order.js';
import type { CompensationState, StepName, StepRecord, StepState } from './order.js';
import type { OrderOutcome } from './outcome.js';

type Standing = readonly [StepState, CompensationState];

/** The steps of an order nothing was done for yet. */
export function pendingSteps(orderId: string): readonly StepRecord[] {
  return recordsOf(orderId, { payment: ['pending', 'none'], inventory: ['pending', 'none'] });
}

/**
 * The steps of an order as far as its outcome alone tells them, for a row whose own record is lost. Where
 * the outcome leaves open how far a step got, it is `unknown` and undone.
 */
export function stepsAfter(outcome: OrderOutcome, orderId: string): readonly StepRecord[] {
  return recordsOf(orderId, standingAfter(outcome));
}

function standingAfter(outcome: OrderOutcome): Readonly<Record<StepName, Standing>> {
  if (outcome.status === 'confirmed') {
    return { payment: ['done', 'none'], inventory: ['done', 'none'] };
  }
  switch (outcome.reason) {
    case 'payment-declined':
      return { payment: ['refused', 'none'], inventory: ['pending', 'none'] };
    case 'payment-unavailable':
      return { payment: ['unknown', 'done'], inventory: ['pending', 'done'] };
    case 'out-of-stock':
      return { payment: ['done', 'done'], inventory: ['refused', 'none'] };
    case 'inventory-unavailable':
      return { payment: ['done', 'done'], inventory: ['unknown', 'done'] };
    case 'order-cancelled':
      return { payment: ['unknown', 'done'], inventory: ['unknown', 'done'] };
    case 'resolved-by-operator':
      return { payment: ['unknown', 'resolved'], inventory: ['unknown', 'resolved'] };
  }
}

function recordsOf(
  orderId: string,
  standing: Readonly<Record<StepName, Standing>>,
): readonly StepRecord[] {
  const keys = stepKeys(orderId);
  return STEP_NAMES.map((name) => {
    const [state, compensationState] = standing[name];
    return { name, ...keys[name], state, compensationState };
  });
}
