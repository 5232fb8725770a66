import type { Client } from '@temporalio/client';
import type { ClaimKind } from '../../metrics/orders.js';
import type { Answer, Claims, ClaimState, Companion, Intent } from './claims.js';
import { EngineUnavailable, lookUp, startOnce } from './start-once.js';
import type { Found, LookUp, Memo, Start } from './start-once.js';

/** What an intent creates and how: all that the entry has to know about it. */
export interface Operation {
  readonly companion: Companion;
  readonly mintId: () => string;
  /**
   * The workflow that a resource needs.
   * @param isNew false for a claim that another request took: its stored request is the one to be started.
   */
  readonly startOf: (
    resourceId: string,
    isNew: boolean,
  ) => Promise<Omit<Start, 'memo' | 'workflowId'>>;
  /** Saves the answer of a workflow whose claim does not hold it; called after the claim names its resource. */
  readonly saveResult: (memo: Memo, result: unknown) => Promise<void>;
}

/** What has become of an intent. */
export type Entered =
  /** The saved answer, made by an earlier request. */
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** This very request has started the workflow. */
  | { readonly kind: 'started'; readonly resourceId: string }
  | { readonly kind: 'running'; readonly resourceId: string }
  /** The workflow ended without saying how: its resource is in need of repair. */
  | { readonly kind: 'abandoned'; readonly resourceId: string }
  | { readonly kind: 'other-body' }
  /** Claimed, and perhaps started; to be repeated with the same key. */
  | { readonly kind: 'engine-unavailable'; readonly resourceId: string; readonly cause: unknown };

export interface EntryDependencies {
  readonly claims: Claims;
  readonly client: Client;
  /** Hands what it starts to a worker of this process at once; undefined where there is none, or none now. */
  readonly eagerClient?: (() => Client | undefined) | undefined;
  /** Told what each intent met. */
  readonly count?: (kind: ClaimKind) => void;
}

export type Entry = ReturnType<typeof createEntry>;

/**
 * The way from a keyed request to one workflow, for any operation: a claim, then a start that Temporal
 * refuses to do twice. Every request drives a claim on that it finds unfinished, so a crash anywhere in
 * between heals with the next one.
 */
export function createEntry({ claims, client, eagerClient, count }: EntryDependencies) {
  return { enter };

  /** Claims the key of an intent and sees to it that its workflow is started, once. */
  async function enter(intent: Intent, operation: Operation): Promise<Entered> {
    const claim = await claims.take(intent, operation.mintId(), operation.companion);
    const entered = await settle(intent, operation, claim);
    count?.(kindOf(claim, entered));
    return entered;
  }

  async function settle(intent: Intent, operation: Operation, claim: ClaimState): Promise<Entered> {
    switch (claim.kind) {
      case 'answered':
        return claim;
      case 'other-body':
        return claim.finished ? claim : appeal(intent, operation);
      case 'new':
      case 'unfinished':
        return drive(intent, operation, claim);
    }
  }

  function drive(
    intent: Intent,
    operation: Operation,
    { kind, resourceId }: Extract<ClaimState, { kind: 'new' | 'unfinished' }>,
  ): Promise<Entered> {
    return orUnavailable(resourceId, async () => {
      // A claim found unfinished is most likely running: a look is cheaper than a start that is refused.
      const seen: LookUp =
        kind === 'new' ? { kind: 'unknown' } : await lookUp(client, intent.workflowId);
      const met = seen.kind === 'unknown' ? await start(intent, operation, kind, resourceId) : seen;
      return met.kind === 'started'
        ? { kind: 'started', resourceId }
        : follow(intent, operation, met, resourceId);
    });
  }

  async function start(
    intent: Intent,
    operation: Operation,
    kind: 'new' | 'unfinished',
    resourceId: string,
  ): Promise<{ readonly kind: 'started' } | Found> {
    const { tenant, scope, keyDigest, requestHash, workflowId } = intent;
    const begin = {
      ...(await operation.startOf(resourceId, kind === 'new')),
      workflowId,
      memo: { tenant, scope, keyDigest, requestHash, resourceId },
    };
    return startOnce(client, begin, eagerClient?.());
  }

  /** Takes the word of a workflow that was there before: its memo outranks the claim's row. */
  async function follow(
    intent: Intent,
    operation: Operation,
    found: Found,
    claimedId: string,
  ): Promise<Entered> {
    const { resourceId, requestHash } = found.memo;
    if (requestHash !== intent.requestHash) {
      // The row was lost and this request took the key of another: it leaves nothing behind.
      await claims.release(intent, resourceId, operation.companion);
      return { kind: 'other-body' };
    }
    if (resourceId !== claimedId) await claims.adopt(intent, resourceId, operation.companion);
    if (found.kind === 'running') return { kind: 'running', resourceId };
    if (found.kind === 'closed-without-result') return { kind: 'abandoned', resourceId };
    const saved = await claims.find(intent);
    if (saved?.kind === 'answered') return saved;
    await operation.saveResult(found.memo, found.result);
    const answered = await claims.find(intent);
    return answered?.kind === 'answered' ? answered : { kind: 'abandoned', resourceId };
  }

  /**
   * An unfinished row of another body may itself be the wrong one: where the workflow's memo agrees with
   * this request, the row is turned to it. Where Temporal can't tell, the row holds.
   */
  async function appeal(intent: Intent, operation: Operation): Promise<Entered> {
    try {
      const found = await lookUp(client, intent.workflowId);
      if (found.kind !== 'unknown' && found.memo.requestHash === intent.requestHash) {
        await claims.adopt(intent, found.memo.resourceId, operation.companion);
        return await follow(intent, operation, found, found.memo.resourceId);
      }
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
    }
    return { kind: 'other-body' };
  }

  async function orUnavailable(resourceId: string, act: () => Promise<Entered>): Promise<Entered> {
    try {
      return await act();
    } catch (cause) {
      if (!(cause instanceof EngineUnavailable)) throw cause;
      return { kind: 'engine-unavailable', resourceId, cause };
    }
  }
}

/** What an intent met, for who counts. A claim is new also where Temporal could not be told of it. */
function kindOf(claim: ClaimState, entered: Entered): ClaimKind {
  if (claim.kind === 'answered') return 'replayed';
  switch (entered.kind) {
    case 'other-body':
      return 'conflict';
    case 'running':
      return 'in-progress';
    case 'started':
      return claim.kind === 'new' ? 'new' : 'driven-on';
    case 'engine-unavailable':
      return claim.kind === 'new' ? 'new' : 'engine-unavailable';
    case 'answered':
    case 'abandoned':
      return 'driven-on';
  }
}
