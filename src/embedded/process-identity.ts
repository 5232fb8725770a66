import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/**
 * When a process was started, in whatever unit the system has; pid and start together name one process for ever,
 * the pid alone is soon another's. Undefined where there is none, or only a zombie.
 */
export async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // The name may hold blanks and brackets; the fields are counted behind it. proc(5): state is 3, starttime 22.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields === undefined || fields[0] === 'Z' ? undefined : fields[19];
  }
  return ps(pid, 'lstart=');
}

/** Tells whether the process was started with these arguments, side by side. Never of a zombie. */
export async function hasArguments(pid: number, marker: readonly string[]): Promise<boolean> {
  if (process.platform === 'linux') {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return `\0${line}`.includes(`\0${marker.join('\0')}\0`);
  }
  return `${(await ps(pid, 'command=')) ?? ''} `.includes(` ${marker.join(' ')} `);
}

async function ps(pid: number, format: string): Promise<string | undefined> {
  try {
    const { stdout } = await execute('ps', ['-ww', '-o', format, '-p', String(pid)]);
    return stdout.trim() === '' ? undefined : stdout.trim();
  } catch {
    return undefined;
  }
}
