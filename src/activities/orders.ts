import { activityInfo } from '@temporalio/activity';
import type { CancelReason } from '../domain/outcome.js';
import type { Decision, OrderState, OrderStore, OutcomeRecord } from '../store/orders.js';

export interface UndoRequest extends OrderState {
  readonly reason: CancelReason;
  /** The run that the workflow began with; a reset goes on under another. */
  readonly firstRunId: string;
}

export interface FollowedDecision {
  readonly decision: Decision;
  /** Whether this run follows a reset, so that an earlier run may have got further. */
  readonly isReset: boolean;
}

/** What the workflow writes of an order. Each is one statement that may be repeated. */
export function createOrderActivities(orders: OrderStore) {
  return {
    /** Decides `undo`, unless `keep` was decided before; called before the first undo. */
    async decideToUndo({ reason, firstRunId, ...state }: UndoRequest): Promise<FollowedDecision> {
      const decision = await orders.decideToUndo({ ...state, undoneBy: workflowId() }, reason);
      // Asked here, not in the workflow: the answer goes into the history, so that a replay agrees with it.
      return { decision, isReset: activityInfo().workflowExecution?.runId !== firstRunId };
    },

    /** Shows that an undo needs a person. */
    recordAttention: (state: OrderState): Promise<void> =>
      orders.recordAttention({ ...state, undoneBy: workflowId() }),

    /** Saves state, steps and answer, unless `undo` was decided before a `confirmed`. */
    recordOutcome: (record: OutcomeRecord): Promise<Decision> => orders.saveOutcome(record),
  };
}

/** Of the workflow that calls: an order's own, or a repair. */
function workflowId(): string {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) throw new TypeError('Only workflows call this activity.');
  return workflowExecution.workflowId;
}
