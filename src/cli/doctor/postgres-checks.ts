import pg from 'pg';
import type { Config } from '../../config.js';
import { schemaVersions } from '../../postgres/migrate.js';
import type { DatabaseName } from '../../postgres/migrate.js';
import { skewFound } from './api-checks.js';
import { check, fail, ok, warn } from './check.js';
import type { Check, Found } from './check.js';

const ANSWER_LIMIT_MS = 5_000;

/** 1 s: far above the time of the statement. */
const MAX_SKEW_MS = 1_000;

/** The databases that the environment names: there, migrated, and by which clock. */
export function postgresChecks(config: Config): readonly Promise<Check>[] {
  const databases: readonly (readonly [DatabaseName, string | undefined])[] = [
    ['orders', config.databaseUrl],
    ['payment', config.paymentDatabaseUrl],
    ['inventory', config.inventoryDatabaseUrl],
  ];
  const schemas = databases.flatMap(([name, url]) =>
    // The services are other teams' and keep their databases to themselves.
    url === undefined && name !== 'orders'
      ? []
      : [
          check(`schema of ${name}`, 'See that Postgres runs and the URL is right.', () =>
            schema(name, url),
          ),
        ],
  );
  const clock = check('clock of Postgres', 'See "schema of orders".', () =>
    withClient(config.databaseUrl, async (client) => {
      const sentAt = Date.now();
      const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
      const middle = (sentAt + Date.now()) / 2;
      const skewMs = (rows[0]?.now.getTime() ?? Number.NaN) - middle;
      return skewFound('Postgres', skewMs, MAX_SKEW_MS);
    }),
  );
  return [...schemas, clock];
}

function schema(name: DatabaseName, url: string | undefined): Promise<Found> {
  return withClient(url, async (client) => {
    const { has, newest } = await schemaVersions(name, client);
    if (has === newest) return ok(`at version ${has}, the newest`);
    if (has < newest) {
      return fail(`at version ${has} of ${newest}`, 'Bring it to the newest: npm run migrate.');
    }
    return warn(
      `at version ${has}, this release knows ${newest}`,
      'A newer release runs: use its command line.',
    );
  });
}

async function withClient(
  url: string | undefined,
  look: (client: pg.Client) => Promise<Found>,
): Promise<Found> {
  if (url === undefined) return warn('DATABASE_URL is not set: not looked at', 'Set DATABASE_URL.');
  const client = new pg.Client({
    connectionString: url,
    application_name: 'order-saga doctor',
    connectionTimeoutMillis: ANSWER_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await look(client);
  } finally {
    await client.end();
  }
}
