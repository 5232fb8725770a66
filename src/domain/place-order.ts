import type { Order, OrderStatus, StepName, StepRecord } from './order.js';

/** The workflow type: what a person reads in the Web UI. */
export const PLACE_ORDER = 'placeOrder';

/** The workflow type of a repair. */
export const REPAIR_ORDER = 'repairOrder';

export const repairWorkflowId = (orderId: string): string => `repair-${orderId}`;

/** Query of an open order; answers with an `OrderProgress`. */
export const ORDER_PROGRESS = 'orderProgress';

/** Search attributes, both of type Keyword. */
export const ORDER_ID_ATTRIBUTE = 'OrderId';
export const ORDER_STATUS_ATTRIBUTE = 'OrderStatus';

/** Where an open order stands, as its workflow knows it. */
export interface OrderProgress {
  readonly status: OrderStatus;
  readonly steps: readonly StepRecord[];
}

/** What the claim is, without the client's raw key: enough to write the claim again should its row be lost. */
export interface ClaimRef {
  readonly tenant: string;
  /** The operation the key belongs to, `POST:/orders`. */
  readonly scope: string;
  /** Hex SHA-256 of the client's key. */
  readonly keyDigest: string;
  /** Hex SHA-256 of the canonical request. */
  readonly requestHash: string;
}

/** Every time limit of a run. They travel in the input: the workflow sandbox has no environment. */
export interface Limits {
  /** One attempt of a step or an undo. */
  readonly stepTimeoutMs: number;
  /** All attempts of a step together. */
  readonly stepDeadlineMs: number;
  /** How long an undo may fail before a person is asked. */
  readonly attentionAfterSeconds: number;
  /** How long the saved answer is kept after the order's end. */
  readonly claimTtlSeconds: number;
}

/** The input of `placeOrder`. Version 1: a later release that needs more must still read this one. */
export interface PlaceOrderInput {
  readonly inputVersion: 1;
  /**
   * Whether the order id was minted by the very request that starts this workflow, so that no earlier run
   * can have called a service for it. Where that is not sure, an undo reaches further than this run got.
   */
  readonly isFirstStart: boolean;
  /** Whether the order was cancelled before this start: it then undoes and does nothing else. */
  readonly isCancelled?: boolean;
  readonly order: Order;
  readonly claim: ClaimRef;
  readonly limits: Limits;
}

/** The input of `repairOrder`: the same order, and the workflow that could not end it. */
export interface RepairOrderInput extends PlaceOrderInput {
  readonly workflowId: string;
}

/** Signals to an order one of whose undos is stuck. */
export const RETRY_UNDO = 'retryUndo';
export const RESOLVE_UNDO = 'resolveUndo';

/** What an operator asks for: which undo, who asks, and why. */
export interface OperatorCommand {
  readonly step: StepName;
  readonly who: string;
  readonly why: string;
}
