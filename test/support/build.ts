import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** `npm test` has built before its lanes start, as two builds of one folder would cross. */
export async function build(): Promise<void> {
  if (process.env['DIST_IS_BUILT'] !== undefined) return;
  const root = fileURLToPath(new URL('../..', import.meta.url));
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: root });
}
