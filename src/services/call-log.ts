import type { Operation } from './faults.js';

/** One call as it was seen, whatever became of it. */
export interface Call {
  readonly operation: Operation;
  readonly key: string;
  readonly orderId: string;
  /** Whether this call wrote a line of the ledger. A repeat, a refusal and a dropped call did not. */
  effect: boolean;
  /** Null until an answer was sent, and for ever where none was. */
  status: number | null;
  /** When it arrived, ISO 8601. */
  readonly at: string;
}

/** 100,000 calls, some 30 MB: more than any load test's hour. Beyond it the oldest tenth is forgotten. */
const MAX_CALLS = 100_000;

export type CallLog = ReturnType<typeof createCallLog>;

/**
 * Every call since the process started, in the order of arrival: effects are in the ledger, attempts only
 * here. It is kept in memory and bounded, as it is a witness for tests and not part of the books.
 *
 * @param maxCalls at least 10.
 */
export function createCallLog(maxCalls: number = MAX_CALLS) {
  const calls: Call[] = [];
  return {
    /** @returns the entry, for its owner to complete. */
    record(operation: Operation, key: string, orderId: string): Call {
      if (calls.length >= maxCalls) calls.splice(0, Math.ceil(maxCalls / 10));
      const at = new Date().toISOString();
      const call: Call = { operation, key, orderId, effect: false, status: null, at };
      calls.push(call);
      return call;
    },

    /** @param orderId undefined for every order. */
    list(orderId: string | undefined): readonly Call[] {
      return orderId === undefined ? calls : calls.filter((call) => call.orderId === orderId);
    },
  };
}
