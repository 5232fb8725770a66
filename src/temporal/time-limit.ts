import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';

/** Thrown when Temporal gave no answer in time; what was asked may still happen. */
export class TemporalTimeout extends Error {
  constructor(limitMs: number) {
    super(`Temporal gave no answer within ${limitMs} ms.`);
    this.name = 'TemporalTimeout';
  }
}

/** Calls that were given up and have not noticed yet, by their connection. */
const underWay = new WeakMap<ConnectionLike, Set<Promise<unknown>>>();

/**
 * Calls Temporal for `limitMs` at most.
 *
 * A deadline alone is not kept: the SDK retries calls, and notices a passed deadline only after its backoff.
 *
 * @throws TemporalTimeout, or what the call threw.
 */
export async function withinTimeLimit<T>(
  connection: ConnectionLike,
  limitMs: number,
  call: () => Promise<T>,
): Promise<T> {
  const calling = connection.withDeadline(Date.now() + limitMs, call);
  const calls = underWay.get(connection) ?? new Set();
  underWay.set(connection, calls.add(calling));
  const forget = (): void => void calls.delete(calling);
  calling.then(forget, forget);

  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TemporalTimeout(limitMs)), limitMs);
  });
  try {
    return await Promise.race([calling, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for calls that were given up, before their connection is closed: one that is retried on a closed
 * connection throws where nobody can catch it (SDK 1.24).
 */
export async function callsToEnd(connection: ConnectionLike, limitMs: number): Promise<void> {
  const calls = [...(underWay.get(connection) ?? [])];
  const waiting = new AbortController();
  await Promise.race([
    Promise.allSettled(calls),
    sleep(limitMs, undefined, { signal: waiting.signal }).catch(() => undefined),
  ]);
  waiting.abort();
}
