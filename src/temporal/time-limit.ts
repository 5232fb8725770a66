import type { ConnectionLike } from '@temporalio/client';

/** Thrown when Temporal gave no answer in time; what was asked may still happen. */
export class TemporalTimeout extends Error {
  constructor(limitMs: number) {
    super(`Temporal gave no answer within ${limitMs} ms.`);
    this.name = 'TemporalTimeout';
  }
}

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
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TemporalTimeout(limitMs)), limitMs);
  });
  try {
    return await Promise.race([connection.withDeadline(Date.now() + limitMs, call), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
