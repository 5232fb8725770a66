import {
  ActivityFailure,
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  log,
  setHandler,
} from '@temporalio/workflow';
import type { Attempts } from '../activities/step.js';
import { FAILURES } from '../domain/failures.js';
import type { Intervention, Order, StepName } from '../domain/order.js';
import { RESOLVE_UNDO, RETRY_UNDO } from '../domain/place-order.js';
import type { Limits, OperatorCommand } from '../domain/place-order.js';
import { attemptUndo, failureType, writeOrder } from './attempts.js';
import type { OrderStep } from './order-steps.js';
import type { Progress } from './progress.js';

/** Tries a stuck undo again at once. */
export const retryUndo = defineSignal<[OperatorCommand]>(RETRY_UNDO);
/** Ends a stuck undo: a person has settled it by other means. */
export const resolveUndo = defineSignal<[OperatorCommand]>(RESOLVE_UNDO);

export interface UndoContext {
  readonly order: Order;
  readonly limits: Limits;
  readonly progress: Progress;
  /** Of the order, whichever workflow undoes it. */
  readonly workflowId: string;
}

/** Takes operators' signals, and returns what undoes one step until it is done or settled by a person. */
export function openUndos({ order, limits, progress, workflowId }: UndoContext) {
  const interventions: (Intervention & { readonly step: StepName })[] = [];
  const take = (action: Intervention['action'], { step, who, why }: OperatorCommand): void => {
    // Only a stuck undo needs a person; one that is on its way must not be declared settled.
    if (progress.find(step)?.compensationState !== 'stuck') {
      const { orderId } = order;
      log.warn('ignored an operator: this undo is not stuck', { orderId, step, action, who });
      return;
    }
    interventions.push({ step, action, who, why, at: new Date().toISOString() });
  };
  setHandler(retryUndo, (command) => take('retry', command));
  setHandler(resolveUndo, (command) => take('resolve', command));

  /**
   * Undoes one step. After `attentionAfterSeconds` of failing, or at once where the service refuses for
   * good, it asks for a person and calls `moveOn`; a failure that may pass goes on being retried meanwhile.
   */
  return async function undoStep(step: OrderStep, moveOn: () => void): Promise<void> {
    progress.update(step.name, { compensationState: 'running' });
    try {
      await attempt(step, limits.attentionAfterSeconds * 1_000);
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
      await askForPerson(step, error);
      moveOn();
      await retryOrWait(step, failureType(error) === FAILURES.undoRefused);
      return;
    }
    progress.update(step.name, { compensationState: 'done' });
  };

  function attempt(step: OrderStep, deadlineMs: number | undefined): Promise<Attempts> {
    return attemptUndo(limits, step.undoSummary, deadlineMs, step.undo);
  }

  async function askForPerson(step: OrderStep, error: ActivityFailure): Promise<void> {
    progress.update(step.name, { compensationState: 'stuck' });
    progress.enter('needs_attention');
    log.error('an undo needs a person', {
      orderId: order.orderId,
      step: step.name,
      amountAtRiskMinor: order.amountMinor,
      currency: order.currency,
      cause: error.cause?.message,
    });
    await recordAttention();
  }

  async function retryOrWait(step: OrderStep, refused: boolean): Promise<void> {
    let waiting = refused;
    for (;;) {
      const done = await (waiting ? untilAsked(step) : tryUntilAsked(step));
      const intervention = takeIntervention(step);
      if (done || intervention?.action === 'resolve') {
        progress.update(step.name, { compensationState: done ? 'done' : 'resolved' });
        return;
      }
      waiting = intervention === undefined;
      await recordAttention();
    }
  }

  async function untilAsked(step: OrderStep): Promise<boolean> {
    await condition(() => isAsked(step));
    return false;
  }

  /** Retries until done, refused for good, or an operator asks; a retry then need not wait out the backoff. */
  async function tryUntilAsked(step: OrderStep): Promise<boolean> {
    const scope = new CancellationScope();
    const attempted = { ended: false };
    const attempting = scope
      .run(() => attempt(step, undefined))
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof ActivityFailure || isCancellation(error)) return false;
          throw error;
        },
      )
      .finally(() => {
        attempted.ended = true;
      });
    await condition(() => attempted.ended || isAsked(step));
    // A person's word must not race an attempt: it is cancelled, and waited for.
    if (!attempted.ended) scope.cancel();
    return attempting;
  }

  function isAsked({ name }: OrderStep): boolean {
    return interventions.some(({ step }) => step === name);
  }

  function takeIntervention({ name }: OrderStep): Intervention | undefined {
    const index = interventions.findIndex(({ step }) => step === name);
    if (index < 0) return undefined;
    const [{ step, ...intervention }] = interventions.splice(index, 1) as [
      Intervention & { readonly step: StepName },
    ];
    const earlier = progress.find(step)?.interventions ?? [];
    progress.update(step, { interventions: [...earlier, intervention] });
    return intervention;
  }

  function recordAttention(): Promise<void> {
    const state = { order, workflowId, steps: progress.steps() };
    return writeOrder('show that a person is needed', (via) => via.recordAttention(state));
  }
}
