import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Activities } from '../../src/activities/index.js';
import { FAILURES } from '../../src/domain/failures.js';
import type { Decision } from '../../src/store/orders.js';

/** What a forward step does in one scenario: at the local attempt, or only at the regular activity, or never. */
export const BEHAVIOURS = [
  'done',
  'refused',
  'done-later',
  'refused-later',
  'unknown-happened',
  'unknown-not-happened',
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** The calls a workflow makes, as its history and the ledgers know them. */
export type Operation =
  'charge' | 'reserve' | 'release' | 'refund' | 'decide' | 'attention' | 'save';

export interface Call {
  readonly operation: Operation;
  readonly key: string;
  readonly isLocal: boolean;
}

/** How the world behaves towards one order. */
export interface Scenario {
  readonly payment: Behaviour;
  readonly inventory: Behaviour;
  /** Called at the beginning of each call, before it takes effect; a test cancels the order here. */
  readonly onCall?: (call: Call) => Promise<void>;
  /** Decides whether an undo fails: 'pass' may pass, 'never' will not. Called before it takes effect. */
  readonly undoFails?: (call: Call, nth: number) => 'pass' | 'never' | undefined;
}

/** What happened to one order in this world. */
export interface OrderWorld {
  readonly scenario: Scenario;
  readonly calls: Call[];
  /** Forward keys by what became of them: first one wins, as in the services' ledgers. */
  readonly effects: Map<string, 'done' | 'refused' | 'voided' | 'undone'>;
  decision: Decision | undefined;
  saved: string | undefined;
}

/**
 * A world in memory behind the workflow's activities, with the ledgers' rules: first effect of a key wins, an
 * undo bars its key, an undo repeated moves nothing. Scenarios are set by order id, so that hundreds of orders
 * can run side by side on one worker.
 */
export function createWorld() {
  const orders = new Map<string, OrderWorld>();
  const worldOf = (orderId: string): OrderWorld => {
    const world = orders.get(orderId);
    if (world === undefined) throw new Error(`no scenario for ${orderId}`);
    return world;
  };
  const record = async (orderId: string, operation: Operation, key: string) => {
    const world = worldOf(orderId);
    const call = { operation, key, isLocal: activityInfo().isLocal };
    world.calls.push(call);
    await world.scenario.onCall?.(call);
    return { world, call };
  };
  const forward = async (
    orderId: string,
    operation: 'charge' | 'reserve',
    key: string,
    behaviour: (scenario: Scenario) => Behaviour,
    refusal: string,
  ) => {
    const { world, call } = await record(orderId, operation, key);
    const does = answerTo(call, behaviour(world.scenario));
    const earlier = world.effects.get(key);
    if (earlier === 'voided' || earlier === 'undone') {
      throw ApplicationFailure.nonRetryable('barred', FAILURES.stepVoided);
    }
    if (does === 'refused') {
      if (earlier === undefined) world.effects.set(key, 'refused');
      throw ApplicationFailure.nonRetryable('no', refusal);
    }
    if (does !== 'unknown-not-happened' && earlier === undefined) world.effects.set(key, 'done');
    if (does !== 'done') throw ApplicationFailure.retryable('no answer', FAILURES.stepUnknown);
    return { attempts: activityInfo().attempt };
  };
  const undo = async (
    orderId: string,
    operation: 'release' | 'refund',
    key: string,
    forwardKey: string,
  ) => {
    const { world, call } = await record(orderId, operation, key);
    const nth = world.calls.filter((one) => one.operation === operation).length;
    const fails = world.scenario.undoFails?.(call, nth);
    if (fails === 'pass') throw ApplicationFailure.retryable('away', FAILURES.stepUnknown);
    if (fails === 'never') throw ApplicationFailure.nonRetryable('never', FAILURES.undoRefused);
    const earlier = world.effects.get(forwardKey);
    world.effects.set(forwardKey, earlier === 'done' || earlier === 'undone' ? 'undone' : 'voided');
    return { attempts: activityInfo().attempt };
  };

  const activities: Activities = {
    chargePayment: ({ key, orderId }) =>
      forward(orderId, 'charge', key, ({ payment }) => payment, FAILURES.paymentDeclined),
    reserveInventory: ({ key, orderId }) =>
      forward(orderId, 'reserve', key, ({ inventory }) => inventory, FAILURES.outOfStock),
    refundPayment: ({ key, orderId, chargeKey }) => undo(orderId, 'refund', key, chargeKey),
    releaseInventory: ({ key, orderId, reservationKey }) =>
      undo(orderId, 'release', key, reservationKey),
    decideToUndo: async ({ order, reason, firstRunId }) => {
      const { world } = await record(order.orderId, 'decide', reason);
      world.decision ??= { decision: 'undo', reason };
      return {
        decision: world.decision,
        isReset: activityInfo().workflowExecution?.runId !== firstRunId,
      };
    },
    recordAttention: async ({ order }) => {
      await record(order.orderId, 'attention', '');
    },
    recordOutcome: async ({ order, outcome }) => {
      const what = outcome.status === 'confirmed' ? 'confirmed' : outcome.reason;
      const { world } = await record(order.orderId, 'save', what);
      const wanted: Decision =
        outcome.status === 'confirmed'
          ? { decision: 'keep' }
          : { decision: 'undo', reason: outcome.reason };
      world.decision ??= wanted;
      if (world.decision.decision === wanted.decision) world.saved ??= what;
      return world.decision;
    },
    reconcile: () => Promise.resolve({}),
    purge: () => Promise.resolve(0),
  };

  return {
    activities,
    /** Sets the scene for an order that is about to start. */
    prepare(orderId: string, scenario: Scenario): OrderWorld {
      const world: OrderWorld = {
        scenario,
        calls: [],
        effects: new Map(),
        decision: undefined,
        saved: undefined,
      };
      orders.set(orderId, world);
      return world;
    },
  };
}

/** A step that answers later is silent at the local attempt, and nothing has happened yet. */
function answerTo({ isLocal }: Call, behaviour: Behaviour) {
  if (behaviour === 'done-later') return isLocal ? 'unknown-not-happened' : 'done';
  if (behaviour === 'refused-later') return isLocal ? 'unknown-not-happened' : 'refused';
  return behaviour;
}

/** `charge ORD-1:pay`: what was called under which key, each repeated call once. */
export function distinctCalls(calls: readonly Call[]): string[] {
  const lines = calls.map(({ operation, key }) => `${operation} ${key}`);
  return lines.filter((line, index) => line !== lines[index - 1]);
}
