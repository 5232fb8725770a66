import { activityInfo, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { FAILURES } from '../domain/failures.js';
import type { StepName } from '../domain/order.js';
import { measureAttempt, undos } from '../metrics/steps.js';
import { callOnce, refusal, unreadable } from './downstream.js';
import type { Answer, Downstream, KeyedCall } from './downstream.js';

/** What a step or an undo reports besides that it is done. */
export interface Attempts {
  /** Which attempt of the activity got the answer, from 1. */
  readonly attempts: number;
}

export interface ForwardCall extends KeyedCall {
  readonly step: StepName;
  /** Whether a 2xx is the documented answer to this very call. */
  readonly isDone: (answer: Answer) => boolean;
  /** The service's own problem that means no, and the failure it becomes; left out where it never says no. */
  readonly refusal?: { readonly problem: string; readonly failure: string };
}

export interface UndoCall extends KeyedCall {
  readonly step: StepName;
  /** The answer's `outcome` when this call found everything undone before. */
  readonly alreadyUndone: string;
  /** The other outcomes that mean undone. */
  readonly undone: readonly string[];
}

/**
 * Makes one forward call and sorts the answer: done, refused or unknown.
 *
 * @throws ApplicationFailure the refusal, or `StepVoided` where the key is barred (both final);
 *   `StepUnknown` (retried); `StepRejected` where the service does not understand us (our bug, final).
 */
export function forward(downstream: Downstream, call: ForwardCall): Promise<Attempts> {
  return measureAttempt(call.step, 'forward', () => tryForward(downstream, call));
}

async function tryForward(downstream: Downstream, call: ForwardCall): Promise<Attempts> {
  const answer = await callOnce(downstream, call);
  const { status, problem } = answer;
  if (status < 300) {
    if (call.isDone(answer)) return { attempts: activityInfo().attempt };
    throw unreadable(call, answer);
  }
  const isRefusal = (status === 402 || status === 422) && problem === call.refusal?.problem;
  if (isRefusal && call.refusal !== undefined) {
    throw refusal(call.refusal.failure, `${call.path} answered ${status} ${problem}`);
  }
  if (status === 409 && problem?.endsWith('-voided')) {
    throw refusal(FAILURES.stepVoided, `${call.path} answered 409 ${problem}`);
  }
  throw rejected(FAILURES.stepRejected, call, answer);
}

/**
 * Makes one undo call. Undone before is undone: it is said in the log and moves nothing.
 *
 * @throws ApplicationFailure `StepUnknown` (retried), or `UndoRefused` where the service will never do it
 *   (a person must look).
 */
export function undo(downstream: Downstream, call: UndoCall, what: string): Promise<Attempts> {
  return measureAttempt(call.step, 'undo', () => tryUndo(downstream, call, what));
}

async function tryUndo(downstream: Downstream, call: UndoCall, what: string): Promise<Attempts> {
  const answer = await callOnce(downstream, call);
  if (answer.status >= 300) {
    undos.inc({ step: call.step, outcome: 'refused' });
    throw rejected(FAILURES.undoRefused, call, answer);
  }
  const outcome = answer.document?.['outcome'];
  if (outcome === call.alreadyUndone) {
    log.info(`${what} skipped (already compensated)`, { key: call.key });
  } else if (typeof outcome !== 'string' || !call.undone.includes(outcome)) {
    throw unreadable(call, answer);
  }
  undos.inc({ step: call.step, outcome });
  return { attempts: activityInfo().attempt };
}

function rejected(type: string, call: KeyedCall, { status, problem }: Answer): ApplicationFailure {
  const message = `${call.path} answered ${status} ${problem ?? 'without a problem type'}`;
  log.error(message, { key: call.key, failure: type });
  return ApplicationFailure.nonRetryable(message, type);
}
