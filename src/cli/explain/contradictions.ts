import { stepKeys } from '../../domain/keys.js';
import { isFinal } from '../../domain/order.js';
import type { StepName, StepRecord } from '../../domain/order.js';
import { answerOf } from '../../domain/outcome.js';
import type { OrderOutcome } from '../../domain/outcome.js';
import { repairWorkflowId } from '../../domain/place-order.js';
import type { OrderRow } from '../../store/order-rows.js';
import { ledgerContradictions } from './ledger-contradictions.js';
import type { Evidence, WorkflowEvidence } from './evidence.js';

/**
 * Everything in which the records of an order disagree, a line each; none where all is well.
 *
 * An order that goes on is judged by what must hold at any moment; one that has ended also by its end.
 */
export function contradictionsIn(evidence: Evidence): readonly string[] {
  return [
    ...claimContradictions(evidence),
    ...workflowContradictions(evidence),
    ...ledgerContradictions(evidence),
    ...balanceContradictions(evidence),
  ];
}

/** How an order has ended, by its row; undefined while it goes on. */
function outcomeOf({ status, reason }: OrderRow): OrderOutcome | undefined {
  if (status === 'confirmed') return { answerVersion: 1, status };
  if (status === 'cancelled' && reason !== null) return { answerVersion: 1, status, reason };
  return undefined;
}

function claimContradictions({ order, others, claims }: Evidence): readonly string[] {
  const found: string[] = [];
  if (claims.length > 1) found.push(`${claims.length} claims name this one order`);
  const overlapping = others.filter((other) => livedTogether(order, other));
  for (const { order: other } of overlapping) {
    found.push(`the key has a second order in the same life, ${other.orderId}`);
  }
  const outcome = outcomeOf(order);
  for (const claim of claims) {
    if (claim.workflowId !== order.workflowId) {
      found.push(`the claim names the workflow ${claim.workflowId}, the order ${order.workflowId}`);
    }
    if ((claim.status === 'completed') !== (outcome !== undefined)) {
      found.push(`the claim is ${claim.status}, and the order is ${order.status}`);
      continue;
    }
    if (outcome === undefined) continue;
    const answer = answerOf(outcome, order.order.orderId, order.workflowId);
    if (claim.answerStatus !== answer.status || claim.answerBody !== answer.body) {
      found.push(
        `the saved answer, ${claim.answerStatus ?? 'none'}, is not that of the order’s end, ${answer.status}`,
      );
    }
  }
  return found;
}

/** A key is used again after its life only: the older order had ended when the newer one was placed. */
function livedTogether(one: OrderRow, other: OrderRow): boolean {
  const [older, newer] = one.createdAt < other.createdAt ? [one, other] : [other, one];
  return !isFinal(older.status) || older.updatedAt > newer.createdAt;
}

function workflowContradictions(evidence: Evidence): readonly string[] {
  const { order, claims, workflow, repair } = evidence;
  const { orderId } = order.order;
  const found: string[] = [];
  const [claim] = claims;
  // A key that was used again has one workflow ID for all its orders: Temporal tells of the newest.
  const isOfThisOrder = workflow?.memo['resourceId'] === orderId;
  const isOfAnother = evidence.others.some(
    (other) => other.order.orderId === workflow?.memo['resourceId'],
  );
  if (workflow !== undefined && !isOfThisOrder && !isOfAnother) {
    found.push(`the workflow was started for ${String(workflow.memo['resourceId'])}`);
  }
  if (isOfThisOrder && claim !== undefined && workflow.memo['requestHash'] !== claim.requestHash) {
    found.push('the workflow was started for another request than the claim has');
  }
  const own = isOfThisOrder ? [workflow] : [];
  for (const one of [...own, ...(repair === undefined ? [] : [repair])]) {
    found.push(...closeContradictions(order, one));
  }
  return found;
}

function closeContradictions(order: OrderRow, workflow: WorkflowEvidence): readonly string[] {
  const { workflowId, status, result } = workflow;
  if (status === 'FAILED')
    return [`the workflow ${workflowId} has failed: a bug, a person must look`];
  if (status !== 'COMPLETED') return [];
  const { status: end } = (result ?? {}) as Partial<OrderOutcome>;
  // A repair of a kept order changes nothing and says so by its own result.
  const isRepair = workflowId === repairWorkflowId(order.order.orderId);
  if (end === order.status || (isRepair && order.status === 'confirmed')) return [];
  return [`the workflow ${workflowId} ended ${String(end)}, and the order is ${order.status}`];
}

/** Of each step, what its forward call and its undo are named, as one reads the ledgers. */
const WORDS = {
  payment: { done: 'charge', undone: 'refund' },
  inventory: { done: 'reservation', undone: 'release' },
} as const satisfies Record<StepName, object>;

/** Where an order has ended, nothing is held that its end does not say, and nothing is missing. */
function balanceContradictions(evidence: Evidence): readonly string[] {
  const { order } = evidence;
  if (!isFinal(order.status)) return [];
  const steps = order.steps ?? [];
  return (['payment', 'inventory'] as const).flatMap((name) => {
    const { done, undone } = WORDS[name];
    const { ledger } = evidence[name];
    const dones = ledger.filter(
      ({ key, kind }) => kind !== 'void' && key === stepKeys(order.order.orderId)[name].key,
    );
    const undones = ledger.filter(({ kind }) => kind === 'refund' || kind === 'release');
    const record = steps.find((step) => step.name === name);
    const found: string[] = [];
    if (order.status === 'confirmed') {
      if (dones.length !== 1) found.push(`the order is confirmed with ${dones.length} ${done}s`);
      if (undones.length > 0) found.push(`the order is confirmed and has a ${undone}`);
      return found;
    }
    if (record?.state === 'done' && dones.length === 0)
      found.push(`the ${done} is said to be done and is not there`);
    if (record?.state === 'refused' && dones.length > 0)
      found.push(`the ${done} is said to be refused and is there`);
    if (dones.length > undones.length && !isSettled(record)) {
      found.push(`the order is cancelled and its ${done} has no ${undone}`);
    }
    return found;
  });
}

/** A person has settled this undo by other means: what is still in the ledger is meant to be there. */
const isSettled = (record: StepRecord | undefined): boolean =>
  record?.compensationState === 'resolved';
