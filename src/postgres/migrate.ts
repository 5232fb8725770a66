import { fileURLToPath } from 'node:url';
import pg from 'pg';
import Postgrator from 'postgrator';

export const DATABASES = ['orders', 'payment', 'inventory'] as const;
export type DatabaseName = (typeof DATABASES)[number];

/** Any number serves, as long as nobody else locks it in these databases: "saga" on a telephone pad. */
const MIGRATION_LOCK = 7_242;

/**
 * Brings one database to the newest schema; does nothing where it is there already.
 *
 * Safe when several start at once, and when one is killed half-way: a lock of Postgres lets one migrate
 * while the others wait, and everything happens in one transaction.
 *
 * @returns the versions applied, empty when there was nothing to do.
 */
export async function migrate(
  database: DatabaseName,
  connectionString: string,
): Promise<readonly number[]> {
  const client = new pg.Client({ connectionString, application_name: 'order-saga migrate' });
  await client.connect();
  try {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const applied = await migrationsOf(database, client).migrate();
    await client.query('commit');
    return applied.map(({ version }) => version);
  } finally {
    await client.end();
  }
}

/** Which version of the schema a database has, and which this release comes with. Changes nothing. */
export async function schemaVersions(
  database: DatabaseName,
  client: Queryable,
): Promise<{ readonly has: number; readonly newest: number }> {
  const migrations = migrationsOf(database, client);
  return {
    has: await migrations.getDatabaseVersion(),
    newest: await migrations.getMaxVersion(),
  };
}

interface Queryable {
  readonly query: (sql: string) => Promise<pg.QueryResult>;
}

function migrationsOf(database: DatabaseName, client: Queryable): Postgrator {
  return new Postgrator({
    migrationPattern: fileURLToPath(new URL(`../../migrations/${database}/*.sql`, import.meta.url)),
    driver: 'pg',
    schemaTable: 'schema_versions',
    execQuery: (query) => client.query(query),
  });
}
