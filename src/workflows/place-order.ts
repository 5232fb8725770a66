import {
  CancellationScope,
  CancelledFailure,
  isCancellation,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import { FAILURES } from '../domain/failures.js';
import type { CancelReason, OrderOutcome } from '../domain/outcome.js';
import type { PlaceOrderInput } from '../domain/place-order.js';
import { REFUSALS, STEP_TABLE } from '../domain/step-table.js';
import type { Decision } from '../store/orders.js';
import { attemptStep, failureType, isActivityError } from './attempts.js';
import { CONFIRMED, openOrderRun } from './order-run.js';
import type { OrderStep } from './order-steps.js';

/**
 * Since this patch every undo runs, unless a service has refused: a workflow task that was lost, with its worker
 * or to a time-out, may have called further steps than its repetition gets to where a cancel is seen first.
 */
const UNDO_EVERY_STEP = 'undo-every-step';

/** Buys, or leaves no trace. "Failed" in the Web UI therefore means: a person must look. */
export async function placeOrder(input: PlaceOrderInput): Promise<OrderOutcome> {
  const { steps, progress, saga, registerUndo, decideToUndo, save, end } = openOrderRun(
    input,
    workflowInfo().workflowId,
  );
  return end(await buy().catch(followDecision));

  async function buy(): Promise<Decision> {
    for (const step of steps) {
      throwIfCancelled(input);
      // Registered before its step: a charge that timed out may still have happened.
      registerUndo(step);
      await attempt(step);
    }
    throwIfCancelled(input);
    // From here on a cancel changes nothing.
    return save(CONFIRMED);
  }

  async function attempt(step: OrderStep): Promise<void> {
    progress.update(step.name, { state: 'running' });
    try {
      const { attempts } = await attemptStep(input.limits, step.summary, step.forward);
      progress.update(step.name, { state: 'done', attempts });
    } catch (error) {
      const refused = REFUSALS.has(failureType(error));
      progress.update(step.name, { state: refused ? 'refused' : 'unknown' });
      // The service remembers its refusal under the key, so an earlier attempt that is late gets it too.
      if (refused) saga.forget(step.name);
      throw error;
    }
  }

  /** Decides `undo` before the first undo; where another run of this order kept it, follows that. */
  async function followDecision(error: unknown): Promise<Decision> {
    const reason = reasonOf(error);
    // Refused for all that this order ever calls: the service remembers it.
    const isRefused = REFUSALS.has(failureType(error));
    const undoesAll = !isRefused && patched(UNDO_EVERY_STEP);
    if (undoesAll) steps.forEach(registerUndo);
    const { decision, isReset } = await decideToUndo(reason);
    if (decision.decision === 'keep') return save(CONFIRMED);
    // As orders go on that had come this far before the patch: an earlier run may have got further.
    const mayBeBehind = isReset || !input.isFirstStart;
    if (!isRefused && !undoesAll && mayBeBehind) steps.forEach(registerUndo);
    return decision;
  }

  /** @throws error where it is no failure of the world: our bug fails the workflow task and undoes nothing. */
  function reasonOf(error: unknown): CancelReason {
    const refused = REFUSALS.get(failureType(error));
    if (refused !== undefined) return refused;
    if (isCancellation(error) || isCancelled()) return 'order-cancelled';
    if (!isActivityError(error)) throw error;
    // A barred key means that it was undone before: the reason is in the row.
    if (failureType(error) === FAILURES.stepVoided) return 'order-cancelled';
    const failed = steps.find(({ name }) => progress.find(name)?.state === 'unknown');
    if (failed === undefined) throw error;
    return STEP_TABLE[failed.name].unavailable;
  }
}

const isCancelled = (): boolean => CancellationScope.current().consideredCancelled;

function throwIfCancelled({ isCancelled: wasCancelled }: PlaceOrderInput): void {
  if (wasCancelled === true || isCancelled()) throw new CancelledFailure('The order was cancelled');
}
