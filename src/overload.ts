import pLimit from 'p-limit';

/** Thrown where too much is waiting for something that is there: what was asked was not begun. */
export class Overloaded extends Error {
  constructor(what: string) {
    super(`${what}: too many wait, or one waited for too long.`);
    this.name = 'Overloaded';
  }
}

export interface GateLimits {
  /** What may be under way at once. */
  readonly inFlight: number;
  /** How many may wait for their turn. */
  readonly waiting: number;
}

export type Gate = ReturnType<typeof createGate>;

/** Lets so much through at a time, and so much wait; turns the rest away, at once or when it waited in vain. */
export function createGate(what: string, { inFlight, waiting }: GateLimits) {
  const limit = pLimit(inFlight);
  return {
    /**
     * @param waitMs how long this one may wait for its turn.
     * @throws Overloaded before `act` is called, or what `act` throws.
     */
    run<T>(waitMs: number, act: () => Promise<T>): Promise<T> {
      if (limit.activeCount + limit.pendingCount >= inFlight + waiting) {
        return Promise.reject(new Overloaded(what));
      }
      return new Promise<T>((resolve, reject) => {
        let gaveUp = false;
        const timer = setTimeout(() => {
          gaveUp = true;
          reject(new Overloaded(what));
        }, waitMs);
        void limit(async () => {
          clearTimeout(timer);
          if (!gaveUp) await act().then(resolve, reject);
        });
      });
    },
  };
}
