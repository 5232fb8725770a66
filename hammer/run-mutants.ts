import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { MUTANTS } from './mutants.js';
import type { Mutant } from './mutants.js';

/**
 * `npm run mutants`: plants each bug of the list into a copy of the product, lets the hammer judge it, and writes the
 * table of docs/faults.md. A bug that is not caught means that the hammer is too weak.
 *
 * Exit codes: 0 all were caught; 1 one was not; 2 one could not be planted or built.
 */
const { values } = parseArgs({
  options: {
    /** Only those whose name contains this. */
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    /** Where verdicts are kept: the table is of all that are known, so that it can be made in parts. */
    verdicts: { type: 'string', default: '.hammer/mutants.json' },
  },
});

/** As many seeds as a CI run of the hammer has. */
const SEEDS = [values.seed, `${values.seed}-again`];

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TABLE = join(ROOT, 'docs/faults.md');
const BEGIN = '<!-- mutants: written by npm run mutants -->';
const END = '<!-- end of mutants -->';

/** What a build takes; the modules are only linked. */
const COPIED = [
  'src',
  'dist',
  'migrations',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

interface Verdict {
  readonly mutant: Mutant;
  readonly isCaught: boolean;
  readonly by: string;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: ROOT });
await mkdir(dirname(resolve(values.verdicts)), { recursive: true });
const known = await readVerdicts();
const verdicts: Verdict[] = [];
for (const mutant of MUTANTS.filter(({ name }) => name.includes(values.only))) {
  const verdict = await tryMutant(mutant);
  verdicts.push(verdict);
  known[mutant.name] = verdict;
  await writeFile(values.verdicts, JSON.stringify(known, null, 2));
}
const caught = verdicts.filter(({ isCaught }) => isCaught).length;
await writeTable(known);
say(`mutants: ${caught} caught, ${verdicts.length - caught} survived`);
process.exit(caught === verdicts.length ? 0 : 1);

async function tryMutant(mutant: Mutant): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'order-saga-mutant-'));
  try {
    await plant(mutant, folder);
    for (const seed of SEEDS) {
      say(`--- ${mutant.name} (seed ${seed})`);
      const report = join(folder, 'report.json');
      const code = await judge(mutant, folder, seed, report);
      if (code === 1) {
        const { broken } = JSON.parse(await readFile(report, 'utf8')) as { broken: string[] };
        const by = broken.toSorted(byNumber).join(', ');
        say(`--- ${mutant.name}: caught by ${by}`);
        return { mutant, isCaught: true, by };
      }
    }
    say(`--- ${mutant.name}: SURVIVED`);
    return { mutant, isCaught: false, by: '–' };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readVerdicts(): Promise<Record<string, Verdict>> {
  try {
    return JSON.parse(await readFile(values.verdicts, 'utf8')) as Record<string, Verdict>;
  } catch {
    return {};
  }
}

/** Copies the product, changes it and builds it. */
async function plant({ name, edits }: Mutant, folder: string): Promise<void> {
  for (const item of COPIED) {
    // Times too: the compiler then builds only what the mutant changes.
    await cp(join(ROOT, item), join(folder, item), { recursive: true, preserveTimestamps: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, find, replace } of edits) {
    const path = join(folder, file);
    const source = await readFile(path, 'utf8');
    const parts = source.split(find);
    if (parts.length !== 2) fail(`${name}: ${file} has ${parts.length - 1} times:\n${find}`);
    await writeFile(path, parts.join(replace));
  }
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: folder }).catch(
    (error: unknown) =>
      fail(`${name} can't be built: ${(error as { stdout?: string }).stdout ?? ''}`),
  );
}

function judge(
  { faults, minutes = 0.3 }: Mutant,
  folder: string,
  seed: string,
  report: string,
): Promise<number | null> {
  const script = join(ROOT, 'hammer/run.ts');
  const args = ['--product', folder, '--seed', seed, '--report', report];
  args.push('--faults', faults, '--minutes', String(minutes));
  const evidence = join(folder, 'evidence');
  const hammer = spawn(
    process.execPath,
    ['--import=tsx', script, ...args, '--evidence', evidence],
    { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  return new Promise((resolve) => hammer.once('exit', resolve));
}

async function writeTable(all: Readonly<Record<string, Verdict>>): Promise<void> {
  const text = await readFile(TABLE, 'utf8');
  const [before, rest = ''] = text.split(BEGIN);
  const after = rest.split(END)[1] ?? '';
  const rows = MUTANTS.map(({ name, mistake }) => {
    const verdict = all[name];
    const caught = verdict?.isCaught === true ? `caught: ${verdict.by}` : 'not caught';
    return `| ${name} | ${mistake} | ${verdict === undefined ? 'not tried yet' : caught} |`;
  });
  const table = ['| mutant | the mistake | hammer |', '| --- | --- | --- |', ...rows].join('\n');
  await writeFile(TABLE, `${before ?? ''}${BEGIN}\n\n${table}\n\n${END}${after}`);
  await promisify(execFile)('npx', ['prettier', '--write', TABLE], { cwd: ROOT });
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function fail(message: string): never {
  say(message);
  process.exit(2);
}
