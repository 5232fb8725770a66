import {
  CancellationScope,
  CancelledFailure,
  isCancellation,
  log,
  workflowInfo,
} from '@temporalio/workflow';
import { FAILURES } from '../domain/failures.js';
import type { CancelReason, OrderOutcome } from '../domain/outcome.js';
import type { StepName } from '../domain/order.js';
import type { PlaceOrderInput } from '../domain/place-order.js';
import type { Decision } from '../store/orders.js';
import { attemptStep, failureType, isActivityError, writeOrder } from './attempts.js';
import { orderSteps } from './order-steps.js';
import type { OrderStep } from './order-steps.js';
import { openProgress } from './progress.js';
import { openSaga } from './saga.js';
import { openUndos } from './undo-step.js';

const CONFIRMED: OrderOutcome = { answerVersion: 1, status: 'confirmed' };

/** A definite no of the world, and the reason it gives the order. */
const REFUSALS: ReadonlyMap<string | undefined, CancelReason> = new Map([
  [FAILURES.paymentDeclined, 'payment-declined'],
  [FAILURES.outOfStock, 'out-of-stock'],
]);

/** Buys, or leaves no trace. "Failed" in the Web UI therefore means: a person must look. */
export async function placeOrder(input: PlaceOrderInput): Promise<OrderOutcome> {
  const { order, limits, claim } = input;
  const { workflowId, firstExecutionRunId } = workflowInfo();
  const steps = orderSteps(order);
  const progress = openProgress(order);
  const undoStep = openUndos({ order, limits, progress, workflowId });
  const saga = openSaga<StepName>();

  const decision = await buy().catch(followDecision);
  if (decision.decision === 'undo') {
    progress.enter('compensating');
    await saga.undoAll();
  }
  return end(decision);

  async function buy(): Promise<Decision> {
    for (const step of steps) {
      throwIfCancelled();
      // Registered before its step: a charge that timed out may still have happened.
      registerUndo(step);
      await attempt(step);
    }
    throwIfCancelled();
    // From here on a cancel changes nothing.
    return save(CONFIRMED);
  }

  async function attempt(step: OrderStep): Promise<void> {
    progress.update(step.name, { state: 'running' });
    try {
      const { attempts } = await attemptStep(limits, step.summary, step.forward);
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
    for (const step of saga.registered()) progress.update(step, { compensationState: 'pending' });
    const state = { order, workflowId, steps: progress.steps() };
    const { decision, isReset } = await CancellationScope.nonCancellable(() =>
      writeOrder('decide to undo', (via) =>
        via.decideToUndo({ ...state, reason, firstRunId: firstExecutionRunId }),
      ),
    );
    if (decision.decision === 'keep') return save(CONFIRMED);
    // An earlier run may have got further than this one. After a refusal none can have.
    if ((isReset || !input.isFirstStart) && !REFUSALS.has(failureType(error))) {
      steps.forEach(registerUndo);
    }
    return decision;
  }

  function registerUndo(step: OrderStep): void {
    saga.undoWith(step.name, (moveOn) => undoStep(step, moveOn));
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

  async function end(decision: Decision): Promise<OrderOutcome> {
    const outcome = decision.decision === 'keep' ? CONFIRMED : cancelled(decision.reason);
    if (outcome.status === 'cancelled') await save(outcome);
    progress.enter(outcome.status);
    log.info('order ended', { orderId: order.orderId, ...outcome });
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

  /** Shielded from cancellation: the end of an order is written, whoever calls it off meanwhile. */
  function save(outcome: OrderOutcome): Promise<Decision> {
    const { claimTtlSeconds } = limits;
    const record = { order, workflowId, steps: progress.steps(), claim, claimTtlSeconds, outcome };
    return CancellationScope.nonCancellable(() =>
      writeOrder(`save the outcome: ${outcome.status}`, (via) => via.recordOutcome(record)),
    );
  }
}

const isCancelled = (): boolean => CancellationScope.current().consideredCancelled;

function throwIfCancelled(): void {
  if (isCancelled()) throw new CancelledFailure('The order was cancelled');
}
