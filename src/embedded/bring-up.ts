import { dirname, join } from 'node:path';
import { freePort } from '../http/free-port.js';
import { migrate } from '../postgres/migrate.js';
import type { Child } from './child.js';
import { logFile, writeTemporalProfile } from './data-folder.js';
import { joiningEnvironment, roleEnvironment } from './environment.js';
import type { ServerAddresses, StackSettings } from './environment.js';
import type { Addresses } from './greeting.js';
import type { LaunchOptions, ServedRole } from './launcher.js';
import { temporalDatabase } from './orphans.js';
import { createDatabases, startPostgres } from './postgres.js';
import type { PostgresServer } from './postgres.js';
import { startRole, untilAnswering } from './role-server.js';
import type { RoleName } from './stack-file.js';
import { seedInventory } from './seed.js';
import type { OpenStack } from './stack.js';
import { cacheFolder, findTemporalCli } from './temporal-cli.js';
import { startTemporal } from './temporal.js';

/** A minute until all is ready: five seconds on an idle machine, half a minute where two cores do everything. */
const READY_TIMEOUT_MS = 60_000;

/**
 * Above the roles' own hard exit, which logs what kept them: 15 s after the signal, for the worker after the running
 * attempt and the margins around it.
 */
const ROLE_STOP_GRACE_MS = 30_000;

/** As for Postgres and Temporal when they are started: see there. */
const SERVER_STOP_GRACE_MS = 20_000;

/** Starts the servers that nobody else runs for us, then the roles, the API last; returns when all are ready. */
export async function bringUp(
  stack: OpenStack,
  settings: StackSettings,
  options: LaunchOptions,
): Promise<Addresses> {
  const { config, dataDir, host } = settings;
  const temporalConfigFile = await writeTemporalProfile(dataDir);
  const [databases, temporal] = await allOrFirstError([
    bringUpDatabases(stack, settings, options),
    bringUpTemporal(stack, settings, options),
  ]);
  const { databaseUrl, paymentDatabaseUrl, inventoryDatabaseUrl } = databases;
  const joining = joiningEnvironment(settings, {
    databaseUrl,
    paymentDatabaseUrl,
    inventoryDatabaseUrl,
    ...temporal,
    temporalConfigFile,
  });
  await stack.record({ env: joining });
  const api = `http://${host}:${config.port}`;
  const workerPort = config.workerPort === 0 ? await freePort() : config.workerPort;
  const urls = {
    app: api,
    api,
    payment: `http://${host}:${config.paymentPort}`,
    inventory: `http://${host}:${config.inventoryPort}`,
    worker: config.splitRoles ? `http://${host}:${workerPort}` : undefined,
  };
  // Not among what a further role gets: it would want the port of this one.
  const environment = {
    ...roleEnvironment(settings.env, joining),
    WORKER_PORT: String(workerPort),
  };
  const role = (name: ServedRole): Promise<void> =>
    bringUpRole(stack, name, urls[name], environment, settings, options);
  const before = config.splitRoles ? [role('worker')] : [];
  await allOrFirstError([role('payment'), role('inventory'), ...before]);
  // Last, so that whoever finds the API ready finds everything ready.
  await role(config.splitRoles ? 'api' : 'app');
  return {
    ...urls,
    temporal: temporal.temporalAddress,
    temporalUi: joining['TEMPORAL_UI_URL'],
    postgres: withoutPassword(databaseUrl),
    postgresFolder: databases.folder,
  };
}

interface Databases {
  readonly databaseUrl: string;
  readonly paymentDatabaseUrl: string;
  readonly inventoryDatabaseUrl: string;
  readonly folder: string | undefined;
}

async function bringUpDatabases(
  stack: OpenStack,
  settings: StackSettings,
  options: LaunchOptions,
): Promise<Databases> {
  const { databaseUrl, paymentDatabaseUrl, inventoryDatabaseUrl } = settings.config;
  let orders = databaseUrl;
  let payment = paymentDatabaseUrl;
  let inventory = inventoryDatabaseUrl;
  let folder: string | undefined;
  if (orders === undefined || payment === undefined || inventory === undefined) {
    const server = await bringUpPostgres(stack, settings, options);
    await createDatabases(server, ['orders', 'payment', 'inventory']);
    orders ??= server.url('orders');
    payment ??= server.url('payment');
    inventory ??= server.url('inventory');
    folder = server.folder;
  }
  await Promise.all([
    migrate('orders', orders),
    migrate('payment', payment),
    migrate('inventory', inventory),
  ]);
  await seedInventory(inventory);
  return {
    databaseUrl: orders,
    paymentDatabaseUrl: payment,
    inventoryDatabaseUrl: inventory,
    folder,
  };
}

