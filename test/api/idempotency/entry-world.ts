import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Claims, ClaimState, Intent } from '../../../src/api/idempotency/claims.js';
import type { Operation } from '../../../src/api/idempotency/enter.js';
import type { Memo } from '../../../src/api/idempotency/start-once.js';

/** The process that made a request has died; nobody hears of its end. */
export class Crashed extends Error {}

/** What a process does with the store or the engine: `act` happens at once, somewhere between call and reply. */
export type Step = <T>(what: string, act: () => T) => Promise<T>;

/** A row of the claims table; its answer is there once it is finished. */
interface Row {
  requestHash: string;
  resourceId: string;
  answer: string | undefined;
}

interface Workflow {
  readonly memo: Memo;
  closed: boolean;
}

/**
 * The claims table and Temporal in memory, by the rules that they keep: one row a key, first insert wins; one
 * workflow an ID, a second start is refused. What happens in between is up to whoever runs the steps.
 */
export class EntryWorld {
  readonly rows = new Map<string, Row>();
  readonly workflows = new Map<string, Workflow>();
  /** Started for a key, by whichever ID: more than one is the bug that all this is about. */
  readonly startsOf = new Map<string, number>();
  readonly #onStart: (workflowId: string) => void;
  #ids = 0;

  /** @param onStart told of each workflow that was started. */
  constructor(onStart: (workflowId: string) => void) {
    this.#onStart = onStart;
  }

  mintId(): string {
    this.#ids += 1;
    return `resource-${this.#ids}`;
  }

  start(workflowId: string, memo: Memo): void {
    if (this.workflows.has(workflowId)) {
      throw new WorkflowExecutionAlreadyStartedError('already started', workflowId, 'thing');
    }
    this.workflows.set(workflowId, { memo, closed: false });
    this.startsOf.set(memo.keyDigest, (this.startsOf.get(memo.keyDigest) ?? 0) + 1);
    this.#onStart(workflowId);
  }

  /** What a workflow's last activity does: the order row and a claim that is not finished get the outcome. */
  saveOutcome({ keyDigest, requestHash, resourceId }: Memo): void {
    if (this.rows.get(keyDigest)?.answer !== undefined) return;
    this.rows.set(keyDigest, {
      requestHash,
      resourceId,
      answer: `${resourceId} of ${requestHash}`,
    });
  }

  /** As a backup would be that was made before the row. */
  loseRow(keyDigest: string): void {
    this.rows.delete(keyDigest);
  }

  claims(step: Step): Claims {
    const { rows } = this;
    const insert = (intent: Intent, resourceId: string): boolean => {
      if (rows.has(intent.keyDigest)) return false;
      rows.set(intent.keyDigest, {
        requestHash: intent.requestHash,
        resourceId,
        answer: undefined,
      });
      return true;
    };
    return {
      take: async (intent, resourceId) => {
        for (;;) {
          if (await step('insert', () => insert(intent, resourceId))) {
            return { kind: 'new', resourceId };
          }
          const row = await step('read', () => stateOf(rows.get(intent.keyDigest), intent));
          if (row !== undefined) return row;
        }
      },
      find: (intent) => step('find', () => stateOf(rows.get(intent.keyDigest), intent)),
      adopt: (intent, resourceId) =>
        step('adopt', () => {
          const row = rows.get(intent.keyDigest);
          if (row?.answer === undefined) {
            const { requestHash } = intent;
            rows.set(intent.keyDigest, { requestHash, resourceId, answer: undefined });
          }
        }),
      release: (intent, kept) =>
        step('release', () => {
          const row = rows.get(intent.keyDigest);
          const isOurs = row?.requestHash === intent.requestHash && row.resourceId !== kept;
          if (isOurs && row.answer === undefined) rows.delete(intent.keyDigest);
        }),
    };
  }

  client(step: Step): Client {
    const client = {
      connection: { withDeadline: (_deadline: number, call: () => Promise<unknown>) => call() },
      workflow: {
        start: (_type: string, { workflowId, memo }: { workflowId: string; memo: Memo }) =>
          step('start', () => this.start(workflowId, memo)),
        getHandle: (workflowId: string) => ({
          describe: () =>
            step('describe', () => {
              const workflow = this.workflows.get(workflowId);
              if (workflow === undefined) {
                throw new WorkflowNotFoundError('not found', workflowId, undefined);
              }
              const status = { name: workflow.closed ? 'COMPLETED' : 'RUNNING' };
              return { workflowId, runId: 'run', memo: workflow.memo, status };
            }),
        }),
        result: () => step('result', () => 'done'),
      },
    };
    return client as unknown as Client;
  }

  operation(step: Step): Operation {
    const unused = { sql: () => '', values: [] };
    return {
      companion: { insert: () => unused, deleteUnused: () => unused },
      mintId: () => this.mintId(),
      startOf: (resourceId) =>
        step('startOf', () => ({
          workflowType: 'thing',
          taskQueue: 'things',
          args: [resourceId],
          typedSearchAttributes: [],
          staticSummary: '',
          staticDetails: '',
        })),
      saveResult: (memo) => step('save', () => this.saveOutcome(memo)),
    };
  }
}

function stateOf(row: Row | undefined, { requestHash }: Intent): ClaimState | undefined {
  if (row === undefined) return undefined;
  if (row.requestHash !== requestHash) {
    return { kind: 'other-body', finished: row.answer !== undefined };
  }
  if (row.answer === undefined) return { kind: 'unfinished', resourceId: row.resourceId };
  return { kind: 'answered', answer: { status: 201, headers: {}, body: row.answer } };
}
