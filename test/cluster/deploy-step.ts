import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface StepOptions {
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs a command of the deployment as it stands.
 *
 * @returns what it wrote on standard output.
 * @throws Error with all that it wrote, when it fails.
 */
export async function runStep(command: string, options: StepOptions): Promise<string> {
  const child = spawn(command, options.args ?? [], {
    cwd: ROOT,
    env: options.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return output;
  const line = [command, ...(options.args ?? [])].join(' ');
  throw new Error(`"${line}" ended with ${code ?? 'a signal'}:\n${output}${errors}`);
}
