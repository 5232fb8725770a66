import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startOf } from './process-identity.js';

interface Holder {
  readonly pid: number;
  readonly started: string;
  readonly dataDir: string;
}

/** The pid of the launcher that runs the stack of this data folder; undefined where none is alive. */
export async function livingLauncher(dataDir: string): Promise<number | undefined> {
  const holder = await readHolder(lockFile(dataDir));
  if (holder?.dataDir !== dataDir) return undefined;
  return (await startOf(holder.pid)) === holder.started ? holder.pid : undefined;
}

/**
 * Makes this process the one launcher of the data folder, which must be there.
 *
 * @returns false where another one is, or became so at the same moment.
 */
export async function takeLock(dataDir: string): Promise<boolean> {
  const path = lockFile(dataDir);
  const mine = `${path}.${process.pid}`;
  const holder: Holder = {
    pid: process.pid,
    started: (await startOf(process.pid)) ?? '',
    dataDir,
  };
  await writeFile(mine, JSON.stringify(holder));
  try {
    // A link is made only where there is no file yet, and is complete from its first moment.
    if (await linked(mine, path)) return true;
    if ((await livingLauncher(dataDir)) !== undefined) return false;
    return await replaceDead(dataDir, mine);
  } finally {
    await rm(mine, { force: true });
  }
}

export async function releaseLock(dataDir: string): Promise<void> {
  const path = lockFile(dataDir);
  if ((await readHolder(path))?.pid === process.pid) await rm(path, { force: true });
}

/** Takes a dead launcher's lock away; what was taken is looked at again, for another one may have been faster. */
async function replaceDead(dataDir: string, mine: string): Promise<boolean> {
  const path = lockFile(dataDir);
  const taken = `${mine}.taken`;
  await rename(path, taken).catch(() => undefined);
  try {
    const holder = await readHolder(taken);
    const alive = holder?.dataDir === dataDir && (await startOf(holder.pid)) === holder.started;
    if (!alive) return await linked(mine, path);
    await linked(taken, path);
    return false;
  } finally {
    await rm(taken, { force: true });
  }
}

function lockFile(dataDir: string): string {
  return join(dataDir, 'launcher.lock');
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

function linked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
      throw error;
    },
  );
}
