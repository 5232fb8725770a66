import type { Random } from './random.js';

/** What an operator, or a client, does to an order on its way. */
export const HARMS = ['terminate', 'reset', 'delete', 'cancel', 'client-cancel'] as const;
export type Harm = (typeof HARMS)[number];

export interface PlannedHarm {
  readonly harm: Harm;
  /** After the order was posted. */
  readonly afterMs: number;
  /** Whether it hits the repair, where there is one, rather than the order's own workflow. */
  readonly onRepair: boolean;
  /** Which of the points that it can be reset to, from 0 (the first) to 1. */
  readonly point: number;
}

export interface PlannedOrder {
  readonly key: string;
  readonly body: {
    readonly userId: string;
    readonly amount: number;
    readonly items: readonly { readonly sku: string; readonly quantity: number }[];
    readonly paymentMethod: string;
  };
  /** The client's words for how long it waits; undefined leaves it to the server. */
  readonly prefer: string | undefined;
  /** How many copies of the first request are sent at once. */
  readonly copies: number;
  readonly harms: readonly PlannedHarm[];
  /** Done to the workflow once the client has its final answer. */
  readonly afterwards: 'reset' | 'delete' | 'terminate' | undefined;
}

/** Some harm comes before the first step, most on the way, some after the end. */
const HARM_WINDOWS_MS = [200, 1_000, 2_000, 8_000];

/** Draws one order and all that will happen to it. Amounts are distinct, so that a wrong sum names its order. */
export function planOrder(random: Random, index: number, run: string, sku: string): PlannedOrder {
  const fate = random.integer(1, 100);
  return {
    key: `${run}-order-${index}`,
    body: {
      userId: 'chaos',
      amount: 1_000 + index,
      items: [
        { sku, quantity: random.integer(1, 5) },
        ...(fate <= 12 ? [{ sku: 'SOLD-OUT', quantity: 1 }] : []),
      ],
      paymentMethod: fate > 92 ? 'pm_declined' : 'pm_ok',
    },
    prefer: random.pick([undefined, 'respond-async', 'wait=5', 'wait=20']),
    copies: random.pick([1, 1, 1, 2, 3]),
    harms: Array.from({ length: random.pick([0, 1, 1, 1, 2, 2, 3]) }, () => ({
      harm: random.pick(HARMS),
      afterMs: random.integer(0, random.pick(HARM_WINDOWS_MS)),
      onRepair: random.chance(0.3),
      point: random.integer(0, 100) / 100,
    })),
    afterwards: random.pick([undefined, undefined, undefined, 'reset', 'delete', 'terminate']),
  };
}

/** Faults that stretch orders out and send them back, each for a few calls only. */
export function planFaults(random: Random, operations: readonly string[]): readonly object[] {
  return Array.from({ length: 8 }, () => {
    const fault = random.pick(['delay-after', 'delay-after', 'drop-after', 'error-before', 'hold']);
    return {
      operation: random.pick(operations),
      fault,
      times: random.integer(1, 8),
      ...(fault === 'delay-after' ? { delayMs: random.pick([200, 600, 1_200, 2_500]) } : {}),
    };
  });
}
