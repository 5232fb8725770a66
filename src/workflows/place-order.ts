import {
  CancellationScope,
  CancelledFailure,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import { FAILURES } from '../domain/failures.js';
import type { CancelReason, OrderOutcome } from '../domain/outcome.js';
import type { PlaceOrderInput } from '../domain/place-order.js';
import type { Decision } from '../store/orders.js';
import { attemptStep, failureType, isActivityError } from './attempts.js';
import { CONFIRMED, openOrderRun } from './order-run.js';
import type { OrderStep } from './order-steps.js';

/** A definite no of the world, and the reason it gives the order. */
const REFUSALS: ReadonlyMap<string | undefined, CancelReason> = new Map([
  [FAILURES.paymentDeclined, 'payment-declined'],
  [FAILURES.outOfStock, 'out-of-stock'],
]);

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
    const { decision, isReset } = await decideToUndo(reasonOf(error));
    if (decision.decision === 'keep') return save(CONFIRMED);
    // An earlier run may have got further than this one. After a refusal none can have.
    if ((isReset || !input.isFirstStart) && !REFUSALS.has(failureType(error))) {
      steps.forEach(registerUndo);
    }
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
    return failed.unavailable;
  }
}

const isCancelled = (): boolean => CancellationScope.current().consideredCancelled;

function throwIfCancelled({ isCancelled: wasCancelled }: PlaceOrderInput): void {
  if (wasCancelled === true || isCancelled()) throw new CancelledFailure('The order was cancelled');
}
