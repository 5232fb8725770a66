import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** The channel on which `saveOutcome` tells of a saved answer; the payload is the workflow's ID. */
export const OUTCOME_CHANNEL = 'order_outcomes';

/** 1 s before the connection is tried again; meanwhile those who wait look at the row themselves. */
const RECONNECT_MS = 1_000;

/** 10 s: far longer than from a start to the moment its request begins to wait. */
const REMEMBER_MS = 10_000;

export interface OutcomeFeed {
  /**
   * Calls back once when a workflow's outcome is saved, at once where it was within the last seconds.
   *
   * It may stay silent while Postgres is away: whoever needs to be sure looks at the row now and then.
   *
   * @returns what ends the interest.
   */
  readonly onSaved: (workflowId: string, wake: () => void) => () => void;
  readonly close: () => Promise<void>;
}

/** Hears of saved outcomes over one connection, which it opens again whenever it is lost. */
export function listenForOutcomes(
  connectionString: string,
  onError: (error: unknown) => void,
): OutcomeFeed {
  const waiting = new Map<string, Set<() => void>>();
  /** Workflow IDs by when they were heard of, oldest first. */
  const recent = new Map<string, number>();
  const closing = new AbortController();
  let client: pg.Client | undefined;

  const hear = (workflowId: string): void => {
    // Steady: a clock that is set back would keep them for as long as it was set.
    const now = performance.now();
    recent.set(workflowId, now);
    for (const [id, heardAt] of recent) {
      if (now - heardAt < REMEMBER_MS) break;
      recent.delete(id);
    }
    for (const wake of waiting.get(workflowId) ?? []) wake();
  };

  const stayConnected = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        await listenUntilLost();
      } catch (error) {
        onError(error);
      }
      await sleep(RECONNECT_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };

  async function listenUntilLost(): Promise<void> {
    const one = new pg.Client({
      connectionString,
      application_name: 'order-saga outcomes',
      keepAlive: true,
    });
    client = one;
    const lost = new Promise<void>((resolve) => {
      one.on('error', onError);
      one.on('end', resolve);
    });
    one.on('notification', ({ payload }) => hear(payload ?? ''));
    try {
      // `pg` 8 never settles a connect that is ended on its way, as by a stop right after the start.
      await Promise.race([one.connect(), lost]);
      if (!closing.signal.aborted) {
        await one.query(`listen ${OUTCOME_CHANNEL}`);
        await lost;
      }
    } finally {
      await one.end().catch(() => undefined);
    }
  }

  const connected = stayConnected();
  return {
    onSaved: (workflowId, wake) => {
      // Not before this returns: the caller has to have what ends its interest.
      if (recent.has(workflowId)) queueMicrotask(wake);
      const wakes = waiting.get(workflowId) ?? new Set();
      waiting.set(workflowId, wakes.add(wake));
      return () => {
        wakes.delete(wake);
        if (wakes.size === 0) waiting.delete(workflowId);
      };
    },
    close: async () => {
      closing.abort();
      await client?.end().catch(() => undefined);
      await connected;
    },
  };
}
