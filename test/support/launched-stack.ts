import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { folderElsewhere } from '../../src/embedded/postgres-place.js';
import { startOf } from '../../src/embedded/process-identity.js';
import type { Stack } from '../../src/embedded/stack-file.js';
import { freePort } from './free-port.js';
import { temporalCli } from './temporal.js';

/** Long enough for a start on two busy cores. */
const PATIENCE_MS = 25_000;

export interface Launcher {
  readonly pid: number;
  readonly output: () => string;
  /** Waits for a line. */
  readonly says: (text: string) => Promise<void>;
  readonly exitCode: Promise<number | null>;
}

export interface LauncherOptions {
  readonly uid?: number;
  readonly gid?: number;
}

/** Starts the launcher with fake roles, in a process group of its own, as a terminal would. */
export function launchStack(
  env: Readonly<Record<string, string>>,
  options: LauncherOptions = {},
): Launcher {
  const script = fileURLToPath(new URL('./fake-stack.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import=tsx', script], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const exitCode = new Promise<number | null>((resolve) => child.once('close', resolve));
  let ended = false;
  void exitCode.then(() => (ended = true));
  return {
    pid: child.pid!,
    output: () => output,
    exitCode,
    says: (text) =>
      until(`the launcher says "${text}"`, () => {
        if (!output.includes(text) && ended) throw new Error(`the launcher ended:\n${output}`);
        return Promise.resolve(output.includes(text));
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${output}`);
      }),
  };
}

/** An environment of free ports and a data folder that is not there yet. */
export async function stackEnvironment(): Promise<Record<string, string> & { DATA_DIR: string }> {
  const ports: Record<string, string> = {};
  const names = ['PORT', 'PAYMENT_PORT', 'INVENTORY_PORT'];
  names.push('TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'POSTGRES_PORT');
  for (const name of names) ports[name] = String(await freePort());
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'order-saga-stack-')));
  // Where root runs the tests, Postgres runs as another user and must get through.
  await chmod(folder, 0o711);
  const { path } = await temporalCli();
  return {
    ...ports,
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    TEMPORAL_CLI_PATH: path,
    DATA_DIR: join(folder, 'data'),
  };
}

/** What `stackEnvironment` made for this data folder. */
export function folderOf(env: { readonly DATA_DIR: string }): string {
  return dirname(env.DATA_DIR);
}

/** Removes all that a stack of this environment has kept, wherever it had to keep it. */
export async function removeFolders(env: { readonly DATA_DIR: string }): Promise<void> {
  for (const folder of [folderOf(env), folderElsewhere(env.DATA_DIR)]) {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function stackOf(dataDir: string): Promise<Stack> {
  return JSON.parse(await readFile(join(dataDir, 'stack.json'), 'utf8')) as Stack;
}

export function pidsOf(stack: Stack): readonly number[] {
  return Object.values(stack.roles).map(({ pid }) => pid);
}

export async function living(pids: readonly number[]): Promise<readonly number[]> {
  const starts = await Promise.all(pids.map(startOf));
  return pids.filter((_pid, index) => starts[index] !== undefined);
}

/** Waits for a condition, not for a time. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain until ${what}.`);
    await sleep(50);
  }
}
