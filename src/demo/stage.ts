import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findSurroundings } from '../cli/surroundings.js';
import type { Surroundings } from '../cli/surroundings.js';
import type { Environment } from '../config.js';
import { freePort } from '../embedded/free-port.js';
import { launch } from '../embedded/launcher.js';
import { programOf } from '../embedded/programs.js';
import { readStack } from '../embedded/stack-file.js';
import type { RoleName } from '../embedded/stack-file.js';

const PORTS = [
  'PORT',
  'PAYMENT_PORT',
  'INVENTORY_PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
  'POSTGRES_PORT',
];

/** What the story needs, unless the environment says otherwise: a worker to kill by itself, and short patience. */
const SETTINGS = {
  SPLIT_ROLES: 'on',
  STEP_TIMEOUT_MS: '3000',
  RECONCILE_INTERVAL_SECONDS: '5',
};

/** 60 s: what the launcher gives all roles to be ready. */
const READY_LIMIT_MS = 60_000;

const LOOK_INTERVAL_MS = 50;

/** A whole stack for the demo, on free ports and a folder of its own unless the environment names them. */
export interface Stage {
  readonly surroundings: Surroundings;
  readonly paymentUrl: string;
  readonly inventoryUrl: string;
  /** Kills a role outright. @returns its pid. */
  readonly kill: (role: RoleName) => Promise<number>;
  /** Stops all that was started. @returns the launcher's exit code. */
  readonly close: () => Promise<number>;
}

export interface StageOptions {
  readonly env: Environment;
  readonly say: (line: string) => void;
  /** Comes with ctrl-c. */
  readonly interrupted: AbortSignal;
}

/** Starts the stack as `npm start` does. @throws Error where it can't be started; nothing is left then. */
export async function openStage({ env: given, say, interrupted }: StageOptions): Promise<Stage> {
  const { env, folder } = await environmentOf(given);
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, interrupted]);
  let isReady = false;
  const launched = launch({
    env,
    programOf,
    // The launcher's greeting is for who stays; of what comes before it only what may take long.
    say: (line) => {
      isReady ||= line === 'Order Saga runs.';
      if (isReady ? !/^( |Order Saga|Place an|Ctrl-c|$)/.test(line) : line !== '') say(line);
    },
    signal,
  });
  const close = async (): Promise<number> => {
    stopping.abort();
    const exitCode = await launched;
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    return exitCode;
  };
  let ended = false;
  void launched.then(() => (ended = true));
  try {
    await until('the stack is ready', () => {
      if (ended) throw new Error('The stack could not be started.');
      return Promise.resolve(isReady);
    });
    const surroundings = await findSurroundings(env);
    return {
      surroundings,
      paymentUrl: surroundings.config.paymentUrl,
      inventoryUrl: surroundings.config.inventoryUrl,
      kill: async (role) => {
        const stack = await readStack(surroundings.stackFolder ?? '');
        const pid = stack?.roles[role]?.pid;
        if (pid === undefined) throw new Error(`${role} has no process.`);
        process.kill(pid, 'SIGKILL');
        return pid;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function environmentOf(
  given: Environment,
): Promise<{ readonly env: Environment; readonly folder: string | undefined }> {
  const env: Record<string, string | undefined> = { ...SETTINGS, ...given };
  // The demo asks its own stack, whatever the shell says of another one.
  for (const name of Object.keys(env)) if (name.startsWith('ORDER_SAGA_')) env[name] = undefined;
  for (const name of PORTS) if (isUnset(env[name])) env[name] = String(await freePort());
  if (!isUnset(env['DATA_DIR'])) return { env, folder: undefined };
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'order-saga-demo-')));
  // Where root runs it, Postgres runs as another user and must get through.
  await chmod(folder, 0o711);
  return { env: { ...env, DATA_DIR: resolve(folder, 'data') }, folder };
}

const isUnset = (value: string | undefined): boolean => value === undefined || value.trim() === '';

/** Waits for a condition. @throws Error that names it where a minute is not enough. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + READY_LIMIT_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain until ${what}.`);
    await sleep(LOOK_INTERVAL_MS);
  }
}
