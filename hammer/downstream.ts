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
  /** The order whose call of this operation is under way or was seen since, as soon as there is one. */
  readonly caught: (operation: Operation, patienceMs: number) => Promise<string | undefined>;
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
  const faults = async (): Promise<readonly ServiceFault[] | undefined> =>
    ask<ServiceFault[]>(`${url}/faults`);
  return {
    calls,
    seen: () => [...seen.values()],
    set: async (list) => {
      setAt = new Date().toISOString();
      const sent = await send(`${url}/faults`, { method: 'PUT', body: JSON.stringify(list) });
      return sent.kind === 'ok' && sent.wire.status === 200;
    },
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
    caught: async (operation, patienceMs) => {
      let orderId: string | undefined;
      await came(
        async () => {
          if (
            (await faults())?.some((one) => one.operation === operation && one.times === 0) !== true
          ) {
            return false;
          }
          const found = (await calls()).find(
            (call) => call.operation === operation && call.at >= setAt,
          );
          orderId = found?.orderId;
          return orderId !== undefined;
        },
        patienceMs,
        30,
      );
      return orderId;
    },
  };
}
