import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { lookUp, startOnce } from '../api/idempotency/start-once.js';
import type { Found, LookUp } from '../api/idempotency/start-once.js';
import { isFinal } from '../domain/order.js';
import type { OrderOutcome } from '../domain/outcome.js';
import { REPAIR_ORDER, repairWorkflowId } from '../domain/place-order.js';
import type { ClaimRef, Limits, RepairOrderInput } from '../domain/place-order.js';
import { stepsAfter } from '../domain/steps.js';
import type { OpenOrder, OpenOrderStore } from '../store/open-orders.js';
import type { OrderStore } from '../store/orders.js';
import { boundedCall } from '../temporal/bounded-call.js';
import { asOutcome, claimOf, memoOf, orderStart, shownOf } from './order-start.js';

/** 5 s for a signal or a start: the reconciler comes again. */
const CALL_TIMEOUT_MS = 5_000;

/** What was found of an order, and hence done for it. */
export type Healed =
  /** It ended before. */
  | 'ended'
  /** Its workflow, or its repair, lives; a cancel that was asked for is sent again. */
  | 'running'
  /** It had ended, and the outcome is saved now: what its workflow said, or its row. */
  | 'saved'
  /** Its workflow was closed without an outcome: it is being undone. */
  | 'repairing'
  /** Temporal knows no workflow of it: started, perhaps again. */
  | 'started'
  /** Another order has its key: the row was never used. */
  | 'unused'
  /** Neither a claim nor a workflow: nobody can drive it on. A person must look. */
  | 'orphaned';

export interface HealerDependencies {
  readonly client: Client;
  readonly orders: OrderStore;
  readonly openOrders: OpenOrderStore;
  readonly taskQueue: string;
  readonly limits: Limits;
}

export type Healer = ReturnType<typeof createHealer>;

/**
 * Drives orders on, whatever cut them short. The one way, for a client's retry, a cancel and the reconciler;
 * any number of them at once do no harm, as every start is refused or joined and every undo is keyed.
 */
export function createHealer(dependencies: HealerDependencies) {
  const { client, orders, openOrders, taskQueue, limits } = dependencies;
  return { heal, saveOutcome };

  /** @throws EngineUnavailable where Temporal can't tell now. */
  async function heal(order: OpenOrder): Promise<Healed> {
    if (isFinal(order.status)) return answerAgain(order);
    return follow(order, await lookUp(client, order.workflowId));
  }

  async function follow(order: OpenOrder, found: LookUp): Promise<Healed> {
    const { orderId, tenant } = order.order;
    if (found.kind !== 'unknown' && found.memo.resourceId !== orderId) {
      await openOrders.deleteUnused(tenant, orderId);
      return 'unused';
    }
    switch (found.kind) {
      case 'running':
        if (order.cancelRequestedAt !== null) await sendCancel(order.workflowId);
        return 'running';
      case 'completed':
        await saveOutcome(order, found);
        return 'saved';
      case 'closed-without-result':
        return repair(order, found.memo);
      case 'unknown':
        return startAgain(order);
    }
  }

  /**
   * An order that has ended needs nothing more, but its claim may: the key was used again past its expiry, and its
   * workflow can't tell the outcome, as it was closed without one. The row can.
   */
  async function answerAgain(order: OpenOrder): Promise<Healed> {
    if (order.claim === undefined || order.isAnswered) return 'ended';
    const outcome = outcomeOf(order);
    await orders.saveOutcome({
      order: order.order,
      workflowId: order.workflowId,
      steps: order.steps ?? stepsAfter(outcome, order.order.orderId),
      claim: order.claim,
      claimTtlSeconds: limits.claimTtlSeconds,
      outcome,
    });
    return 'saved';
  }

  /** Saves what a closed workflow says of its order, for rows that do not know it. */
  async function saveOutcome(
    { order, workflowId }: Pick<OpenOrder, 'order' | 'workflowId'>,
    { memo, result }: Pick<Extract<Found, { kind: 'completed' }>, 'memo' | 'result'>,
  ): Promise<void> {
    const outcome = asOutcome(result, workflowId);
    await orders.saveOutcome({
      order,
      workflowId,
      steps: stepsAfter(outcome, order.orderId),
      claim: claimOf(memo),
      claimTtlSeconds: limits.claimTtlSeconds,
      outcome,
    });
  }

  async function startAgain(order: OpenOrder): Promise<Healed> {
    if (order.claim === undefined) return 'orphaned';
    if (order.decision === 'undo') return repair(order, order.claim);
    const { orderId } = order.order;
    const input = {
      inputVersion: 1,
      isFirstStart: false,
      isCancelled: order.cancelRequestedAt !== null,
      order: order.order,
      claim: order.claim,
      limits,
    } as const;
    const met = await startOnce(client, {
      ...orderStart(input, taskQueue),
      workflowId: order.workflowId,
      memo: memoOf(order.claim, orderId),
    });
    // Somebody else was first, and may not know of a cancel.
    return met.kind === 'started' ? 'started' : follow(order, met);
  }

  /**
   * Joins a repair that is running; starts another where one was closed without an end. One that has ended
   * tells how, for rows that lost it: its reason may be another than a second one would find.
   */
  async function repair({ order, workflowId }: OpenOrder, claim: ClaimRef): Promise<Healed> {
    const earlier = await lookUp(client, repairWorkflowId(order.orderId));
    if (earlier.kind === 'running') return 'running';
    if (earlier.kind === 'completed') {
      await saveOutcome({ order, workflowId }, earlier);
      return 'saved';
    }
    const input: RepairOrderInput = {
      inputVersion: 1,
      isFirstStart: false,
      order,
      claim: claimOf(claim),
      limits,
      workflowId,
    };
    await boundedCall(client.connection, CALL_TIMEOUT_MS, () =>
      client.workflow.start(REPAIR_ORDER, {
        workflowId: repairWorkflowId(order.orderId),
        taskQueue,
        args: [input],
        memo: { ...memoOf(claim, order.orderId) },
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
        ...shownOf(order),
      }),
    );
    return 'repairing';
  }

  async function sendCancel(workflowId: string): Promise<void> {
    try {
      await boundedCall(client.connection, CALL_TIMEOUT_MS, () =>
        client.workflow.getHandle(workflowId).cancel(),
      );
    } catch (error) {
      // It has ended since: the next look saves what became of it.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}

/** The outcome that an ended order was saved with. */
function outcomeOf({ status, reason }: OpenOrder): OrderOutcome {
  if (status === 'confirmed') return { answerVersion: 1, status };
  if (reason === null) throw new Error('An order that was cancelled has a reason.');
  return { answerVersion: 1, status: 'cancelled', reason };
}
