import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';

/** Resolves when the process ended well. @throws Error with the last line it wrote. */
export function ended(child: ChildProcess, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else {
        const last = errors.trim().split('\n').at(-1) ?? '';
        reject(new Error(`${what} (${signal ?? `exit ${code ?? '?'}`})${last && `: ${last}`}`));
      }
    });
  });
}

export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
