import { FAILURES } from './failures.js';
import type { CancelReason } from './outcome.js';

/** What is fixed of a step, whatever the order: a step more begins with an entry here. */
interface StepFacts {
  /** In its keys, `{orderId}:<word>` and `{orderId}:comp:<word>`. Never changed: services know keys by it. */
  readonly word: string;
  /** What it does and what its undo does, for people. */
  readonly does: { readonly step: string; readonly undo: string };
  /** Why the order is cancelled when no definite answer came in time. */
  readonly unavailable: CancelReason;
  /** The failure that is the service's definite no, and why the order is then cancelled; left out where it has none. */
  readonly refusal?: { readonly failure: string; readonly reason: CancelReason };
}

/** The steps in the order in which they are made; the undos run the other way round. */
export const STEP_TABLE = {
  payment: {
    word: 'pay',
    does: { step: 'Charge', undo: 'Refund' },
    unavailable: 'payment-unavailable',
    refusal: { failure: FAILURES.paymentDeclined, reason: 'payment-declined' },
  },
  inventory: {
    word: 'inv',
    does: { step: 'Reserve', undo: 'Release' },
    unavailable: 'inventory-unavailable',
    refusal: { failure: FAILURES.outOfStock, reason: 'out-of-stock' },
  },
} as const satisfies Readonly<Record<string, StepFacts>>;

export type StepName = keyof typeof STEP_TABLE;

export const STEP_NAMES = Object.keys(STEP_TABLE) as readonly StepName[];

/** Every step with what is known of it, in its order. */
export const STEPS: readonly (StepFacts & { readonly name: StepName })[] = STEP_NAMES.map(
  (name) => ({ name, ...STEP_TABLE[name] }),
);

/** Every definite no of a service, by the type of its failure, and the reason that it gives the order. */
export const REFUSALS: ReadonlyMap<string | undefined, CancelReason> = new Map(
  STEPS.flatMap(({ refusal }) =>
    refusal === undefined ? [] : [[refusal.failure, refusal.reason] as const],
  ),
);
