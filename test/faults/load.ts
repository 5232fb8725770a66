import { randomUUID } from 'node:crypto';
import { retried } from '../support/wire.js';
import type { WireAnswer } from '../support/wire.js';
import { ORDER, WAIT } from './orders.js';
import type { Rig } from './rig.js';

/** Clients that place one order after another, and repeat what was not answered. */
export interface Load {
  /** Every status that was seen, those of repeated requests too. */
  readonly statuses: ReadonlySet<number>;
  readonly answers: readonly WireAnswer[];
  /** Lets the clients come to an end. @returns the orders that were placed. */
  readonly stop: () => Promise<readonly string[]>;
}

const going = new Set<() => void>();

/** Lets the clients of a test that has failed go, or they would ask for ever. */
export function endLoads(): void {
  for (const leave of going) leave();
}

export function load(rig: Rig, clients: number): Load {
  const statuses = new Set<number>();
  const answers: WireAnswer[] = [];
  let isGoing = true;
  const leave = (): void => {
    isGoing = false;
    going.delete(leave);
  };
  going.add(leave);
  const placeOne = async (): Promise<void> => {
    const key = randomUUID();
    const answer = await retried(async () => {
      const one = await rig.post(ORDER, { key, headers: WAIT });
      statuses.add(one.status);
      return one;
    });
    answers.push(answer);
  };
  const running = Array.from({ length: clients }, async () => {
    while (isGoing) await placeOne();
  });
  return {
    statuses,
    answers,
    stop: async () => {
      leave();
      await Promise.all(running);
      return answers.map(({ json }) => String(json['orderId']));
    },
  };
}
