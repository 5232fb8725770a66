import { ask, send } from './http.js';
import { came } from './until.js';

export type Operation = 'charge' | 'refund' | 'reserve' | 'release';

/** As `PUT /faults` of both services takes it. */
export interface ServiceFault {
  readonly operation: Operation;
  readonly orderId?: string;
  readonly fault: 'error-before' | 'drop-before' | 'drop-after' | 'delay-after' | 'hold';
  readonly times?: number;
  readonly delayMs?: number;
  readonly status?: number;
}

export interface SeenCall {
  readonly operation: Operation;
  readonly key: string;
  readonly orderId: string;
  readonly effect: boolean;
  readonly status: number | null;
  readonly at: string;
}

/** The fault endpoints and the call log of one service. All requests go past the links. */
export interface FaultDesk {
  readonly set: (faults: readonly ServiceFault[]) => Promise<boolean>;
  /** Whether every fault that has a number of times is used up. */
  readonly usedUp: (patienceMs: number) => Promise<boolean>;
  readonly release: () => Promise<number>;
  readonly calls: () => Promise<readonly SeenCall[]>;
  /**
   * Lets a fault befall every call of its operation until there is one, and from then on that order's alone.
   *
   * @returns the order; undefined where no call came by, and then there is no fault any more.
   */
  readonly catchOrder: (fault: ServiceFault, patienceMs: number) => Promise<string | undefined>;
  /** All calls seen so far, over restarts of the service too, as far as they were looked at before. */
  readonly seen: () => readonly SeenCall[];
}

export function createFaultDesk(url: string): FaultDesk {
  const seen = new Map<string, SeenCall>();
  let setAt = '';
  const calls = async (): Promise<readonly SeenCall[]> => {
    const all = (await ask<SeenCall[]>(`${url}/calls`)) ?? [];
    // Two calls of one key in the same millisecond are one here: this is a tally of sights, no book.
    for (const call of all) seen.set(`${call.operation} ${call.key} ${call.at}`, call);
    return all;
  };
  const set = async (list: readonly ServiceFault[]): Promise<boolean> => {
    setAt = new Date().toISOString();
    const sent = await send(`${url}/faults`, { method: 'PUT', body: JSON.stringify(list) });
    return sent.kind === 'ok' && sent.wire.status === 200;
  };
  const faults = async (): Promise<readonly ServiceFault[] | undefined> =>
    ask<ServiceFault[]>(`${url}/faults`);
  return {
    calls,
    seen: () => [...seen.values()],
    set,
    usedUp: (patienceMs) =>
      came(
        async () =>
          (await faults())?.every(({ times }) => times === undefined || times === 0) ?? false,
        patienceMs,
      ),
    release: async () => {
      const answer = await ask<{ released: number }>(`${url}/faults/release`, { method: 'POST' });
      return answer?.released ?? 0;
    },
    catchOrder: async (fault, patienceMs) => {
      if (!(await set([fault]))) return undefined;
      let orderId: string | undefined;
      await came(
        async () => {
          const met = (await calls()).find(
            ({ operation, at }) => operation === fault.operation && at >= setAt,
          );
          orderId = met?.orderId;
          return orderId !== undefined;
        },
        patienceMs,
        60,
      );
      await set(orderId === undefined ? [] : [{ ...fault, orderId }]);
      return orderId;
    },
  };
}