async function bringUpPostgres(
  stack: OpenStack,
  { config, dataDir }: StackSettings,
  { say }: LaunchOptions,
): Promise<PostgresServer> {
  let server: PostgresServer | undefined;
  await stack.start(
    {
      name: 'postgres',
      roles: ['postgres'],
      stopSignal: 'SIGINT',
      stopGraceMs: SERVER_STOP_GRACE_MS,
      begin: async (onChild, signal) => {
        server = await startPostgres({
          dataDir,
          port: config.postgresPort,
          logFile: await logFile(dataDir, 'postgres'),
          say,
          signal,
          onPlace: (postgresFolder) => stack.record({ postgresFolder }),
          onChild,
        });
      },
    },
    `postgres://127.0.0.1:${config.postgresPort}`,
  );
  if (server === undefined) throw new Error('Postgres was started and is not there.');
  return server;
}

async function bringUpTemporal(
  stack: OpenStack,
  { config, dataDir, env }: StackSettings,
  { say, signal }: LaunchOptions,
): Promise<Pick<ServerAddresses, 'temporalAddress' | 'temporalUiUrl'>> {
  if (config.temporalAddress !== undefined) {
    return { temporalAddress: config.temporalAddress, temporalUiUrl: config.temporalUiUrl };
  }
  const cli = await findTemporalCli({
    cliPath: config.temporalCliPath,
    env,
    cacheDir: await cacheFolder(env['XDG_CACHE_HOME'], join(dataDir, 'cache')),
    say,
    signal,
  });
  say(`Temporal CLI ${cli.version} from ${cli.source}: ${cli.path}`);
  const address = `127.0.0.1:${config.temporalPort}`;
  const uiUrl = `http://127.0.0.1:${config.temporalUiPort}`;
  await stack.start(
    {
      name: 'temporal',
      roles: ['temporal'],
      stopSignal: 'SIGTERM',
      stopGraceMs: SERVER_STOP_GRACE_MS,
      begin: async (onChild, stopping) => {
        let child: Child | undefined;
        await startTemporal({
          cliPath: cli.path,
          port: config.temporalPort,
          uiPort: config.temporalUiPort,
          namespace: config.temporalNamespace,
          dbFilename: temporalDatabase(dataDir),
          logFile: await logFile(dataDir, 'temporal'),
          env: { PATH: env['PATH'] ?? '', HOME: env['HOME'] ?? dirname(cli.path) },
          signal: stopping,
          onChild: (begun) => {
            child = begun;
            return onChild(begun);
          },
        });
        if (child !== undefined) await untilAnswering(child, uiUrl, READY_TIMEOUT_MS, stopping);
      },
    },
    uiUrl,
  );
  return { temporalAddress: address, temporalUiUrl: uiUrl };
}

async function bringUpRole(
  stack: OpenStack,
  name: ServedRole,
  url: string | undefined,
  env: Readonly<Record<string, string>>,
  { config, dataDir }: StackSettings,
  { programOf, signal }: LaunchOptions,
): Promise<void> {
  const supervised = await stack.start(
    {
      name,
      roles: rolesOf(name),
      stopSignal: 'SIGTERM',
      stopGraceMs:
        ROLE_STOP_GRACE_MS + (rolesOf(name).includes('worker') ? config.stepTimeoutMs : 0),
      begin: async (onChild, stopping) => {
        const log = await logFile(dataDir, name);
        const role = { program: programOf(name), dataDir, env, logFile: log, url };
        await startRole(role, onChild, stopping);
      },
    },
    url,
  );
  const child = supervised.child();
  if (url !== undefined && child !== undefined) {
    await untilAnswering(child, `${url}/readyz`, READY_TIMEOUT_MS, signal);
  }
}

/** What a program is in `stack.json`. */
function rolesOf(name: ServedRole): readonly RoleName[] {
  return name === 'app' ? ['api', 'worker'] : [name];
}

/**
 * Waits for all, also when one fails: what is still being started then is known before everything is stopped.
 *
 * @throws what the first of them threw.
 */
async function allOrFirstError<T extends readonly Promise<unknown>[]>(
  promises: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

function withoutPassword(url: string): string {
  const parsed = new URL(url);
  parsed.password = '';
  return parsed.href;
}
