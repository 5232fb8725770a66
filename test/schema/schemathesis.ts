import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../../src/embedded/temporal-cli.js';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

export interface SchemathesisOptions {
  /** Base address of the API. */
  readonly api: string;
  readonly seed: number;
  readonly maxSeconds: number;
  /** A folder for its report. */
  readonly folder: string;
}

/** A request that it made, and what came back. */
export interface Interaction {
  readonly operation: string;
  readonly status: number;
  /** The order that the answer names. */
  readonly orderId: string | undefined;
}

export interface SchemathesisRun {
  readonly exitCode: number | null;
  readonly output: string;
  readonly interactions: readonly Interaction[];
}

/** Runs Schemathesis with all checks until its time is over. */
export async function runSchemathesis(options: SchemathesisOptions): Promise<SchemathesisRun> {
  const { api, seed, maxSeconds, folder } = options;
  const report = join(folder, `seed-${seed}.ndjson`);
  const args = [
    ['--config-file', 'schemathesis.toml', 'run', `${api}/openapi.json`, '--checks', 'all'],
    ['--seed', String(seed), '--max-time', String(maxSeconds), '--no-color'],
    ['--report-ndjson-path', report, '--generation-database', 'none'],
  ];
  const child = spawn(join(await installed(), 'bin', 'schemathesis'), args.flat(), {
    cwd: FOLDER,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, output, interactions: existsSync(report) ? await readReport(report) : [] };
}

/** A virtual environment of its own in the cache folder, by what is in it; made at the first call. */
async function installed(): Promise<string> {
  const requirements = await readFile(join(FOLDER, 'requirements.txt'));
  const digest = createHash('sha256').update(requirements).digest('hex').slice(0, 12);
  const cache = await cacheFolder(process.env['XDG_CACHE_HOME'], '.cache');
  const folder = resolve(cache, `schemathesis-${digest}`);
  const mark = join(folder, 'complete');
  if (existsSync(mark)) return folder;
  await rm(folder, { recursive: true, force: true });
  await run('python3', ['-m', 'venv', folder]);
  await run(join(folder, 'bin', 'python'), [
    ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
    ...['--require-hashes', '--only-binary=:all:'],
    ...['--requirement', join(FOLDER, 'requirements.txt')],
  ]);
  await writeFile(mark, '');
  return folder;
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) {
    throw new Error(
      `${command} ${args.slice(0, 2).join(' ')} failed: Python 3.11 with pip is needed.`,
    );
  }
}

interface Recorded {
  readonly request: { readonly method: string; readonly uri: string };
  readonly response: {
    readonly status_code: number;
    readonly headers: Readonly<Record<string, readonly string[]>>;
  } | null;
}

/** The lines of its report are events; those that end a scenario have all that was sent in it. */
async function readReport(path: string): Promise<readonly Interaction[]> {
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  return lines.flatMap((line) => {
    const event = JSON.parse(line) as {
      ScenarioFinished?: { recorder?: { interactions?: Record<string, Recorded> } };
    };
    const recorded = Object.values(event.ScenarioFinished?.recorder?.interactions ?? {});
    return recorded.map(({ request, response }) => ({
      operation: `${request.method} ${new URL(request.uri).pathname}`,
      status: response?.status_code ?? 0,
      orderId: /^\/orders\/(ORD-[0-9a-f]{32})$/.exec(response?.headers['location']?.[0] ?? '')?.[1],
    }));
  });
}
