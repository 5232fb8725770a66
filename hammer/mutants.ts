/** One deliberate bug: texts of the product that are replaced in a copy of it. */
export interface Mutant {
  readonly name: string;
  /** What somebody who made this mistake would have believed. */
  readonly mistake: string;
  /** Names the faults of a CI run that meet it: with the others its trial would only take longer. */
  readonly faults: string;
  /** How long the faults go on, at least; the time to live of an answer is 45 s. */
  readonly minutes?: number;
  readonly edits: readonly Edit[];
}

export interface Edit {
  readonly file: string;
  /** Must be there exactly once: a mutant that no longer applies fails the run. */
  readonly find: string;
  readonly replace: string;
}

/** The mistakes that this design is there to exclude. None of their code is in the product. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'entrance of the tutorial',
    mistake: 'a claim that is being processed needs no help: every duplicate gets 409',
    faults: 'api2-temporal|kill:api|pause:temporal',
    edits: [
      {
        file: 'src/api/idempotency/enter.ts',
        find: `      case 'new':
      case 'unfinished':
        return drive(intent, operation, claim);`,
        replace: `      case 'unfinished':
        return { kind: 'running', resourceId: claim.resourceId };
      case 'new':
        return drive(intent, operation, claim);`,
      },
      {
        file: 'src/orders/heal-order.ts',
        find: `      case 'unknown':
        return startAgain(order);`,
        replace: `      case 'unknown':
        void startAgain;
        return 'orphaned';`,
      },
    ],
  },
  {
    name: 'select, then insert',
    mistake: 'a key that is not found is free',
    faults: 'kill:api$',
    edits: [
      {
        file: 'src/api/idempotency/claims.ts',
        find: `        if (await insert(intent, resourceId, companion.insert(resourceId))) {
          return { kind: 'new', resourceId };
        }
        const row = await read(intent);`,
        replace: `        const row = await read(intent);
        if (row === undefined) {
          await insert(intent, resourceId, companion.insert(resourceId));
          return { kind: 'new', resourceId };
        }`,
      },
      {
        file: 'src/api/idempotency/claims.ts',
        find: `  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict do nothing
  returning resource_id\`;

const READ`,
        replace: `  values ($1, $2, $3, $4, $5, $6, $7)
  returning resource_id\`;

const READ`,
      },
    ],
  },
  {
    name: 'a random step key for each attempt',
    mistake: 'a key only has to be unique',
    faults: ':charge|:reserve',
    edits: [
      {
        file: 'src/activities/downstream.ts',
        find: `'idempotency-key': call.key,`,
        replace: `'idempotency-key': \`\${call.key}:\${Math.random().toString(36).slice(2)}\`,`,
      },
    ],
  },
  {
    name: 'run ID in the step key',
    mistake: 'a run is what a key is about',
    faults: 'reset|terminate',
    edits: [
      {
        file: 'src/workflows/order-steps.ts',
        find: `import { stepKeys } from '../domain/keys.js';`,
        replace: `import { workflowInfo } from '@temporalio/workflow';
import { stepKeys as keysOf } from '../domain/keys.js';
const stepKeys = (orderId: string): ReturnType<typeof keysOf> =>
  keysOf(\`\${orderId}:\${workflowInfo().runId.slice(-6)}\`);`,
      },
    ],
  },
  {
    name: 'an undo without a lasting key',
    mistake: 'an undo may be repeated under a new key each time',
    faults: ':refund',
    edits: [
      {
        file: 'src/activities/downstream.ts',
        find: `'idempotency-key': call.key,`,
        replace: `'idempotency-key': call.key.includes(':comp:') ? String(Math.random()) : call.key,`,
      },
    ],
  },
  {
    name: 'undo only what is flagged done',
    mistake: 'a step that did not answer did not happen',
    faults: 'late:|lost-replies',
    edits: [
      {
        file: 'src/workflows/place-order.ts',
        find: `      registerUndo(step);
      await attempt(step);`,
        replace: `      await attempt(step);
      registerUndo(step);`,
      },
      {
        file: 'src/workflows/place-order.ts',
        find: 'const undoesAll = !isRefused && patched(UNDO_EVERY_STEP);',
        replace: 'const undoesAll = false as boolean;',
      },
    ],
  },
  {
    name: 'undo only what this run came to',
    mistake: 'a workflow task that is lost has done nothing',
    faults: 'kill:worker|pause:worker',
    edits: [
      {
        file: 'src/workflows/place-order.ts',
        find: 'const undoesAll = !isRefused && patched(UNDO_EVERY_STEP);',
        replace: 'const undoesAll = false as boolean;',
      },
    ],
  },
  {
    name: 'no tombstone',
    mistake: 'where there is no charge there is nothing to undo',
    faults: 'late:charge',
    edits: [
      {
        file: 'src/services/payment/ledger.ts',
        find: `        const voided = await client.query(VOID, [chargeKey, orderId]);
        if (voided.rowCount === 1) return { outcome: 'voided', effect: true } as const;
        const row = await readRow(client, chargeKey);`,
        replace: `        void VOID;
        const row = await readRow(client, chargeKey);
        if (row === undefined) return { outcome: 'voided', effect: false } as const;`,
      },
    ],
  },
  {
    name: 'undos in forward order',
    mistake: 'the order of undos does not matter',
    faults: 'cancel-late',
    edits: [
      {
        file: 'src/workflows/saga.ts',
        find: 'for (const undo of undos.toReversed()) {',
        replace: 'for (const undo of undos) {',
      },
    ],
  },
  {
    name: 'a cancel stops the undo',
    mistake: 'an undo is a step like any other, and its failure is only logged',
    faults: 'cancel-late|cancel-workflow',
    edits: [
      {
        file: 'src/workflows/saga.ts',
        find: `CancellationScope.nonCancellable(() => runNewestFirst([...undos.values()]))`,
        replace: `CancellationScope.cancellable(() => runNewestFirst([...undos.values()]))`,
      },
      {
        file: 'src/workflows/saga.ts',
        find: `if (result.status === 'rejected') throw result.reason;`,
        replace: `if (result.status === 'rejected') continue;`,
      },
    ],
  },
  {
    name: 'purge of unfinished claims',
    mistake: 'what has no expiry is old',
    faults: 'api2-temporal',
    edits: [
      {
        file: 'src/store/open-orders.ts',
        find: `from claims where expires_at <= now()`,
        replace: `from claims where coalesce(expires_at, now()) <= now()`,
      },
    ],
  },
  {
    name: 're-serialised replay',
    mistake: 'equal JSON is the same answer',
    faults: 'kill:api$',
    edits: [
      {
        file: 'src/api/idempotency/replay.ts',
        find: '.send(answer.body);',
        replace: `.send(
      replayed
        ? JSON.stringify(JSON.parse(answer.body), Object.keys(JSON.parse(answer.body) as object).sort())
        : answer.body,
    );`,
      },
    ],
  },
  {
    name: 'tenant missing in the scope',
    mistake: 'clients draw keys that are unique in the world',
    faults: 'kill:api|stop:api',
    edits: [
      {
        file: 'src/api/idempotency/key.ts',
        find: '[tenant, scope, key].map(',
        replace: '[scope, key, tenant.slice(0, 0)].map(',
      },
    ],
  },
  {
    name: 'nobody repairs',
    mistake: 'a workflow that is terminated has cleaned up',
    faults: 'terminate',
    edits: [
      {
        file: 'src/orders/heal-order.ts',
        find: `        return repair(order, found.memo);`,
        replace: `        return 'running';`,
      },
    ],
  },
  {
    name: 'two decisions',
    mistake: 'who saves last is right',
    faults: 'terminate|reset|cancel',
    edits: [
      {
        file: 'src/store/orders.ts',
        find: `        or coalesce(o.decision <> excluded.decision, false) as kept)`,
        replace: `        and o.decision = excluded.decision as kept)`,
      },
      {
        file: 'src/store/orders.ts',
        find: `        coalesce(o.decision, excluded.decision),
        case when kept`,
        replace: `        excluded.decision,
        case when kept`,
      },
      {
        file: 'src/store/orders.ts',
        find: `    decision = coalesce(o.decision, 'undo'),
    reason = case when o.decision is null then excluded.reason else o.reason end,
    status = case when o.decision is null then 'compensating' else o.status end,`,
        replace: `    decision = 'undo',
    reason = excluded.reason,
    status = 'compensating',`,
      },
    ],
  },
  {
    name: 'a start that may be repeated',
    mistake: 'the claim is guard enough',
    faults: 'kill:|stop:',
    minutes: 1,
    edits: [
      {
        file: 'src/api/idempotency/start-once.ts',
        find: `workflowIdReusePolicy: 'REJECT_DUPLICATE',`,
        replace: `workflowIdReusePolicy: 'ALLOW_DUPLICATE',`,
      },
    ],
  },
  {
    name: 'a fingerprint without the amount',
    mistake: 'one key, one request: no need to compare',
    faults: 'kill:api$',
    edits: [
      {
        file: 'src/api/orders.ts',
        find: `query: {}, body }),`,
        replace: `query: {}, body: { ...body, amount: 0 } }),`,
      },
    ],
  },
  {
    name: 'an unknown outcome taken for a refusal',
    mistake: 'an error means that nothing was done',
    faults: 'late:|lost-replies',
    edits: [
      {
        file: 'src/workflows/place-order.ts',
        find: `if (refused) saga.forget(step.name);`,
        replace: `saga.forget(step.name);`,
      },
      {
        file: 'src/workflows/place-order.ts',
        find: `const isRefused = REFUSALS.has(failureType(error));`,
        replace: `const isRefused = true as boolean;`,
      },
    ],
  },
];
