import type { ServerResponse } from 'node:http';
import pLimit from 'p-limit';
import type { OutcomeFeed } from '../store/outcome-feed.js';
import type { Answer, Claims, Intent } from './idempotency/claims.js';

/** 1 s between looks at the row, in case that the feed missed something: a lost connection, a failover. */
const LOOK_INTERVAL_MS = 1_000;

/** 5,000 requests that wait, some 100 MB; those beyond are answered 202 at once: their orders are on their way. */
const MAX_WAITS = 5_000;

/** 10 looks at a time: those who wait must not crowd out of the database what they wait for. */
const MAX_LOOKS = 10;

export interface Waiting {
  /**
   * Waits for the saved answer of an intent.
   *
   * @param seconds 0 does not wait at all.
   * @param response a client that goes away is not waited for.
   * @returns the answer; undefined at the end of the time, and at once in a drain or where too many wait.
   */
  readonly untilAnswered: (
    intent: Intent,
    seconds: number,
    response: ServerResponse,
  ) => Promise<Answer | undefined>;
}

/**
 * Holds requests that wait for their order's end.
 *
 * They wait for the saved answer, not for the workflow's result: the answer is final with its row, some
 * round trips before the workflow is closed, and waiting costs Temporal nothing.
 *
 * @param draining comes when the process is to stop: every waiting request is then answered at once.
 */
export function createWaiting(
  claims: Claims,
  feed: OutcomeFeed,
  draining: AbortSignal,
  maxWaits = MAX_WAITS,
): Waiting {
  const looks = pLimit(MAX_LOOKS);
  const waits = new Set<() => void>();
  // One listener for all: a signal that lives as long as the process must not gather one a request.
  draining.addEventListener('abort', () => {
    for (const end of waits) end();
  });

  return {
    untilAnswered: (intent, seconds, response) => {
      const isPointless = seconds === 0 || draining.aborted || response.destroyed;
      if (isPointless || waits.size >= maxWaits) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        let looking = 0;
        const settle = (answer: Answer | undefined): void => {
          clearTimeout(limit);
          clearInterval(look);
          waits.delete(end);
          response.off('close', end);
          forget();
          resolve(answer);
        };
        const end = (): void => settle(undefined);
        const limit = setTimeout(end, seconds * 1_000);
        const lookAndSettle = (): void => {
          looking += 1;
          void looks(() => (waits.has(end) ? lookAtRow() : Promise.resolve(undefined)))
            .then((answer) => answer && settle(answer))
            .finally(() => (looking -= 1));
        };
        const look = setInterval(() => {
          if (looking === 0) lookAndSettle();
        }, LOOK_INTERVAL_MS);
        waits.add(end);
        response.on('close', end);
        // The word may be about an earlier order of the same key, so the row decides.
        const forget = feed.onSaved(intent.workflowId, lookAndSettle);
      });

      async function lookAtRow(): Promise<Answer | undefined> {
        try {
          const claim = await claims.find(intent);
          return claim?.kind === 'answered' ? claim.answer : undefined;
        } catch {
          // Postgres is away: the wait goes on, and ends at its time at the latest.
          return undefined;
        }
      }
    },
  };
}
