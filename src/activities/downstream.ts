import { activityInfo, cancellationSignal, Context, heartbeat } from '@temporalio/activity';
import {
  ApplicationFailure,
  ApplicationFailureCategory,
  CancelledFailure,
} from '@temporalio/common';
import { FAILURES } from '../domain/failures.js';
import { REPORT_MARGIN_MS } from '../domain/limits.js';

/** A service of another team: where it is and how we show who we are. */
export interface Downstream {
  readonly baseUrl: string;
  /** Sent as a bearer token; undefined where the service asks for none. */
  readonly token: string | undefined;
}

/** The details of a `StepUnknown`, where the service said when to come back. */
export interface UnknownDetails {
  readonly retryAfterMs: number;
}

export interface KeyedCall {
  readonly path: string;
  /** Sent as `Idempotency-Key`. */
  readonly key: string;
  /** Byte-equal on every attempt: a service must not take a retry for another request. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer that came whole. */
export interface Answer {
  readonly status: number;
  /** The parsed body, undefined where it is no JSON object. */
  readonly document: Readonly<Record<string, unknown>> | undefined;
  /** The problem's slug, undefined where the answer is no problem document. */
  readonly problem: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/** One second: a cancel is heard at the next heartbeat, and a dead worker after five missed ones. */
const HEARTBEAT_INTERVAL_MS = 1_000;

/** 64 KiB: our services answer with some 300 bytes; more is not for us, and must not fill the memory. */
const MAX_ANSWER_BYTES = 65_536;

/** One hour: a service that asks for more would leave money in the air for longer than a person would. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Statuses that say nothing about whether the call took effect, or that an operator can heal. */
const UNKNOWN_STATUSES = new Set([401, 403, 408, 409, 425, 429]);

/**
 * Posts once with an idempotency key and returns what the service said, if it said something definite.
 *
 * The attempt ends with the activity's time limit or its cancellation, and then counts as unknown: the
 * call may have arrived.
 *
 * @throws ApplicationFailure `StepUnknown`, retried, where the answer is none: cut, late, unreadable,
 *   redirected or a status that may pass.
 * @throws CancelledFailure when the activity was cancelled.
 */
export async function callOnce(downstream: Downstream, call: KeyedCall): Promise<Answer> {
  const answer = await withAttemptLimits((signal) => post(downstream, call, signal));
  if (isDefinite(answer)) return answer;
  throw ApplicationFailure.create({
    type: FAILURES.stepUnknown,
    message: `${call.path} answered ${answer.status}${answer.problem === undefined ? '' : ` ${answer.problem}`}`,
    ...retryAfter(answer.retryAfterMs),
  });
}

/** Twice: the server reads the delay, and a workflow the details, as the SDK decodes no delay for it. */
function retryAfter(retryAfterMs: number | undefined) {
  return retryAfterMs === undefined
    ? {}
    : { nextRetryDelay: retryAfterMs, details: [{ retryAfterMs } satisfies UnknownDetails] };
}

/** A 2xx is not definite by itself: its reader checks that it is the documented one. */
function isDefinite({ status, problem }: Answer): boolean {
  if (status === 409) {
    return problem === 'idempotency-key-reused' || (problem?.endsWith('-voided') ?? false);
  }
  return (
    (status >= 200 && status < 300) ||
    (status >= 400 && status < 500 && !UNKNOWN_STATUSES.has(status))
  );
}

/** An answer that is not what the contract says, though its status is fine: it may have happened, so ask again. */
export function unreadable(call: KeyedCall, answer: Answer): ApplicationFailure {
  return ApplicationFailure.retryable(
    `${call.path} answered ${answer.status} with an unreadable body`,
    FAILURES.stepUnknown,
  );
}

/** A definite no of the world. It is no error of anyone, so it raises no error metric and no warning. */
export function refusal(type: string, message: string): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** Runs one attempt under one timer and one controller; reports life each second. */
async function withAttemptLimits<T>(attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { startToCloseTimeoutMs, isLocal } = activityInfo();
  const limitMs = startToCloseTimeoutMs - REPORT_MARGIN_MS;
  // Not AbortSignal.any: on Node 20 its timeout can be garbage-collected and never fire.
  const controller = new AbortController();
  const cancelled = cancellationSignal();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, limitMs);
  const beat = isLocal ? undefined : setInterval(() => heartbeat(), HEARTBEAT_INTERVAL_MS);
  cancelled.addEventListener('abort', abort, { once: true });
  try {
    if (cancelled.aborted) abort();
    return await attempt(controller.signal);
  } catch (cause) {
    if (Context.current().cancellationDetails?.cancelRequested === true) {
      throw new CancelledFailure('Cancelled while the call was under way');
    }
    if (cause instanceof ApplicationFailure) throw cause;
    const what = controller.signal.aborted
      ? cancelled.aborted
        ? 'the worker is shutting down'
        : `no answer within ${limitMs} ms`
      : messageOf(cause);
    throw ApplicationFailure.create({ type: FAILURES.stepUnknown, message: what });
  } finally {
    clearTimeout(timer);
    clearInterval(beat);
    cancelled.removeEventListener('abort', abort);
  }
}

async function post(downstream: Downstream, call: KeyedCall, signal: AbortSignal): Promise<Answer> {
  const response = await fetch(new URL(call.path, downstream.baseUrl), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': call.key,
      ...(downstream.token === undefined ? {} : { authorization: `Bearer ${downstream.token}` }),
    },
    body: JSON.stringify(call.body),
    // A redirect could carry the token and the order elsewhere.
    redirect: 'manual',
    signal,
  });
  const document = parseObject(await readText(response));
  const type = document?.['type'];
  return {
    status: response.status,
    document,
    problem:
      typeof type === 'string' && type.startsWith('/problems/')
        ? type.slice('/problems/'.length)
        : undefined,
    retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
  };
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3). */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const delayMs = /^[0-9]+$/.test(header)
    ? Number(header) * 1_000
    : Date.parse(header) - Date.now();
  if (Number.isNaN(delayMs)) return undefined;
  return Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS);
}

/** `fetch` hides what happened in the cause of its "fetch failed". */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = 'code' in cause && typeof cause.code === 'string' ? `${cause.code} ` : '';
  return `${error.message}: ${code}${cause.message}`;
}
