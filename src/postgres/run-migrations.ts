/**
 * Process: `npm run migrate`. Brings each database that the environment names to the newest schema, and registers
 * the search attributes where it names a Temporal server. Safe to run again, and beside another one.
 */
import { ConfigError, configOfProcess, processEnvironment } from '../config.js';
import type { Config } from '../config.js';
import { connectTemporal, temporalConfig } from '../temporal/connect.js';
import {
  SEARCH_ATTRIBUTES,
  registerCommand,
  registerSearchAttributes,
} from '../temporal/search-attributes.js';
import { migrate } from './migrate.js';

const config = configOfProcess();
try {
  await migrateNamed(config);
  if (config.temporalAddress !== undefined) await registerNamed();
} catch (error) {
  // One readable line, not a stack: what is wrong is outside of this program.
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function migrateNamed({
  databaseUrl,
  paymentDatabaseUrl,
  inventoryDatabaseUrl,
}: Config): Promise<void> {
  const databases = [
    ['orders', databaseUrl],
    ['payment', paymentDatabaseUrl],
    ['inventory', inventoryDatabaseUrl],
  ] as const;
  if (databases.every(([, url]) => url === undefined)) {
    throw new ConfigError([
      'One of DATABASE_URL, PAYMENT_DATABASE_URL and INVENTORY_DATABASE_URL must be set: ' +
        'each that is set is migrated.',
    ]);
  }
  for (const [name, url] of databases) {
    if (url === undefined) continue;
    const versions = await migrate(name, url).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${name}: ${reason}`, { cause });
    });
    console.log(
      `${name}: ${versions.length === 0 ? 'up to date' : `applied ${versions.join(', ')}`}`,
    );
  }
}

async function registerNamed(): Promise<void> {
  const { client, namespace, close } = connectTemporal(temporalConfig(processEnvironment()));
  try {
    await registerSearchAttributes(client.connection, namespace);
    console.log(`temporal: ${SEARCH_ATTRIBUTES.join(', ')} are registered in ${namespace}`);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `temporal: the search attributes could not be registered (${reason}). ` +
        `Where only an administrator may, run: ${registerCommand(namespace)}`,
      { cause },
    );
  } finally {
    await close();
  }
}
