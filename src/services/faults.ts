import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import type { Static } from 'typebox';

/** The operations of both services: one list of faults may be sent to either. */
export const OPERATIONS = ['charge', 'refund', 'reserve', 'release'] as const;
export type Operation = (typeof OPERATIONS)[number];

const FAULT_KINDS = ['error-before', 'drop-before', 'drop-after', 'delay-after', 'hold'] as const;

/** 1 s: late enough to be seen, short enough for a caller that waits. */
const DEFAULT_DELAY_MS = 1_000;
/** 10 min: later than any caller waits, and a typing error does not hold a socket for a day. */
const MAX_DELAY_MS = 600_000;
const DEFAULT_STATUS = 500;

export const Fault = Type.Object(
  {
    operation: Type.Enum(OPERATIONS),
    /** Left out: any order. */
    orderId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    fault: Type.Enum(FAULT_KINDS),
    /** How many calls it befalls. Left out: every one until it is removed. */
    times: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    /** Of `delay-after`. */
    delayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_DELAY_MS })),
    /** Of `error-before`: an error, or a redirect that the caller must not follow. */
    status: Type.Optional(Type.Integer({ minimum: 300, maximum: 599 })),
  },
  { additionalProperties: false },
);
export type Fault = Static<typeof Fault>;

/** 1,000 faults: each is looked at on every call. */
export const FaultList = Type.Array(Fault, { maxItems: 1_000 });

/** How a held call goes on: to its effect, or nowhere, as the service is closing. */
export type HoldEnd = 'released' | 'closed';

export interface HeldCall {
  readonly end: HoldEnd;
  /** To be called when the effect is done or has failed: a release waits for it. */
  readonly done: () => void;
}

/** What a fault does to a call. Undefined where none applies. */
export type AppliedFault =
  | { readonly kind: 'error-before'; readonly status: number }
  | { readonly kind: 'drop-before' | 'drop-after' | 'hold' }
  | { readonly kind: 'delay-after'; readonly delayMs: number };

export type Faults = ReturnType<typeof createFaults>;

/**
 * The faults to inject, and the calls that are being held. In memory: a restart heals everything, and a
 * held call is then lost without an effect, as a request on the wire would be.
 */
export function createFaults() {
  let faults: Fault[] = [];
  let waiting: ((end: HoldEnd) => Promise<void>)[] = [];
  const closing = new AbortController();

  return {
    /** Replaces the list; calls that are held stay held. */
    replace(list: readonly Fault[]): void {
      faults = list.map((fault) => ({ ...fault }));
    },

    /** The list, `times` being what is left; 0 where a fault is used up. */
    list: (): readonly Fault[] => faults,

    /** Uses up one time of the first fault that matches and has one left. */
    take(operation: Operation, orderId: string): AppliedFault | undefined {
      const fault = faults.find(
        (one) =>
          one.operation === operation &&
          (one.orderId === undefined || one.orderId === orderId) &&
          one.times !== 0,
      );
      if (fault === undefined) return undefined;
      if (fault.times !== undefined) fault.times -= 1;
      return toAppliedFault(fault);
    },

    /** Waits for a release, or for the close. It does not end when the client goes away. */
    hold(): Promise<HeldCall> {
      if (closing.signal.aborted) return Promise.resolve({ end: 'closed', done: () => undefined });
      return new Promise((resolveHold) => {
        waiting.push(
          (end) =>
            new Promise<void>((done) => {
              resolveHold({ end, done });
            }),
        );
      });
    },

    /** Lets every call go that is held now. @returns their number, when their effects are done. */
    async release(): Promise<number> {
      const released = waiting;
      waiting = [];
      await Promise.all(released.map((letGo) => letGo('released')));
      return released.length;
    },

    /** Waits, at most until the close: an answer that is late anyway need not delay a shutdown. */
    async delay(delayMs: number): Promise<void> {
      await sleep(delayMs, undefined, { signal: closing.signal }).catch(() => undefined);
    },

    /** Ends all waiting. Held calls go without an effect: their callers have no answer and will repeat. */
    close(): void {
      closing.abort();
      const dropped = waiting;
      waiting = [];
      for (const letGo of dropped) void letGo('closed');
    },
  };
}

function toAppliedFault({ fault, status, delayMs }: Fault): AppliedFault {
  switch (fault) {
    case 'error-before':
      return { kind: fault, status: status ?? DEFAULT_STATUS };
    case 'delay-after':
      return { kind: fault, delayMs: delayMs ?? DEFAULT_DELAY_MS };
    default:
      return { kind: fault };
  }
}
