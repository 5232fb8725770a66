import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Clients } from './clients.js';
import type { FaultDesk } from './downstream.js';
import { LANES } from './faults.js';
import type { LaneName, PlannedFault } from './faults.js';
import type { Recorder } from './journal.js';
import type { Product } from './product.js';
import { createRandom } from './random.js';
import type { Random } from './random.js';
import { came } from './until.js';

/** What a fault has to work with. */
export interface Battlefield {
  readonly product: Product;
  readonly payment: FaultDesk;
  readonly inventory: FaultDesk;
  readonly temporal: Client;
  readonly clients: Clients;
  readonly random: Random;
  /** Waits for an order to be in the middle of things, then puts the begin of the fault on record. */
  readonly strike: () => Promise<void>;
  /** Says that the fault didn't show what it is there for, as another one came between: it is caused again. */
  readonly miss: () => void;
}

/** 3 s: with several orders a second there is one under way long before. */
const MID_ORDER_PATIENCE_MS = 3_000;

/** 3 at a time: with more, hardly an order is confirmed, and a product that does nothing does nothing wrong. */
const AT_A_TIME = 3;

/** 3 rounds: a fault that missed gets two more chances; then the coverage says that its sight is missing. */
const MAX_ROUNDS_MISSED = 3;

export interface Nemesis {
  /** Draws and causes faults until `signal`, and every fault once even if that takes longer. */
  readonly rage: (signal: AbortSignal) => Promise<void>;
  readonly count: () => number;
}

/**
 * Causes faults, several at a time: each lane goes through its own list in a drawn order, again and again. Two faults
 * of one lane would spoil each other (a service that is killed forgets its faults), those of different lanes may meet.
 *
 * @param calmMs the longest pause between two faults of a lane.
 * @param wanted names the faults to cause.
 */
export function createNemesis(
  seed: string,
  field: Omit<Battlefield, 'strike' | 'miss' | 'random'>,
  recorder: Recorder,
  calmMs: number,
  wanted: RegExp,
  say: (line: string) => void,
): Nemesis {
  let count = 0;
  const turn = createTurns(AT_A_TIME);

  async function cause(fault: PlannedFault, random: Random): Promise<boolean> {
    const { clients } = field;
    const struck = { begun: false, missed: false };
    const record = (edge: 'start' | 'end'): void =>
      recorder.record({ type: 'fault', edge, name: fault.name, inFlight: clients.inFlight() });
    const strike = async (): Promise<void> => {
      await came(() => clients.inFlight() > 0, MID_ORDER_PATIENCE_MS, 10);
      struck.begun = true;
      count += 1;
      record('start');
    };
    const miss = (): void => {
      struck.missed = true;
    };
    try {
      await fault.cause({ ...field, random, strike, miss });
    } catch (error) {
      say(`  ${fault.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (struck.begun) record('end');
    return struck.begun && !struck.missed;
  }

  /** One round after the other until the signal; the first one is gone through to its end. */
  async function runLane(name: LaneName, signal: AbortSignal): Promise<void> {
    const random = createRandom(seed, `faults/${name}`);
    const faults = LANES[name].filter((fault) => wanted.test(fault.name));
    const missing = new Set(faults.map((fault) => fault.name));
    const isOver = (): boolean => signal.aborted;
    if (faults.length === 0) return;
    for (let round = 1; round <= MAX_ROUNDS_MISSED || !isOver(); round += 1) {
      for (const fault of random.shuffled(faults)) {
        const pauseMs = random.between(0, calmMs);
        if (isOver() && !missing.has(fault.name)) continue;
        await sleep(pauseMs);
        await turn.take();
        const isCaused = await cause(fault, random).finally(turn.pass);
        if (isCaused) missing.delete(fault.name);
      }
      if (isOver() && missing.size === 0) return;
    }
  }

  return {
    count: () => count,
    rage: async (signal) => {
      await Promise.all(Object.keys(LANES).map((name) => runLane(name as LaneName, signal)));
    },
  };
}

/** Lets some at a time go on, first come, first served. */
function createTurns(atATime: number) {
  const waiting: (() => void)[] = [];
  let free = atATime;
  return {
    take: async (): Promise<void> => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    pass: (): void => {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    },
  };
}
