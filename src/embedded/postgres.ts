import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { startChild } from './child.js';
import type { Child } from './child.js';
import { removeStaleLock } from './postgres-lock.js';
import { chownTo, passwordFile, placeCluster } from './postgres-place.js';
import type { Place } from './postgres-place.js';

const execute = promisify(execFile);

/** Half a minute until it accepts: 0.03 s after a clean stop, some seconds when it has a log to replay. */
const START_TIMEOUT_MS = 30_000;

/** Fifteen seconds for the remains of a killed server to go: its children see its death within one. */
const REMAINS_TIMEOUT_MS = 15_000;

/** Twenty seconds for a fast shutdown, which writes a checkpoint; killed later it loses nothing, but must recover. */
const STOP_GRACE_MS = 20_000;

const POLL_INTERVAL_MS = 30;

/** Said by a server that finds the remains of a killed one, which go by themselves. */
const REMAINS = /lock file .* already exists|pre-existing shared memory|Address already in use/;

const SUPERUSER = 'postgres';

export interface PostgresOptions {
  readonly dataDir: string;
  readonly port: number;
  readonly logFile: string;
  readonly say: (line: string) => void;
  /** Gives the start up: nothing is left running. */
  readonly signal?: AbortSignal;
  /** Told where the cluster is, before anything is started there. */
  readonly onPlace?: (folder: string) => Promise<void>;
  /** Told of the server's process before it is waited for. */
  readonly onChild?: (child: Child) => Promise<void>;
  /** Further settings, `name=value`. */
  readonly settings?: readonly string[];
}

export interface PostgresServer {
  readonly url: (database: string) => string;
  /** Where the cluster is: below `DATA_DIR`, unless the account can't get there. */
  readonly folder: string;
  readonly child: Child;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the PostgreSQL of a data folder on 127.0.0.1, making the cluster at the first start, and waits until it
 * accepts. Durable as Postgres is by default: nothing committed is lost when killed.
 *
 * @throws Error with the server's own last words when it ends or doesn't answer.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const place = await placeCluster(options.dataDir, options.say);
  await options.onPlace?.(place.folder);
  const password = await passwordOf(options.dataDir, place);
  if (!place.exists) await makeCluster(place, password);
  const url = (database: string): string =>
    `postgres://${SUPERUSER}:${password}@127.0.0.1:${options.port}/${database}`;
  const child = await startServer(place, options, url('postgres'));
  const stop = async (): Promise<void> => {
    // SIGINT is Postgres' "fast": it ends the sessions that are left, and shuts down cleanly.
    await child.stop('SIGINT', STOP_GRACE_MS);
  };
  return { url, folder: place.folder, child, stop };
}

/** Makes the databases that are missing. */
export async function createDatabases(
  server: PostgresServer,
  databases: readonly string[],
): Promise<void> {
  const client = new pg.Client({ connectionString: server.url('postgres') });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>('select datname from pg_database');
    for (const name of databases) {
      if (rows.some(({ datname }) => datname === name)) continue;
      await client.query(`create database ${client.escapeIdentifier(name)}`);
    }
  } finally {
    await client.end();
  }
}

/** Kept beside the cluster, for us alone; made before it, so that a cluster without it is damage. */
async function passwordOf(dataDir: string, place: Place): Promise<string> {
  const path = passwordFile(dataDir);
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (place.exists) {
      throw new Error(`The password of the Postgres cluster in ${place.data} can't be read.`, {
        cause: error,
      });
    }
    const password = randomBytes(24).toString('hex');
    await writeFile(path, `${password}\n`, { mode: 0o600, flag: 'wx' });
    return password;
  }
}

/** Made under another name and then renamed: a first start that is cut short leaves no half cluster. */
async function makeCluster(place: Place, password: string): Promise<void> {
  const staging = await place.stage();
  const passwordPath = join(staging.folder, 'password');
  await writeFile(passwordPath, `${password}\n`, { mode: 0o600 });
  await chownTo(place.account, passwordPath);
  await execute(
    join(place.native, 'bin', 'initdb'),
    [
      ...['--pgdata', staging.data, '--username', SUPERUSER, '--pwfile', passwordPath],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-instructions'],
    ],
    { cwd: '/', env: { LC_ALL: 'C' }, ...place.account },
  );
  await staging.commit();
}

async function startServer(place: Place, options: PostgresOptions, url: string): Promise<Child> {
  const patience = Date.now() + REMAINS_TIMEOUT_MS;
  for (;;) {
    options.signal?.throwIfAborted();
    const child = await startChild({
      command: join(place.native, 'bin', 'postgres'),
      args: serverArguments(place, options),
      env: { LC_ALL: 'C' },
      logFile: options.logFile,
      cwd: '/',
      ...place.account,
    });
    try {
      await options.onChild?.(child);
      await untilAccepting(child, options, place.data, url);
      return child;
    } catch (error) {
      await child.stop('SIGINT', STOP_GRACE_MS);
      if (!REMAINS.test(await child.output())) throw error;
      if (Date.now() > patience && !(await removeStaleLock(place.data))) throw error;
      await sleep(500);
    }
  }
}

async function untilAccepting(
  child: Child,
  options: PostgresOptions,
  data: string,
  url: string,
): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (child.running() && Date.now() < deadline) {
    options.signal?.throwIfAborted();
    if ((await dataDirectoryAt(url)) === data) return;
    await sleep(POLL_INTERVAL_MS);
  }
  const lastWords = (await child.output()).trim().split('\n').slice(-5).join('\n');
  const what = child.running() ? `did not answer within ${START_TIMEOUT_MS / 1_000} s` : 'ended';
  throw new Error(`Postgres ${what}; see ${child.logFile}\n${lastWords}`);
}

/** Whose server answers there? Another one on the same port must not be taken for ours. */
async function dataDirectoryAt(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  // A connection that is lost between two queries is told of here only.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    return rows[0]?.data_directory;
  } catch {
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function serverArguments(place: Place, options: PostgresOptions): readonly string[] {
  const settings = [
    'listen_addresses=127.0.0.1',
    // A socket file in the temp folder is one more thing to clash over.
    'unix_socket_directories=',
    // API, worker and services take some 80 with their pools; twice that lets one more of each role join.
    'max_connections=200',
    'fsync=on',
    'synchronous_commit=on',
    'full_page_writes=on',
    ...(options.settings ?? []),
  ];
  return [
    ...['-D', place.data, '-p', String(options.port)],
    ...settings.flatMap((setting) => ['-c', setting]),
  ];
}
