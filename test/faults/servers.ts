import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createDatabases, startPostgres } from '../../src/embedded/postgres.js';
import type { PostgresServer } from '../../src/embedded/postgres.js';
import { startTemporal } from '../../src/embedded/temporal.js';
import type { TemporalServer } from '../../src/embedded/temporal.js';
import { migrate } from '../../src/postgres/migrate.js';
import type { DatabaseName } from '../../src/postgres/migrate.js';
import { freePort } from '../support/free-port.js';
import { temporalCli } from '../support/temporal.js';

/** A server that a test stops and starts again on the same port and data. */
export interface Server {
  readonly port: number;
  /** Where its data is, while it is stopped as well. */
  readonly data: () => string;
  readonly pid: () => number;
  readonly start: () => Promise<void>;
  /** Ends it by a signal, and waits. */
  readonly end: (signal: NodeJS.Signals) => Promise<void>;
}

export interface DatabaseServer extends Server {
  readonly url: () => string;
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
  return {
    port,
    data: () => join(server.folder, 'data'),
    pid: () => server.child.pid,
    url: () => server.url(name),
    start: async () => {
      if (!server.child.running()) server = await begin();
    },
    end: async (signal) => {
      await server.child.stop(signal, STOP_GRACE_MS);
    },
  };
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
    start: async () => {
      if (!server.child.running()) server = await begin();
    },
    end: async (signal) => {
      await server.child.stop(signal, STOP_GRACE_MS);
    },
  };
}
