import type { ConnectionLike } from '@temporalio/client';
import { createGate } from '../overload.js';
import type { Gate } from '../overload.js';
import { withinTimeLimit } from './time-limit.js';

/**
 * 100 calls at once over one connection, each of some milliseconds: more would only wait in the server, and run
 * out of time there. 5,000 wait for their turn, some 10 MB.
 */
const LIMITS = { inFlight: 100, waiting: 5_000 };

const gates = new WeakMap<ConnectionLike, Gate>();

/**
 * Calls Temporal for an order, for `limitMs` at most, after a wait of as long for its turn. Probes call
 * without a turn: they must be answered when all else waits.
 *
 * @throws Overloaded where it did not get its turn; TemporalTimeout, or what the call threw.
 */
export function boundedCall<T>(
  connection: ConnectionLike,
  limitMs: number,
  call: () => Promise<T>,
): Promise<T> {
  const gate = gates.get(connection) ?? createGate('calls to Temporal', LIMITS);
  gates.set(connection, gate);
  return gate.run(limitMs, () => withinTimeLimit(connection, limitMs, call));
}
