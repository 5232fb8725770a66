import type { StepName } from './step-table.js';

/** One line of an order. */
export interface OrderItem {
  readonly sku: string;
  /** 1–1000 pieces. */
  readonly quantity: number;
}

/**
 * What the workflow knows of an order. It has no user: a history is kept for long, shown in the Web UI
 * and never encrypted by default, so it carries ids, amounts and tokens only.
 */
export interface Order {
  /** `ORD-` and 32 hex digits of a UUIDv7, minted by the claim. */
  readonly orderId: string;
  readonly tenant: string;
  /** Minor units: 1999 is 19.99 EUR, 1000 is 1000 JPY. */
  readonly amountMinor: number;
  /** ISO 4217. */
  readonly currency: string;
  readonly items: readonly OrderItem[];
  /** A token of the payment provider, never a card number. */
  readonly paymentMethod: string;
}

/** Where an order stands, as clients see it. The last two are final. */
export const ORDER_STATUSES = [
  'processing',
  'compensating',
  'needs_attention',
  'confirmed',
  'cancelled',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

export type { StepName };

/** `unknown`: asked for, with no definite answer; it may have happened. */
export const STEP_STATES = ['pending', 'running', 'done', 'refused', 'unknown'] as const;
export type StepState = (typeof STEP_STATES)[number];

/** `stuck`: it has failed for long or was refused for good, and a person must look. */
export const COMPENSATION_STATES = [
  'none',
  'pending',
  'running',
  'done',
  'stuck',
  'resolved',
] as const;
export type CompensationState = (typeof COMPENSATION_STATES)[number];

/** One step with its undo, as `GET /orders/{orderId}` shows it and as `orders.steps` keeps it. */
export interface StepRecord {
  readonly name: StepName;
  /** The forward key, as the downstream ledger has it. */
  readonly key: string;
  readonly state: StepState;
  readonly compensationKey: string;
  readonly compensationState: CompensationState;
  /** Calls made so far, where known. */
  readonly attempts?: number;
  /** Who ended or retried a stuck undo, when and why; absent where nobody had to. */
  readonly interventions?: readonly Intervention[];
}

/** What an operator did about a stuck undo. Kept for the auditor. */
export interface Intervention {
  readonly action: 'retry' | 'resolve';
  readonly who: string;
  readonly why: string;
  /** ISO 8601, the workflow's clock. */
  readonly at: string;
}

export const isFinal = (status: OrderStatus): boolean =>
  status === 'confirmed' || status === 'cancelled';
