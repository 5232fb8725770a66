import { stepKeys } from './keys.js';
import type { CompensationState, StepRecord, StepState } from './order.js';
import type { OrderOutcome } from './outcome.js';
import { STEPS } from './step-table.js';

type Standing = readonly [StepState, CompensationState];

/** The steps of an order nothing was done for yet. */
export function pendingSteps(orderId: string): readonly StepRecord[] {
  return recordsOf(orderId, () => ['pending', 'none']);
}

/**
 * The steps of an order as far as its outcome alone tells them, for a row whose own record is lost. Where
 * the outcome leaves open how far a step got, it is `unknown` and undone.
 */
export function stepsAfter(outcome: OrderOutcome, orderId: string): readonly StepRecord[] {
  if (outcome.status === 'confirmed') return recordsOf(orderId, () => ['done', 'none']);
  const { reason } = outcome;
  const refusing = STEPS.findIndex(({ refusal }) => refusal?.reason === reason);
  const failing = STEPS.findIndex(({ unavailable }) => unavailable === reason);
  return recordsOf(orderId, (index) => {
    if (refusing >= 0) return standing(index - refusing, ['refused', 'none'], ['pending', 'none']);
    if (failing >= 0) return standing(index - failing, ['unknown', 'done'], ['pending', 'done']);
    return ['unknown', reason === 'resolved-by-operator' ? 'resolved' : 'done'];
  });
}

/** Of a step `distance` behind the one that decided: those before it were done, and are undone. */
function standing(distance: number, decided: Standing, behind: Standing): Standing {
  if (distance < 0) return ['done', 'done'];
  return distance === 0 ? decided : behind;
}

function recordsOf(
  orderId: string,
  standingOf: (index: number) => Standing,
): readonly StepRecord[] {
  const keys = stepKeys(orderId);
  return STEPS.map(({ name }, index) => {
    const [state, compensationState] = standingOf(index);
    return { name, ...keys[name], state, compensationState };
  });
}
