import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from './child.js';
import type { Child } from './child.js';
import { lastWords } from './last-words.js';

/** Half a minute to listen: it takes one second, ten when every role starts on a loaded machine. */
const LISTEN_TIMEOUT_MS = 30_000;

/** Two seconds for one look: a role that hangs longer is as good as down. */
const LOOK_TIMEOUT_MS = 2_000;

const POLL_INTERVAL_MS = 50;

/** A program of ours: what `node` is to run. */
export interface Program {
  readonly script: string;
  readonly nodeOptions: readonly string[];
  readonly args?: readonly string[];
}

export interface ServerRole {
  readonly program: Program;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Its address; undefined where it has none. */
  readonly url: string | undefined;
}

/**
 * Starts a role as a process of its own and waits until it listens.
 *
 * @throws Error with the role's last words when it ends or stays silent; nothing is left running then.
 */
export async function startRole(
  role: ServerRole,
  onChild: (child: Child) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { program, dataDir, url } = role;
  const child = await startChild({
    command: process.execPath,
    // The role doesn't read the last argument: by it the process is known as one of this data folder.
    args: [
      ...program.nodeOptions,
      program.script,
      ...(program.args ?? []),
      `--data-dir=${dataDir}`,
    ],
    env: role.env,
    logFile: role.logFile,
  });
  try {
    await onChild(child);
    if (url !== undefined) await untilAnswering(child, `${url}/healthz`, LISTEN_TIMEOUT_MS, signal);
  } catch (error) {
    await child.stop('SIGTERM', LOOK_TIMEOUT_MS);
    throw error;
  }
}

/** Waits until an address answers 200. @throws Error with what it answered last, or the process's last words. */
export async function untilAnswering(
  child: Child,
  url: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let last = 'no answer';
  while (child.running() && Date.now() < deadline) {
    signal.throwIfAborted();
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) });
      const body = await answer.text();
      if (answer.ok) return;
      last = `${answer.status} ${body}`;
    } catch {
      last = 'no answer';
    }
    await sleep(POLL_INTERVAL_MS);
  }
  signal.throwIfAborted();
  const what = child.running() ? `not ready after ${timeoutMs / 1_000} s: ${last}` : 'ended';
  throw new Error([`${url}: ${what}`, ...(await lastWords(child))].join('\n    '));
}
