import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { CancelReason, OrderOutcome } from '../domain/outcome.js';
import type { StepName } from '../domain/order.js';
import type { PlaceOrderInput } from '../domain/place-order.js';
import type { Decision } from '../store/orders.js';
import { writeOrder } from './attempts.js';
import { orderSteps } from './order-steps.js';
import type { OrderStep } from './order-steps.js';
import { openProgress } from './progress.js';
import { openSaga } from './saga.js';
import { openUndos } from './undo-step.js';

export const CONFIRMED: OrderOutcome = { answerVersion: 1, status: 'confirmed' };

export type OrderRun = ReturnType<typeof openOrderRun>;

/**
 * What a workflow needs to end an order: its steps and their undos, the one decision, the saved outcome.
 * `placeOrder` goes forward with it, `repairOrder` only back.
 *
 * @param workflowId of the order, whichever workflow is running: the claim and the answer name it.
 */
export function openOrderRun({ order, limits, claim }: PlaceOrderInput, workflowId: string) {
  const steps = orderSteps(order);
  const progress = openProgress(order);
  const undoStep = openUndos({ order, limits, progress, workflowId });
  const saga = openSaga<StepName>();
  return { steps, progress, saga, registerUndo, decideToUndo, save, end };

  function registerUndo(step: OrderStep): void {
    saga.undoWith(step.name, (moveOn) => undoStep(step, moveOn));
  }

  /** Decides `undo`, unless `keep` was decided before; tells also whether this run follows a reset. */
  function decideToUndo(reason: CancelReason) {
    for (const step of saga.registered()) progress.update(step, { compensationState: 'pending' });
    const state = { order, workflowId, steps: progress.steps() };
    const { firstExecutionRunId } = workflowInfo();
    return CancellationScope.nonCancellable(() =>
      writeOrder('decide to undo', (via) =>
        via.decideToUndo({ ...state, reason, firstRunId: firstExecutionRunId }),
      ),
    );
  }

  /** Shielded from cancellation: the end of an order is written, whoever calls it off meanwhile. */
  function save(outcome: OrderOutcome): Promise<Decision> {
    const { claimTtlSeconds } = limits;
    const record = { order, workflowId, steps: progress.steps(), claim, claimTtlSeconds, outcome };
    return CancellationScope.nonCancellable(() =>
      writeOrder(`save the outcome: ${outcome.status}`, (via) => via.recordOutcome(record)),
    );
  }

  /** Does what was decided: nothing more for `keep`, every registered undo for `undo`. */
  async function end(decision: Decision): Promise<OrderOutcome> {
    if (decision.decision === 'undo') {
      progress.enter('compensating');
      await saga.undoAll();
    }
    const outcome = decision.decision === 'keep' ? CONFIRMED : cancelled(decision.reason);
    if (outcome.status === 'cancelled') await save(outcome);
    progress.enter(outcome.status);
    return outcome;
  }

  function cancelled(reason: CancelReason): OrderOutcome {
    const isResolved = progress
      .steps()
      .some(({ compensationState }) => compensationState === 'resolved');
    return {
      answerVersion: 1,
      status: 'cancelled',
      reason: isResolved ? 'resolved-by-operator' : reason,
    };
  }
}
