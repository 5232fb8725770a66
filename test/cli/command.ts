import { runCommandLine } from '../../src/cli/run.js';
import type { Environment } from '../../src/config.js';

/** What a command has said, and how it ended. */
export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface Terminal {
  /** Whether it has colours; a pipe has none. */
  readonly hasColors?: boolean;
  /** Ctrl-c. */
  readonly interrupted?: AbortSignal;
  /** Told of everything that is written, as it is written. */
  readonly onOut?: (text: string) => void;
}

/** Runs a command line as `npx order-saga` does, in this process. */
export async function command(
  env: Environment,
  args: readonly string[],
  { hasColors, interrupted, onOut }: Terminal = {},
): Promise<Ran> {
  let out = '';
  let err = '';
  const tty = hasColors === undefined ? {} : { isTTY: true, hasColors: () => hasColors };
  const exitCode = await runCommandLine(args, {
    env,
    stdout: {
      ...tty,
      write: (text) => {
        out += text;
        onOut?.(text);
      },
    },
    stderr: { ...tty, write: (text) => (err += text) },
    interrupted: interrupted ?? new AbortController().signal,
  });
  return { exitCode, out, err };
}

/** What `--json` wrote. */
export const jsonOf = ({ out }: Ran): Record<string, unknown> =>
  JSON.parse(out) as Record<string, unknown>;
