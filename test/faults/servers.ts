import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startChild } from '../../src/embedded/child.js';
import type { Child } from '../../src/embedded/child.js';
import { createDatabases, startPostgres } from '../../src/embedded/postgres.js';
import type { PostgresServer } from '../../src/embedded/postgres.js';
import { startTemporal } from '../../src/embedded/temporal.js';
import type { TemporalServer } from '../../src/embedded/temporal.js';
import { migrate } from '../../src/postgres/migrate.js';
import type { DatabaseName } from '../../src/postgres/migrate.js';
import { freePort } from '../support/free-port.js';
import { temporalCli } from '../support/temporal.js';
import { until } from '../support/until.js';

/** A server that a test stops and starts again on the same port and data. */
export interface Server {
  readonly port: number;
  /** Where its data is, while it is stopped as well. */
  readonly data: () => string;
  readonly pid: () => number;
  readonly running: () => boolean;
  readonly start: () => Promise<void>;
  /** Ends it by a signal, and waits. */
  readonly end: (signal: NodeJS.Signals) => Promise<void>;
}

export interface DatabaseServer extends Server {
  readonly url: () => string;
  /** @param env added to its environment until it ends. */
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<void>;
}

/** What `pg_ctl stop -m immediate` sends: no checkpoint, no goodbye; the next start recovers from the log. */
export const IMMEDIATE: NodeJS.Signals = 'SIGQUIT';
/** What `pg_ctl stop -m fast` sends. */
export const FAST: NodeJS.Signals = 'SIGINT';

/** A minute: a server that has lost its disk may take its time. */
const STOP_GRACE_MS = 60_000;

/** A Postgres of its own for one database, as services of other teams have it; migrated. */
export async function databaseServer(folder: string, name: DatabaseName): Promise<DatabaseServer> {
  const dataDir = join(folder, `postgres-${name}`);
  await mkdir(dataDir, { mode: 0o711 });
  const port = await freePort();
  const begin = (): Promise<PostgresServer> =>
    startPostgres({
      dataDir,
      port,
      logFile: join(folder, `postgres-${name}.log`),
      say: () => undefined,
    });
  let server = await begin();
  await createDatabases(server, [name]);
  await migrate(name, server.url(name));
  const command = await commandOf(server.child.pid);
  let { child } = server;
  return {
    port,
    data: () => join(server.folder, 'data'),
    pid: () => child.pid,
    running: () => child.running(),
    url: () => server.url(name),
    start: async (env) => {
      if (child.running()) return;
      if (env === undefined) {
        server = await begin();
        child = server.child;
      } else {
        child = await startAgain(command, env, join(folder, `postgres-${name}.log`));
        await until(() => answers(server.url(name)));
      }
    },
    end: async (signal) => {
      await child.stop(signal, STOP_GRACE_MS);
    },
  };
}

interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly uid: number;
  readonly gid: number;
}

/** How a process was started, from what the system knows of it. */
async function commandOf(pid: number): Promise<Command> {
  const [words, { uid, gid }] = await Promise.all([
    readFile(`/proc/${pid}/cmdline`, 'utf8'),
    stat(`/proc/${pid}`),
  ]);
  const [command = '', ...args] = words.split('\0').slice(0, -1);
  return { command, args, uid, gid };
}

/** Whether Postgres takes a query: it listens sooner. */
async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function startAgain(
  command: Command,
  env: Readonly<Record<string, string>>,
  logFile: string,
): Promise<Child> {
  return startChild({ ...command, env: { LC_ALL: 'C', ...env }, logFile, cwd: '/' });
}

/** A Temporal dev server that keeps its data on disk, as the embedded stack's does. */
export async function temporalServer(folder: string): Promise<Server> {
  const { path } = await temporalCli();
  const port = await freePort();
  const data = join(folder, 'temporal');
  await mkdir(data);
  const begin = (): Promise<TemporalServer> =>
    startTemporal({
      cliPath: path,
      port,
      namespace: 'default',
      dbFilename: join(data, 'temporal.db'),
      logFile: join(folder, 'temporal.log'),
      env: { HOME: folder },
    });
  let server = await begin();
  return {
    port,
    data: () => data,
    pid: () => server.child.pid,
    running: () => server.child.running(),
    start: async () => {
      if (!server.child.running()) server = await begin();
    },
    end: async (signal) => {
      await server.child.stop(signal, STOP_GRACE_MS);
    },
  };
}
