import { readFile, readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Removes the lock file of a killed server that its system has not buried: in a container whose first process
 * does not reap, a killed Postgres stays a zombie for ever, and the next one takes it for alive.
 *
 * Only where that process is a zombie, and no process of that server holds the data folder open any more.
 *
 * @returns whether the lock is gone.
 */
export async function removeStaleLock(data: string): Promise<boolean> {
  const lock = join(data, 'postmaster.pid');
  const text = await readFile(lock, 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  if (!Number.isInteger(pid) || pid < 2) return false;
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  if (!/\) Z /.test(status) || (await isHeldOpen(data))) return false;
  await rm(lock, { force: true });
  return true;
}

/** Every process of Postgres has the data folder as its working directory. */
async function isHeldOpen(data: string): Promise<boolean> {
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  const folders = await Promise.all(
    pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => undefined)),
  );
  return folders.includes(data);
}
