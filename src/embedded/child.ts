import { spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Standard output and error are appended here; a child thus outlives its launcher unharmed. */
  readonly logFile: string;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process we started, in a process group of its own. */
export interface Child {
  readonly pid: number;
  readonly logFile: string;
  /** Resolves when it has ended, however. */
  readonly exited: Promise<Exit>;
  readonly running: () => boolean;
  /** What it has written since it was started. */
  readonly output: () => Promise<string>;
  /** Asks it to end and waits; after the grace it is killed. */
  readonly stop: (signal: NodeJS.Signals, graceMs: number) => Promise<Exit>;
}

/**
 * Starts a process in a group of its own: a terminal's ctrl-c goes to the whole foreground group, and
 * only the launcher must hear it, which then stops the roles in their order.
 *
 * @throws Error where the program can't be run at all.
 */
export async function startChild(options: ChildCommand): Promise<Child> {
  const log = await open(options.logFile, 'a', 0o600);
  const { size: logBegin } = await log.stat();
  const child = spawn(options.command, options.args, {
    detached: true,
    env: options.env,
    stdio: ['ignore', log.fd, log.fd],
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.uid !== undefined && { uid: options.uid }),
    ...(options.gid !== undefined && { gid: options.gid }),
  });
  let ended: Exit | undefined;
  const exited = new Promise<Exit>((resolve) =>
    child.once('exit', (code, signal) => {
      ended = { code, signal };
      resolve(ended);
    }),
  );
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  } finally {
    await log.close();
  }
  const running = (): boolean => ended === undefined;
  return {
    // A process that was spawned has a pid.
    pid: child.pid ?? 0,
    logFile: options.logFile,
    exited,
    running,
    output: async () => (await readFile(options.logFile)).subarray(logBegin).toString(),
    stop: async (signal, graceMs) => {
      if (running()) child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      const exit = await exited;
      clearTimeout(timer);
      return exit;
    },
  };
}
