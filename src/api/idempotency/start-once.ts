import {
  isGrpcServiceError,
  NamespaceNotFoundError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { boundedCall } from '../../temporal/bounded-call.js';
import { TemporalTimeout } from '../../temporal/time-limit.js';

/** 5 s: a client behind a hanging Temporal must hear "503, repeat it"; the start may still happen, the claim stays. */
const CALL_TIMEOUT_MS = 5_000;

/** 5 s instead of Temporal's 10: a worker killed in a local step is noticed within a client's patience. */
const WORKFLOW_TASK_TIMEOUT = '5s';

/** 3 rounds: each is lost only when a workflow is deleted between the start that met it and the look at it. */
const MAX_ROUNDS = 3;

/** What a workflow keeps about the claim it was started for. It outranks the claim's row, which may be lost. */
export interface Memo {
  readonly tenant: string;
  readonly scope: string;
  readonly keyDigest: string;
  readonly requestHash: string;
  readonly resourceId: string;
}

/** A workflow to be started for one claim. */
export interface Start {
  readonly workflowId: string;
  readonly workflowType: string;
  readonly taskQueue: string;
  readonly args: unknown[];
  readonly memo: Memo;
  readonly typedSearchAttributes: SearchAttributePair[];
  /** One line and some Markdown for people in the Web UI; neither keys nor user data. */
  readonly staticSummary: string;
  readonly staticDetails: string;
}

/** A workflow that Temporal knows, whichever its run: a reset makes a new one. */
export type Found =
  | { readonly kind: 'running'; readonly memo: Memo }
  | { readonly kind: 'completed'; readonly memo: Memo; readonly result: unknown }
  /** Failed, terminated, timed out or cancelled: it says nothing about what was done. */
  | { readonly kind: 'closed-without-result'; readonly memo: Memo; readonly status: string };

export type LookUp = Found | { readonly kind: 'unknown' };

/** Thrown when Temporal can't be reached or asked now, so that the same call may succeed later. */
export class EngineUnavailable extends Error {
  constructor(cause: unknown) {
    super('Temporal gave no usable answer in time.', { cause });
    this.name = 'EngineUnavailable';
  }
}

/** Whether Temporal gave no usable answer in time, by a call of this module or one bounded by `boundedCall`. */
export const isEngineUnavailable = (error: unknown): boolean =>
  error instanceof EngineUnavailable || isPassing(error);

/**
 * Starts a workflow unless one with its ID was ever started, as far back as Temporal remembers.
 *
 * It has no execution and no run timeout: one would close it without a chance to undo.
 *
 * @param eagerClient on the connection of a worker in this process, which gets the first task with the start.
 * @throws EngineUnavailable where it is not known whether the workflow was started.
 */
export async function startOnce(
  client: Client,
  start: Start,
  eagerClient?: Client,
): Promise<{ readonly kind: 'started' } | Found> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    if (await tryStart(eagerClient ?? client, start, eagerClient !== undefined))
      return { kind: 'started' };
    const found = await lookUp(client, start.workflowId);
    if (found.kind !== 'unknown') return found;
  }
  throw new EngineUnavailable(new Error('the workflow is deleted again and again'));
}

/**
 * Tells what has become of a workflow: the one place that reads an "already started".
 *
 * Asks without a run ID, so that a run made by a reset is seen, and with describe rather than a list,
 * which lags behind.
 *
 * @throws EngineUnavailable
 */
export function lookUp(client: Client, workflowId: string): Promise<LookUp> {
  return callEngine(client, async () => {
    try {
      const handle = client.workflow.getHandle(workflowId);
      const description = await handle.describe();
      const memo = memoOf(description);
      const status = description.status.name;
      if (status === 'RUNNING' || status === 'PAUSED') return { kind: 'running', memo };
      if (status !== 'COMPLETED') return { kind: 'closed-without-result', memo, status };
      const result: unknown = await client.workflow.result(workflowId, description.runId);
      return { kind: 'completed', memo, result };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { kind: 'unknown' };
      throw error;
    }
  });
}

async function tryStart(client: Client, start: Start, isEager: boolean): Promise<boolean> {
  const { workflowType, memo, ...options } = start;
  try {
    await callEngine(client, () =>
      client.workflow.start(workflowType, {
        ...options,
        memo: { ...memo },
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        requestEagerStart: isEager,
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

async function callEngine<T>(client: Client, call: () => Promise<T>): Promise<T> {
  try {
    return await boundedCall(client.connection, CALL_TIMEOUT_MS, call);
  } catch (error) {
    throw isPassing(error) ? new EngineUnavailable(error) : error;
  }
}

/** gRPC codes by which the server says that the request itself is wrong: our bug, whenever it is asked. */
const OUR_BUG: ReadonlySet<number> = new Set([
  3, // INVALID_ARGUMENT
  9, // FAILED_PRECONDITION
  11, // OUT_OF_RANGE
  12, // UNIMPLEMENTED
]);

function isPassing(error: unknown): boolean {
  if (error instanceof TemporalTimeout || error instanceof NamespaceNotFoundError) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  if (!isGrpcServiceError(cause)) return false;
  // A search attribute registered a moment ago is refused until the caches of the server have seen it.
  return !OUR_BUG.has(cause.code) || /search attribute/i.test(cause.details);
}

function memoOf({ memo, workflowId }: WorkflowExecutionDescription): Memo {
  const { tenant, scope, keyDigest, requestHash, resourceId } = memo ?? {};
  const parts = { tenant, scope, keyDigest, requestHash, resourceId };
  if (Object.values(parts).every((part) => typeof part === 'string'))
    return parts as unknown as Memo;
  throw new Error(`The workflow ${workflowId} was not started for a claim: its memo is not ours.`);
}
