import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { aFailingOrder, anOrder, drive, percentile, post } from './load.js';
import type { Answer, Driven, Shot } from './load.js';
import { Ledgers } from './ledgers.js';
import type { System } from './systems/system.js';
import { usageOf, writtenBytes } from './usage.js';

export const SCENARIOS = ['order', 'failing', 'replay'] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** What is measured of one scenario, with so many requests in flight. */
export interface Phase {
  readonly scenario: Scenario;
  readonly inFlight: number;
}

export interface Measure {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
  /** CPU time of all processes of the system, per request. */
  readonly cpuMs: number;
  /** To the disk, by everybody on it, per request; 0 where it is not known. */
  readonly writtenKb: number;
  /** Of all processes together, right after the load. */
  readonly memoryMb: number;
  readonly requests: number;
}

export const FULL: readonly Phase[] = [
  { scenario: 'order', inFlight: 1 },
  { scenario: 'order', inFlight: 8 },
  { scenario: 'order', inFlight: 50 },
  { scenario: 'order', inFlight: 200 },
  { scenario: 'failing', inFlight: 1 },
  { scenario: 'failing', inFlight: 8 },
  { scenario: 'replay', inFlight: 1 },
  { scenario: 'replay', inFlight: 50 },
];

export const QUICK: readonly Phase[] = [
  { scenario: 'order', inFlight: 1 },
  { scenario: 'order', inFlight: 8 },
  { scenario: 'order', inFlight: 50 },
  { scenario: 'failing', inFlight: 8 },
  { scenario: 'replay', inFlight: 50 },
];

/** Compilers and pools are warm after some hundred orders. A stock dev server gets there by time, not by number. */
const WARM_UP = { inFlight: 16, seconds: 12, maxRequests: 400 };

/** What is still to be done for orders that have been answered is done by then, and counts as their CPU. */
const SETTLE_MS = 500;

export interface MeasureOptions {
  readonly phases: readonly Phase[];
  readonly seconds: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Checks that a system keeps the contract, warms it up, measures each phase, and checks its ledgers in the end.
 *
 * @throws Error where an answer or a ledger is wrong.
 */
export async function measure(
  system: System,
  { phases, seconds, say, signal }: MeasureOptions,
): Promise<readonly (Phase & Measure)[]> {
  const ledgers = new Ledgers(system);
  await checkContract(system, ledgers);
  ledgers.expect(await drive(system, { ...WARM_UP, next: anOrder, signal }));
  const measured: (Phase & Measure)[] = [];
  for (const phase of phases) {
    const next = await shotsOf(phase.scenario, system, ledgers);
    const before = await usageOf(system.pids);
    const writtenBefore = (await writtenBytes(tmpdir())) ?? 0;
    const driven = await drive(system, { inFlight: phase.inFlight, seconds, next, signal });
    await sleep(SETTLE_MS);
    const after = await usageOf(system.pids);
    const written = ((await writtenBytes(tmpdir())) ?? 0) - writtenBefore;
    if (phase.scenario === 'replay') checkReplays(driven);
    else ledgers.expect(driven);
    const requests = driven.milliseconds.length;
    const row = {
      ...phase,
      p50Ms: percentile(driven.milliseconds, 0.5),
      p99Ms: percentile(driven.milliseconds, 0.99),
      perSecond: requests / driven.seconds,
      cpuMs: (after.cpuMs - before.cpuMs) / requests,
      writtenKb: written / 1_024 / requests,
      memoryMb: after.memoryMb,
      requests,
    };
    measured.push(row);
    say(
      `  ${phase.scenario} × ${phase.inFlight}: p50 ${row.p50Ms.toFixed(1)} ms, p99 ${row.p99Ms.toFixed(1)} ms, ` +
        `${row.perSecond.toFixed(1)}/s, ${row.cpuMs.toFixed(1)} ms CPU, ${row.writtenKb.toFixed(0)} kB, ` +
        `${row.memoryMb.toFixed(0)} MB`,
    );
  }
  await ledgers.check();
  return measured;
}

async function shotsOf(scenario: Scenario, system: System, ledgers: Ledgers): Promise<() => Shot> {
  if (scenario === 'order') return anOrder;
  if (scenario === 'failing') return aFailingOrder;
  const shot = anOrder();
  const [answer] = await postAll(system, [shot]);
  ledgers.expect({ answers: answer === undefined ? [] : [answer] });
  return () => shot;
}

function checkReplays({ answers }: Driven): void {
  const bodies = new Set(answers.map(({ body }) => body));
  if (bodies.size !== 1) throw new Error(`one key got ${bodies.size} different answers`);
  if (!answers.every(({ replayed }) => replayed)) throw new Error('a replay is not marked as one');
}

/** The promises that all of them are asked to keep. */
async function checkContract(system: System, ledgers: Ledgers): Promise<void> {
  const shot = anOrder();
  const other = { ...shot, body: shot.body.replace('1000', '2000') };
  const [first, again, reused, soldOut] = await postAll(system, [
    shot,
    shot,
    other,
    aFailingOrder(),
  ]);
  if (first?.status !== 201) throw new Error(`the first order: ${JSON.stringify(first)}`);
  if (again?.status !== 201 || again.body !== first.body || !again.replayed) {
    throw new Error(`the same again: ${JSON.stringify(again)}`);
  }
  if (reused?.status !== 409) throw new Error(`another body: ${JSON.stringify(reused)}`);
  if (soldOut?.status !== 422) throw new Error(`sold out: ${JSON.stringify(soldOut)}`);
  ledgers.expect({ answers: [first, soldOut] });
}

async function postAll(system: System, shots: readonly Shot[]): Promise<readonly Answer[]> {
  const agent = new Agent({ keepAlive: true });
  try {
    const answers: Answer[] = [];
    for (const shot of shots) answers.push(await post(system, agent, shot));
    return answers;
  } finally {
    agent.destroy();
  }
}
