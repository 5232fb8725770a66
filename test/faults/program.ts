import { readFile } from 'node:fs/promises';
import { startChild } from '../../src/embedded/child.js';
import type { Child, Exit } from '../../src/embedded/child.js';
import { until } from '../support/until.js';

/** A minute: above the roles' own hard exit, which says what kept them. */
const STOP_GRACE_MS = 60_000;

export interface ProgramOptions {
  /** A program, after what runs it where there is something. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Whether it is ready to serve, given what it wrote since it was started. */
  readonly ready: (output: string) => Promise<boolean> | boolean;
}

/** A process that a test starts, kills, halts and starts again; nobody else does. */
export interface Program {
  readonly pid: () => number;
  readonly running: () => boolean;
  /** Starts it where it is not running, and waits until it is ready. */
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<void>;
  readonly kill: () => Promise<void>;
  /** Asks it to end. @returns how it ended. */
  readonly stop: () => Promise<Exit>;
  readonly halt: () => void;
  readonly goOn: () => void;
  readonly log: () => Promise<string>;
}

export function createProgram(options: ProgramOptions): Program {
  let child: Child | undefined;
  const current = (): Child => {
    if (child === undefined) throw new Error(`${options.args.join(' ')} was never started`);
    return child;
  };
  return {
    pid: () => current().pid,
    running: () => child?.running() ?? false,
    start: async (env = {}) => {
      if (child?.running() === true) return;
      const [command = '', ...args] = [...options.command, ...options.args];
      const { logFile } = options;
      const begun = await startChild({ command, args, logFile, env: { ...options.env, ...env } });
      child = begun;
      await until(async () => {
        if (!begun.running()) throw new Error(`it ended:\n${await begun.output()}`);
        return options.ready(await begun.output());
      });
    },
    kill: async () => {
      process.kill(current().pid, 'SIGKILL');
      await current().exited;
    },
    stop: () => current().stop('SIGTERM', STOP_GRACE_MS),
    halt: () => {
      process.kill(current().pid, 'SIGSTOP');
    },
    goOn: () => {
      process.kill(current().pid, 'SIGCONT');
    },
    log: () => readFile(options.logFile, 'utf8'),
  };
}
