import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../src/embedded/postgres.js';
import { migrate } from '../../src/postgres/migrate.js';
import type { DatabaseName } from '../../src/postgres/migrate.js';
import { createPool } from '../../src/postgres/pool.js';
import { freePort } from './free-port.js';

interface Server {
  readonly url: (database: string) => string;
  readonly stop: () => Promise<void>;
}

let starting: Promise<Server> | undefined;
const templates = new Map<DatabaseName, Promise<string>>();

/** A database of its own for one test file, migrated; made from a template, some 50 ms. */
export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly drop: () => Promise<void>;
}

export async function createDatabase(name: DatabaseName): Promise<TestDatabase> {
  const server = await postgresServer();
  const template = await (templates.get(name) ?? makeTemplate(server, name));
  const database = `${name}_${randomUUID().replaceAll('-', '')}`;
  await admin(server, `create database ${database} template ${template}`);
  const url = server.url(database);
  const pool = createPool({
    connectionString: url,
    max: 20,
    applicationName: 'order-saga test',
    onIdleError: () => undefined,
  });
  const drop = async (): Promise<void> => {
    await pool.end();
    await admin(server, `drop database ${database} with (force)`);
  };
  return { url, pool, drop };
}

/** The one Postgres of this test run, started at the first call. */
export function postgresServer(): Promise<Server> {
  starting ??= startServer();
  return starting;
}

export async function stopPostgres(): Promise<void> {
  if (starting !== undefined) await (await starting).stop();
}

function makeTemplate(server: Server, name: DatabaseName): Promise<string> {
  const making = (async () => {
    const template = `template_${name}`;
    await admin(server, `create database ${template}`);
    await migrate(name, server.url(template));
    return template;
  })();
  templates.set(name, making);
  return making;
}

async function admin(server: Server, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url('postgres') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function startServer(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'order-saga-test-'));
  // Where root runs the tests, Postgres runs as another user and must get through.
  await chmod(folder, 0o755);
  const {
    url,
    stop,
    folder: clusterFolder,
  } = await startPostgres({
    dataDir: folder,
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    say: () => undefined,
    // A test file's pools, many files of them.
    settings: ['max_connections=300'],
  });
  return {
    url,
    stop: async () => {
      await stop();
      await rm(clusterFolder, { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
