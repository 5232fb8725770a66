/**
 * `npm run bench`: ours and what people would pick instead, side by side. See docs/performance.md.
 *
 *   --quick          ours only, in less than two minutes, against the stored results
 *   --report         no run: writes docs/performance.md and its chart anew from the stored results
 *   --rounds N       3 unless given        --seconds N   of each phase, 8 unless given
 *   --only a,b       these systems only    --note TEXT   kept with the results
 *   --out FILE       instead of bench/results/latest.json, which the documents are made from
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { measureLimits } from './limits.js';
import { describeMachine } from './machine.js';
import { compareWithStored, RESULTS, summarize, writeResults } from './results.js';
import type { Limit, Round } from './results.js';
import { writeReport } from './report.js';
import { FULL, measure, QUICK } from './scenarios.js';
import { startOurs, startOursOnPostgres } from './systems/ours.js';
import { startDbos, startRestate, startSamples } from './systems/peers.js';
import { ROOT, SYSTEM_NAMES, withSystem } from './systems/system.js';
import type { StartSystem, SystemName } from './systems/system.js';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string', default: '8' },
    only: { type: 'string' },
    note: { type: 'string' },
    out: { type: 'string', default: relative(ROOT, RESULTS) },
  },
});

const STARTS: Readonly<Record<SystemName, StartSystem>> = {
  ours: startOurs,
  'ours-postgres': startOursOnPostgres,
  samples: startSamples,
  dbos: startDbos,
  restate: startRestate,
};

const begun = performance.now();
const say = (line: string): void => {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0).padStart(4);
  process.stdout.write(`[${seconds} s] ${line}\n`);
};
// What is under way is given up; everything that was started is stopped.
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (!stopping.signal.aborted) say(`${signal}: stopping …`);
    stopping.abort(new Error(`Stopped by ${signal}.`));
  });
}

if (values.report) {
  await writeReport();
} else {
  try {
    await run();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function run(): Promise<void> {
  const only = (values.only ?? (values.quick ? 'ours' : SYSTEM_NAMES.join())).split(',');
  const systems = SYSTEM_NAMES.filter((name) => only.includes(name));
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (systems.some((name) => !name.startsWith('ours'))) installPeers();
  say('building …');
  npm('run', '--silent', 'build');
  const results: Round[] = [];
  const failures: string[] = [];
  const limits: Limit[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // Each round begins with another system: whatever the machine does now and then hits none of them always.
    for (let turn = 0; turn < systems.length; turn += 1) {
      const system = systems[(turn + round - 1) % systems.length];
      if (system === undefined) continue;
      say(`round ${round} of ${rounds}: ${system}`);
      try {
        const measures = await withSystem(
          STARTS[system],
          { say, signal: stopping.signal },
          (running) =>
            measure(running, {
              phases: values.quick ? QUICK : FULL,
              seconds: Number(values.seconds),
              say,
              signal: stopping.signal,
            }),
        );
        results.push({ system, round, measures });
      } catch (error) {
        stopping.signal.throwIfAborted();
        const what = `${system}, round ${round}: ${error instanceof Error ? error.message : String(error)}`;
        failures.push(what);
        say(what);
      }
    }
    if (!values.quick)
      limits.push(...(await measureLimits({ round, say, signal: stopping.signal })));
  }
  if (values.quick) {
    for (const line of await compareWithStored(summarize(results))) say(line);
  } else {
    await writeResults(join(ROOT, values.out), {
      meta: {
        ...(await describeMachine()),
        rounds,
        secondsPerPhase: Number(values.seconds),
        ...(values.note !== undefined && { note: values.note }),
        failures,
        limits,
      },
      rows: summarize(results),
    });
    say(`written: ${values.out}`);
    if (join(ROOT, values.out) === RESULTS) await writeReport();
  }
  if (failures.length > 0) process.exitCode = 1;
}

/** The peers' packages are apart from the product's. */
function installPeers(): void {
  if (existsSync(join(ROOT, 'bench/node_modules/.package-lock.json'))) return;
  say('installing the peers …');
  // None of them needs a script; one of them phones home with its own.
  npm('ci', '--prefix', 'bench', '--ignore-scripts', '--no-audit', '--no-fund');
}

function npm(...args: string[]): void {
  execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}
