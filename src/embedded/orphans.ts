import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasArguments } from './process-identity.js';
import { ROLES, readStack, removeStack } from './stack-file.js';
import type { RoleName, Stack } from './stack-file.js';

/** Twenty seconds for an orphan to drain, as for a role that is stopped by its launcher. */
const GRACE_MS = 20_000;

const POLL_INTERVAL_MS = 50;

/** The arguments by which a process is known as this role of this data folder's stack. */
export function markerOf(
  role: RoleName,
  dataDir: string,
  postgresFolder: string,
): readonly string[] {
  if (role === 'temporal') return ['--db-filename', temporalDatabase(dataDir)];
  if (role === 'postgres') return ['-D', join(postgresFolder, 'data')];
  return [`--data-dir=${dataDir}`];
}

export function temporalDatabase(dataDir: string): string {
  return join(dataDir, 'temporal.db');
}

/**
 * Stops what a killed launcher left running: each process that its `stack.json` names, if it is still a process of
 * this data folder; a pid alone may be anybody's by now.
 */
export async function stopOrphans(dataDir: string, say: (line: string) => void): Promise<void> {
  const stack = await readStack(dataDir);
  if (stack === undefined) return;
  for (const role of ROLES) await stopOrphan(stack, role, say);
  await removeStack(dataDir);
}

async function stopOrphan(
  stack: Stack,
  role: RoleName,
  say: (line: string) => void,
): Promise<void> {
  const pid = stack.roles[role]?.pid;
  if (pid === undefined) return;
  const marker = markerOf(role, stack.dataDir, stack.postgresFolder ?? '');
  if (!(await hasArguments(pid, marker))) return;
  say(`Stopping ${role} (pid ${pid}), left over by a launcher that was killed.`);
  // SIGINT is Postgres' fast shutdown; its SIGTERM waits for every client to leave.
  process.kill(pid, role === 'postgres' ? 'SIGINT' : 'SIGTERM');
  const deadline = Date.now() + GRACE_MS;
  while (await hasArguments(pid, marker)) {
    if (Date.now() > deadline) kill(pid);
    await sleep(POLL_INTERVAL_MS);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}
