import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  TemporalFailure,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.js';
import type { UnknownDetails } from '../activities/downstream.js';
import { FAILURES } from '../domain/failures.js';
import { LOCAL_ATTEMPT_MS, REPORT_MARGIN_MS } from '../domain/limits.js';
import type { Limits } from '../domain/place-order.js';
import { REFUSALS } from '../domain/step-table.js';

/** 500 ms before the second regular attempt: a restart takes about that long. */
const FIRST_BACKOFF_MS = 500;

/** 60 s between attempts at most: an outage of a day must not have thousands of undos knock each second. */
const MAX_BACKOFF_MS = 60_000;

/** 5 s, five heartbeats: finds a dead worker sooner than the attempt's own limit would. */
const HEARTBEAT_TIMEOUT_MS = 5_000;

/** 15 s a write: above the time a statement may take, so that Postgres says no before Temporal gives up. */
const WRITE_TIMEOUT_MS = 15_000;

const RETRY_FOR_EVER = { initialInterval: FIRST_BACKOFF_MS, maximumInterval: MAX_BACKOFF_MS };

/** Failures after which asking again is of no use. */
const DEFINITE: ReadonlySet<string | undefined> = new Set([
  ...REFUSALS.keys(),
  FAILURES.stepVoided,
  FAILURES.stepRejected,
]);

/**
 * Tells a failure of the world, that an activity ended with, from an error of our own. The failure of a
 * regular activity comes wrapped in an `ActivityFailure`, that of a local one bare (SDK 1.24).
 */
export const isActivityError = (error: unknown): error is TemporalFailure =>
  error instanceof TemporalFailure;

/** The type of the `ApplicationFailure` that ended an activity; undefined for a timeout and anything else. */
export function failureType(error: unknown): string | undefined {
  return applicationFailure(error)?.type ?? undefined;
}

/**
 * Makes a forward step, local first: one short attempt inside the workflow task, which spares the way
 * through the server, and on anything but a definite answer the regular activity, visible in the Web UI
 * and retried with the same key until the step's deadline. A worker that dies in the local attempt repeats
 * the whole task; the keys absorb it.
 *
 * @param summary shown beside the activity in the Web UI.
 * @throws TemporalFailure, a definite one as `failureType` tells, or another when the deadline has passed.
 * @throws CancelledFailure when the workflow was cancelled, after the attempt has ended.
 */
export async function attemptStep<T>(
  limits: Limits,
  summary: string,
  call: (activities: Activities) => Promise<T>,
): Promise<T> {
  const localMs = Math.min(LOCAL_ATTEMPT_MS, limits.stepTimeoutMs, limits.stepDeadlineMs);
  const local = proxyLocalActivities<Activities>({
    startToCloseTimeout: localMs + REPORT_MARGIN_MS,
    retry: { maximumAttempts: 1 },
    summary,
  });
  let remainingMs = limits.stepDeadlineMs - localMs;
  try {
    return await call(local);
  } catch (error) {
    if (!isActivityError(error) || isCancellation(error)) throw error;
    const failure = applicationFailure(error);
    if (DEFINITE.has(failure?.type ?? undefined)) throw error;
    // A service that says when to come back is not asked before.
    const details = failure?.details?.[0] as UnknownDetails | undefined;
    const waitMs = Math.min(details?.retryAfterMs ?? 0, remainingMs);
    if (waitMs > 0) await sleep(waitMs);
    remainingMs -= waitMs;
    if (remainingMs <= 0) throw error;
  }
  return call(patientActivities(limits, summary, remainingMs));
}

/**
 * Makes an undo: always a regular activity, retried until it is done, refused for good or out of time.
 *
 * @param deadlineMs all attempts together; undefined retries for ever.
 * @throws ActivityFailure, with `UndoRefused` as its cause where trying again is of no use.
 */
export function attemptUndo<T>(
  limits: Limits,
  summary: string,
  deadlineMs: number | undefined,
  call: (activities: Activities) => Promise<T>,
): Promise<T> {
  return call(patientActivities(limits, summary, deadlineMs));
}

/** Writes to the order's rows, local first, and retried until Postgres has it. */
export async function writeOrder<T>(
  summary: string,
  call: (activities: Activities) => Promise<T>,
): Promise<T> {
  try {
    return await call(
      proxyLocalActivities<Activities>({
        startToCloseTimeout: LOCAL_ATTEMPT_MS,
        retry: { maximumAttempts: 1 },
        summary,
      }),
    );
  } catch (error) {
    if (!isActivityError(error)) throw error;
  }
  return call(
    proxyActivities<Activities>({
      startToCloseTimeout: WRITE_TIMEOUT_MS,
      retry: RETRY_FOR_EVER,
      summary,
    }),
  );
}

function patientActivities(
  limits: Limits,
  summary: string,
  deadlineMs: number | undefined,
): Activities {
  return proxyActivities<Activities>({
    startToCloseTimeout: limits.stepTimeoutMs + REPORT_MARGIN_MS,
    ...(deadlineMs === undefined ? {} : { scheduleToCloseTimeout: deadlineMs }),
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: RETRY_FOR_EVER,
    // Written out: unset, SDK 1.24 acts as TRY_CANCEL, and the undo would overtake the call that it undoes.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary,
  });
}

function applicationFailure(error: unknown): ApplicationFailure | undefined {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  return failure instanceof ApplicationFailure ? failure : undefined;
}
