import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format } from 'prettier';
import { chart } from './chart.js';
import { find, median, ratio, readResults } from './results.js';
import type { Limit, Ratio, Results, Row } from './results.js';
import { ROOT } from './systems/system.js';
import type { SystemName } from './systems/system.js';

const PAGE = join(ROOT, 'docs/performance.md');
const CHART = join(ROOT, 'docs/performance.svg');
const TABLES = /(<!-- bench:begin -->)[^]*(<!-- bench:end -->)/;

const NAMES: Readonly<Record<SystemName, string>> = {
  ours: 'ours, `npm start`',
  'ours-postgres': 'ours, Temporal on Postgres',
  samples: 'Temporal as in its samples',
  dbos: 'DBOS',
  restate: 'Restate',
};

const PEERS = ['samples', 'dbos', 'restate'] as const;

/** Writes the tables of docs/performance.md, and its chart, from the stored results. */
export async function writeReport(): Promise<void> {
  const results = await readResults();
  const page = await readFile(PAGE, 'utf8');
  if (!TABLES.test(page)) throw new Error(`${PAGE} has no place for the tables.`);
  // By a function: a "$" in the tables must stay one.
  const filled = page.replace(TABLES, (_all, begin: string, end: string) =>
    [begin, tables(results), end].join('\n\n'),
  );
  await writeFile(PAGE, await format(filled, { parser: 'markdown', printWidth: 100 }));
  await writeFile(CHART, chart(results.rows));
}

function tables({ meta, rows }: Results): string {
  const { machine, versions } = meta;
  const phases = rows.filter(
    (row, index) =>
      rows.findIndex(
        (other) => other.scenario === row.scenario && other.inFlight === row.inFlight,
      ) === index,
  );
  return [
    `Commit ${meta.commit}, ${meta.at.slice(0, 10)}, ${machine.cores} cores of ${machine.cpu}, ` +
      `${machine.memoryGb} GB, ${machine.system}. Node ${versions.node}, Temporal CLI ${versions.temporalCli}, ` +
      `Temporal server ${versions.temporalServerOnPostgres} on Postgres, Temporal SDK ${versions.temporalSdk}, ` +
      `Postgres ${versions.postgres}, DBOS ${versions.dbos}, Restate ${versions.restateServer} with SDK ` +
      `${versions.restateSdk}. Medians of ${meta.rounds} rounds, ${meta.secondsPerPhase} s a phase.`,
    ...(meta.note === undefined ? [] : [`**${meta.note}**`]),
    ...meta.failures.map((failure) => `Failed: ${failure}`),
    table(
      [
        'what',
        'in flight',
        'system',
        'p50',
        'p99',
        'per second',
        'CPU each',
        'written each',
        'memory',
      ],
      rows.map((row) => [row.scenario, String(row.inFlight), NAMES[row.system], ...cells(row)]),
    ),
    `Ours (\`npm start\`) divided by each of the others, round by round: the median, and the lowest and highest ` +
      `of the rounds. Below 1 ours is faster in p50 and p99, above 1 in orders per second.`,
    table(
      ['what', 'in flight', 'against', 'p50', 'p99', 'per second'],
      phases.flatMap((phase) => PEERS.flatMap((peer) => ratioRow(rows, phase, peer))),
    ),
    'What no replay on this machine can beat:',
    table(['limit', 'in flight', 'p50', 'per second'], limitRows(meta.limits)),
  ].join('\n\n');
}

function cells(row: Row): string[] {
  return [
    ms(row.p50Ms),
    ms(row.p99Ms),
    row.perSecond.toFixed(row.perSecond < 100 ? 1 : 0),
    ms(row.cpuMs),
    `${row.writtenKb.toFixed(row.writtenKb < 10 ? 1 : 0)} kB`,
    `${row.memoryMb.toFixed(0)} MB`,
  ];
}

function ratioRow(rows: readonly Row[], phase: Row, peer: (typeof PEERS)[number]): string[][] {
  const ours = find(rows, 'ours', phase);
  const theirs = find(rows, peer, phase);
  if (ours === undefined || theirs === undefined) return [];
  const of = (name: 'p50Ms' | 'p99Ms' | 'perSecond'): string => span(ratio(ours, theirs, name));
  return [
    [
      phase.scenario,
      String(phase.inFlight),
      NAMES[peer],
      of('p50Ms'),
      of('p99Ms'),
      of('perSecond'),
    ],
  ];
}

function limitRows(limits: readonly Limit[]): string[][] {
  const names = { 'fastify-route': 'an empty Fastify route', 'postgres-read': 'a row by its key' };
  return (['fastify-route', 'postgres-read'] as const).flatMap((name) =>
    [1, 50].map((inFlight) => {
      const own = limits.filter((one) => one.limit === name && one.inFlight === inFlight);
      const of = (quantity: 'p50Ms' | 'perSecond'): number =>
        median(own.map((one) => one[quantity]));
      return [names[name], String(inFlight), ms(of('p50Ms')), of('perSecond').toFixed(0)];
    }),
  );
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;

const span = (one: Ratio | undefined): string =>
  one === undefined
    ? '–'
    : `${one.median.toFixed(2)} (${one.lowest.toFixed(2)}–${one.highest.toFixed(2)})`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cellsOf: readonly string[]): string => `| ${cellsOf.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
