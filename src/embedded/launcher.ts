import { mkdir } from 'node:fs/promises';
import type { Environment } from '../config.js';
import { bringUp } from './bring-up.js';
import { stackSettings } from './environment.js';
import type { StackSettings } from './environment.js';
import { greeting, runningAlready } from './greeting.js';
import { livingLauncher, releaseLock, takeLock } from './launcher-lock.js';
import { stopOrphans } from './orphans.js';
import { portProblems } from './ports.js';
import type { WantedPort } from './ports.js';
import { resolvedFolder } from './data-folder.js';
import type { Program } from './role-server.js';
import { readStack, removeStack } from './stack-file.js';
import type { RoleName } from './stack-file.js';
import { openStack } from './stack.js';

export interface LaunchOptions {
  readonly env: Environment;
  /** What a role runs; replaced in tests. */
  readonly programOf: (role: ServedRole) => Program;
  readonly say: (line: string) => void;
  /** Aborted when the stack is to stop. */
  readonly signal: AbortSignal;
}

/** A program of ours; `app` is API and worker in one process. */
export type ServedRole = 'app' | Exclude<RoleName, 'temporal' | 'postgres'>;

/**
 * Runs the whole stack until it is told to stop, and leaves nothing running.
 *
 * A stack that lives is left alone, and ports that are taken are named: both before anything is made or started.
 *
 * @returns the exit code: 0 after a stop that was asked for.
 */
export async function launch(options: LaunchOptions): Promise<number> {
  const { say } = options;
  try {
    const settings = await usableSettings(options);
    if (settings === undefined) return 1;
    await mkdir(settings.dataDir, { recursive: true, mode: 0o711 });
    if (!(await takeLock(settings.dataDir))) {
      await sayRunning(settings.dataDir, say);
      return 1;
    }
    try {
      return await run(settings, options);
    } finally {
      await releaseLock(settings.dataDir);
    }
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

async function usableSettings(options: LaunchOptions): Promise<StackSettings | undefined> {
  const { say } = options;
  const settings = await resolvedFolder(stackSettings(options.env));
  if (await sayRunning(settings.dataDir, say)) return undefined;
  await stopOrphans(settings.dataDir, say);
  const problems = await portProblems(wantedPorts(settings));
  if (problems.length > 0) throw new Error(['Nothing was started:', ...problems].join('\n  '));
  return settings;
}

async function sayRunning(dataDir: string, say: (line: string) => void): Promise<boolean> {
  const pid = await livingLauncher(dataDir);
  if (pid === undefined) return false;
  for (const line of runningAlready(dataDir, pid, await readStack(dataDir))) say(line);
  return true;
}

async function run(settings: StackSettings, options: LaunchOptions): Promise<number> {
  const { say, signal } = options;
  const failed = new AbortController();
  // A role that is stopped because another one failed must not be started again either.
  const stopping = AbortSignal.any([signal, failed.signal]);
  const stack = openStack(settings, stopping, say);
  let exitCode = 0;
  try {
    const addresses = await bringUp(stack, settings, { ...options, signal: stopping });
    for (const line of greeting(settings, addresses)) say(line);
    await aborted(signal);
  } catch (error) {
    if (!signal.aborted) {
      say(error instanceof Error ? error.message : String(error));
      exitCode = 1;
    }
  }
  failed.abort();
  await stack.stop();
  await removeStack(settings.dataDir);
  say('Stopped.');
  return exitCode;
}

function wantedPorts({ config }: StackSettings): readonly WantedPort[] {
  const local = (variable: string, port: number): WantedPort => ({
    variable,
    host: '127.0.0.1',
    port,
  });
  const databases = [config.databaseUrl, config.paymentDatabaseUrl, config.inventoryDatabaseUrl];
  return [
    { variable: 'PORT', host: config.host, port: config.port },
    { variable: 'PAYMENT_PORT', host: config.host, port: config.paymentPort },
    { variable: 'INVENTORY_PORT', host: config.host, port: config.inventoryPort },
    ...(config.splitRoles && config.workerPort !== 0
      ? [{ variable: 'WORKER_PORT', host: config.host, port: config.workerPort }]
      : []),
    ...(config.temporalAddress === undefined
      ? [
          local('TEMPORAL_PORT', config.temporalPort),
          local('TEMPORAL_UI_PORT', config.temporalUiPort),
        ]
      : []),
    ...(databases.includes(undefined) ? [local('POSTGRES_PORT', config.postgresPort)] : []),
  ];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
