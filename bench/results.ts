import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { format } from 'prettier';
import type { Machine } from './machine.js';
import type { Measure, Phase, Scenario } from './scenarios.js';
import { ROOT, SYSTEM_NAMES } from './systems/system.js';
import type { SystemName } from './systems/system.js';

export const RESULTS = join(ROOT, 'bench/results/latest.json');

/** One system in one round. */
export interface Round {
  readonly system: SystemName;
  readonly round: number;
  readonly measures: readonly (Phase & Measure)[];
}

/** Medians over the rounds, and the rounds themselves. */
export interface Row extends Measure {
  readonly system: SystemName;
  readonly scenario: Scenario;
  readonly inFlight: number;
  readonly rounds: readonly (Measure & { readonly round: number })[];
}

/** Something that no system can beat on this machine. */
export interface Limit {
  readonly limit: 'fastify-route' | 'postgres-read';
  readonly round: number;
  readonly inFlight: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

export interface Results {
  readonly meta: Machine & {
    readonly rounds: number;
    readonly secondsPerPhase: number;
    readonly note?: string;
    /** What went wrong; a system that lost a promise has no row for that round. */
    readonly failures: readonly string[];
    readonly limits: readonly Limit[];
  };
  readonly rows: readonly Row[];
}

const MEASURES = ['p50Ms', 'p99Ms', 'perSecond', 'cpuMs', 'writtenKb', 'memoryMb'] as const;
type Quantity = (typeof MEASURES)[number];

export function summarize(rounds: readonly Round[]): readonly Row[] {
  const phases = rounds[0]?.measures ?? [];
  return SYSTEM_NAMES.flatMap((system) =>
    phases.flatMap(({ scenario, inFlight }) => {
      const own = rounds
        .filter((round) => round.system === system)
        .flatMap(({ round, measures }) =>
          measures
            .filter((one) => one.scenario === scenario && one.inFlight === inFlight)
            .map((one) => ({ round, ...rounded(one) })),
        );
      if (own.length === 0) return [];
      const of = (quantity: Quantity): number => median(own.map((one) => one[quantity]));
      const medians = Object.fromEntries(MEASURES.map((name) => [name, of(name)]));
      const requests = own.reduce((sum, one) => sum + one.requests, 0);
      const row = { system, scenario, inFlight, ...medians, requests, rounds: own };
      return [row as unknown as Row];
    }),
  );
}

/** Ours against another system, round by round: what the machine did in a round, it did to both. */
export interface Ratio {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

export function ratio(one: Row, other: Row, quantity: Quantity): Ratio | undefined {
  const ratios = one.rounds.flatMap((mine) => {
    const theirs = other.rounds.find(({ round }) => round === mine.round);
    return theirs === undefined ? [] : [mine[quantity] / theirs[quantity]];
  });
  if (ratios.length === 0) return undefined;
  return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
}

export function find(
  rows: readonly Row[],
  system: SystemName,
  { scenario, inFlight }: Phase,
): Row | undefined {
  return rows.find(
    (row) => row.system === system && row.scenario === scenario && row.inFlight === inFlight,
  );
}

export async function readResults(): Promise<Results> {
  return JSON.parse(await readFile(RESULTS, 'utf8')) as Results;
}

export async function writeResults(path: string, results: Results): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, await format(JSON.stringify(results), { parser: 'json', printWidth: 100 }));
}

/** Lines for a person: how ours has changed since the stored run, which may be of another machine. */
export async function compareWithStored(rows: readonly Row[]): Promise<readonly string[]> {
  const stored = await readResults();
  const lines = rows.flatMap((row) => {
    const before = find(stored.rows, row.system, row);
    if (before === undefined) return [];
    const change = (name: Quantity): string => `${name} × ${(row[name] / before[name]).toFixed(2)}`;
    const changes = (['p50Ms', 'p99Ms', 'perSecond', 'cpuMs', 'writtenKb'] as const).map(change);
    return [`${row.system} ${row.scenario} × ${row.inFlight}: ${changes.join(', ')}`];
  });
  const { machine, commit, at } = stored.meta;
  return [
    `against the stored run of ${commit}, ${at}, on ${machine.cores} × ${machine.cpu}:`,
    ...lines,
  ];
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = NaN, high = NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return (low + high) / 2;
}

/** Three digits behind the point are more than the machine gives. */
function rounded(measure: Measure): Measure {
  const digits = (value: number): number => Math.round(value * 1_000) / 1_000;
  return {
    ...(Object.fromEntries(MEASURES.map((name) => [name, digits(measure[name])])) as Record<
      Quantity,
      number
    >),
    requests: measure.requests,
  };
}
