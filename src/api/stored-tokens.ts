import type { Client, ClientStore } from '../store/clients.js';

/** 2 s: how long a revoked token may still be good, against a look at the database with each request. */
const KEPT_MS = 2_000;

/** 10,000 tokens in memory, some 3 MB; beyond that the oldest is forgotten, and looked up again. */
const MAX_KEPT = 10_000;

interface Kept {
  readonly client: Client;
  readonly readAtMs: number;
}

export type StoredTokens = ReturnType<typeof createStoredTokens>;

/**
 * The tokens that are kept in Postgres, each remembered for two seconds. Only good ones are: a token is
 * known as soon as it was made, and guesses fill no memory.
 *
 * Found by its digest, so the time that a look takes tells at most about a digest, from which no token
 * follows.
 *
 * @param nowMs the clock, for tests.
 */
export function createStoredTokens(store: Pick<ClientStore, 'find'>, nowMs = Date.now) {
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, Promise<Client | undefined>>();
  return { find };

  /**
   * Whose token has this digest; undefined where it is nobody's.
   *
   * @param beforeUnknown called before Postgres is asked for a token that was not known before.
   * @throws what the store threw, where it had to be asked: nobody is let in on a memory that is too old.
   */
  async function find(
    digest: string,
    beforeUnknown: () => Promise<void>,
  ): Promise<Client | undefined> {
    const found = kept.get(digest);
    if (found !== undefined && nowMs() - found.readAtMs < KEPT_MS) return found.client;
    if (found === undefined) await beforeUnknown();
    // Of a thousand requests with one token, one asks.
    const asked = underWay.get(digest) ?? ask(digest);
    return asked;
  }

  function ask(digest: string): Promise<Client | undefined> {
    // Before the question, not after the answer: what is revoked meanwhile must not count as read later.
    const readAtMs = nowMs();
    const asking = store.find(digest).then((client) => {
      kept.delete(digest);
      if (client !== undefined) keep(digest, { client, readAtMs });
      return client;
    });
    underWay.set(digest, asking);
    const forget = (): void => void underWay.delete(digest);
    asking.then(forget, forget);
    return asking;
  }

  function keep(digest: string, one: Kept): void {
    kept.set(digest, one);
    // A Map keeps the order of insertion: its first key is the one that was read longest ago.
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  }
}
