import { mkdtemp, chmod, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processEnvironment } from '../../src/config.js';
import { startChild } from '../../src/embedded/child.js';
import type { Child } from '../../src/embedded/child.js';
import { cacheFolder, findTemporalCli } from '../../src/embedded/temporal-cli.js';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export const SYSTEM_NAMES = ['ours', 'ours-postgres', 'samples', 'dbos', 'restate'] as const;
export type SystemName = (typeof SYSTEM_NAMES)[number];

/** A system that runs and takes orders. */
export interface System {
  readonly url: string;
  readonly token: string;
  /** Of everything it was started as; their children are found. */
  readonly pids: readonly number[];
  /** The ledgers of its services. */
  readonly paymentUrl: string;
  readonly inventoryUrl: string;
}

/** What is to be stopped, last first. */
export interface Ground {
  readonly folder: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  readonly onStop: (stop: () => Promise<unknown>) => void;
}

export type StartSystem = (ground: Ground) => Promise<System>;

export const TOKEN = 'demo-token';

const START_TIMEOUT_MS = 90_000;
const POLL_INTERVAL_MS = 50;
/** Above what the slowest of them takes to drain. */
const STOP_GRACE_MS = 40_000;

/** Runs a system in a folder of its own, and leaves neither process nor file behind. */
export async function withSystem<S, T>(
  start: (ground: Ground) => Promise<S>,
  options: Pick<Ground, 'say' | 'signal'>,
  use: (system: S) => Promise<T>,
): Promise<T> {
  const stops: (() => Promise<unknown>)[] = [];
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'order-saga-bench-')));
  try {
    // Where root runs it, Postgres runs as another user and must get through.
    await chmod(folder, 0o711);
    return await use(await start({ ...options, folder, onStop: (stop) => void stops.push(stop) }));
  } finally {
    for (const stop of stops.reverse()) await stop();
    await rm(folder, { recursive: true, force: true });
  }
}

export interface ProcessOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Waited for until it answers 200. */
  readonly readyUrl?: string;
  /** `process.execPath` unless given. */
  readonly command?: string;
}

/** Starts a process that is stopped with the system. */
export async function startProcess(ground: Ground, options: ProcessOptions): Promise<Child> {
  const { name, args, env, readyUrl, command = process.execPath } = options;
  const logFile = join(ground.folder, `${name}.log`);
  const child = await startChild({ command, args, env, logFile, cwd: ROOT });
  ground.onStop(() => child.stop('SIGTERM', STOP_GRACE_MS));
  if (readyUrl !== undefined) await untilReady(ground, child, readyUrl);
  return child;
}

async function untilReady({ signal }: Ground, child: Child, url: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isReady(url))) {
    signal.throwIfAborted();
    if (!child.running() || Date.now() > deadline) {
      throw new Error(`${url} is not there; ${child.logFile} says:\n${await child.output()}`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

const isReady = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ status }) => status === 200,
    () => false,
  );

/** Where programs are found, and a home without anybody's settings. */
export function plainEnvironment(folder: string): Record<string, string> {
  return { PATH: processEnvironment()['PATH'] ?? '', HOME: folder };
}

/** The CLI that `npm start` would use. */
export async function temporalCli(say: (line: string) => void) {
  const env = processEnvironment();
  return findTemporalCli({
    cliPath: env['TEMPORAL_CLI_PATH'],
    env,
    cacheDir: await cacheFolder(env['XDG_CACHE_HOME'], join(ROOT, '.cache')),
    say,
  });
}
