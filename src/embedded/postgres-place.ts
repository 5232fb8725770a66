import { createHash } from 'node:crypto';
import { access, chmod, chown, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canReach, postgresAccount } from './postgres-account.js';
import type { Account } from './postgres-account.js';
import {
  completeInPlace,
  copyBinaries,
  installedPostgres,
  isComplete,
} from './postgres-binaries.js';

/** Where a cluster goes that root starts in a folder which the server's account can't enter. */
const ELSEWHERE = '/var/lib/order-saga';

const STAGING_PREFIX = 'initializing-';

export interface Place {
  readonly folder: string;
  /** The cluster itself, `PGDATA`. */
  readonly data: string;
  readonly exists: boolean;
  /** `bin`, `lib` and `share` of PostgreSQL. */
  readonly native: string;
  readonly account: Account | undefined;
  /** A folder to make a cluster in, which `commit` turns into `data`. */
  readonly stage: () => Promise<Staging>;
}

interface Staging {
  readonly folder: string;
  readonly data: string;
  readonly commit: () => Promise<void>;
}

/** The folder of a cluster that can't be below `DATA_DIR`: one for each data folder, the same at each start. */
export function folderElsewhere(dataDir: string): string {
  return join(ELSEWHERE, createHash('sha256').update(dataDir).digest('hex').slice(0, 32));
}

export function passwordFile(dataDir: string): string {
  return join(dataDir, 'postgres-password');
}

/**
 * Decides where the cluster and its binaries are: below the data folder; or, where root starts us and the server's
 * account can't enter that folder or `node_modules`, both elsewhere. A cluster that exists is used where it is.
 *
 * @param dataDir absolute, and there.
 */
export async function placeCluster(dataDir: string, say: (line: string) => void): Promise<Place> {
  const account = await postgresAccount();
  const installed = installedPostgres();
  const inside = join(dataDir, 'postgres');
  const elsewhere = folderElsewhere(dataDir);
  const reachable =
    (await canReach(account, dataDir)) &&
    (await canReach(account, join(installed.native, 'bin'))) &&
    !(account !== undefined && (await isThere(join(elsewhere, 'data'))));
  if (!reachable && (await isThere(join(inside, 'data')))) {
    throw new Error(
      `The Postgres cluster in ${inside} can't be reached by the account it runs as: let others ` +
        `enter each folder above it (chmod o+x), as was so when it was made.`,
    );
  }
  const folder = reachable ? inside : elsewhere;
  await mkdir(folder, { recursive: true });
  // To be passed through by the server's account, whatever the umask.
  if (account !== undefined) await chmod(folder, 0o711);
  if (!reachable) {
    say(`Postgres runs as another user, who can't enter ${dataDir}: its data is in ${folder}`);
    await chmod(dirname(folder), 0o711);
    await setAsideOrphan(dataDir, folder, say);
  }
  await removeLeftovers(folder);
  const data = join(folder, 'data');
  return {
    folder,
    data,
    exists: await isThere(data),
    native: reachable ? await completed(installed, folder) : await copyBinaries(installed, folder),
    account,
    stage: () => stageIn(folder, account),
  };
}

export async function chownTo(account: Account | undefined, path: string): Promise<void> {
  if (account !== undefined) await chown(path, account.uid, account.gid);
}

async function stageIn(folder: string, account: Account | undefined): Promise<Staging> {
  const staging = await mkdtemp(join(folder, STAGING_PREFIX));
  await chownTo(account, staging);
  const data = join(staging, 'data');
  return {
    folder: staging,
    data,
    commit: async () => {
      await rename(data, join(folder, 'data'));
      await rm(staging, { recursive: true, force: true });
    },
  };
}

/** Whoever removes a data folder wants to begin anew; a cluster that was elsewhere must not come back half. */
async function setAsideOrphan(
  dataDir: string,
  folder: string,
  say: (line: string) => void,
): Promise<void> {
  const data = join(folder, 'data');
  if (!(await isThere(data)) || (await isThere(passwordFile(dataDir)))) return;
  const aside = `${data}-of-a-removed-folder-${Date.now()}`;
  await rename(data, aside);
  say(`${dataDir} is new: the Postgres data of the one that was removed is kept in ${aside}`);
}

async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder);
  const leftovers = names.filter((name) => /^(initializing|copying)-/.test(name));
  await Promise.all(
    leftovers.map((name) => rm(join(folder, name), { recursive: true, force: true })),
  );
}

/** The installed binaries with their symlinks made, in place or, where we may not write there, in a copy. */
async function completed(
  installed: ReturnType<typeof installedPostgres>,
  folder: string,
): Promise<string> {
  if (await isComplete(installed.native)) return installed.native;
  try {
    await completeInPlace(installed.native);
    return installed.native;
  } catch {
    return copyBinaries(installed, folder);
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
