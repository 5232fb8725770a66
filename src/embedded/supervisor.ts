import { setTimeout as sleep } from 'node:timers/promises';
import type { Child, Exit } from './child.js';
import { lastWords } from './last-words.js';
import type { RoleName } from './stack-file.js';

/** A second before a role is started again: a crash heals at once, and a loop of crashes burns no CPU. */
const RESTART_DELAY_MS = 1_000;

/** Half a minute at most between attempts, so that a role comes back soon after its cause is mended. */
const MAX_RESTART_DELAY_MS = 30_000;

/** A role that lived for ten seconds was sound; one that died earlier waits twice as long each time. */
const SOUND_AFTER_MS = 10_000;

export interface Role {
  readonly name: string;
  /** What the process is in `stack.json`; one process may be two roles. */
  readonly roles: readonly RoleName[];
  /** Starts it; a server is also waited for. Tells of the child as soon as there is one. */
  readonly begin: (onChild: (child: Child) => Promise<void>, signal: AbortSignal) => Promise<void>;
  /** A signal on which it ends cleanly, and how long that may take. */
  readonly stopSignal: NodeJS.Signals;
  readonly stopGraceMs: number;
}

export interface Supervised {
  readonly name: string;
  readonly child: () => Child | undefined;
  /** Starts it for the first time, and from then on again whenever it dies. */
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Keeps one role running until the signal is aborted.
 *
 * @param onPid told of each new process, before anything else happens.
 */
export function supervise(
  role: Role,
  signal: AbortSignal,
  onPid: (pid: number) => Promise<void>,
  say: (line: string) => void,
): Supervised {
  let child: Child | undefined;
  let watching: Promise<void> = Promise.resolve();
  const begin = async (): Promise<void> => {
    signal.throwIfAborted();
    await role.begin(async (begun) => {
      child = begun;
      await onPid(begun.pid);
    }, signal);
  };
  const keepAlive = async (): Promise<void> => {
    let delayMs = RESTART_DELAY_MS;
    while (!signal.aborted && child !== undefined) {
      const since = Date.now();
      const exit = await child.exited;
      if (isAborted(signal)) return;
      delayMs =
        Date.now() - since >= SOUND_AFTER_MS
          ? RESTART_DELAY_MS
          : Math.min(delayMs, MAX_RESTART_DELAY_MS);
      say(`${role.name} ${describe(exit)}; it is started again in ${delayMs / 1_000} s.`);
      for (const line of exit.signal === null ? await lastWords(child) : []) say(`    ${line}`);
      await sleep(delayMs, undefined, { signal });
      delayMs *= 2;
      try {
        await begin();
        say(`${role.name} runs again (pid ${child.pid}).`);
      } catch (error) {
        if (isAborted(signal)) return;
        say(
          `${role.name} did not start: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  };
  return {
    name: role.name,
    child: () => child,
    start: async () => {
      await begin();
      watching = keepAlive().catch((error: unknown) => {
        // The only thing that cuts it short is the signal.
        if (!signal.aborted) throw error;
      });
    },
    stop: async () => {
      await child?.stop(role.stopSignal, role.stopGraceMs);
      await watching;
    },
  };
}

/** Read anew after each wait, which narrowing would forbid. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function describe({ code, signal }: Exit): string {
  return signal === null ? `ended with exit code ${code ?? '?'}` : `was ended by ${signal}`;
}
