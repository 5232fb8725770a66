import { join } from 'node:path';
import { seedInventory } from '../../src/embedded/seed.js';
import { createDatabases, startPostgres } from '../../src/embedded/postgres.js';
import { migrate } from '../../src/postgres/migrate.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Child } from '../../src/embedded/child.js';
import { freePort } from '../../test/support/free-port.js';
import { plainEnvironment, ROOT, startProcess, temporalCli, TOKEN } from './system.js';
import type { Ground, System } from './system.js';

/** As the launcher runs them. */
const SERVICE_NODE = ['--max-semi-space-size=2', '--optimize-for-size'];

const POLL_INTERVAL_MS = 50;

interface Base {
  readonly pids: readonly number[];
  readonly databases: {
    readonly payment: string;
    readonly inventory: string;
    readonly dbos: string;
  };
  /** Where the services are, for the peer's command line. */
  readonly services: { readonly paymentUrl: string; readonly inventoryUrl: string };
}

/** Temporal as in its samples: see `peers/samples.js`. */
export async function startSamples(ground: Ground): Promise<System> {
  const base = await startBase(ground);
  const port = await freePort();
  const { path } = await temporalCli(ground.say);
  const server = await startProcess(ground, {
    name: 'temporal',
    command: path,
    args: [
      ...['server', 'start-dev', '--port', String(port), '--ui-port', String(await freePort())],
      // All others keep their data too. Nothing else is set.
      ...['--db-filename', join(ground.folder, 'temporal.db'), '--log-level', 'warn'],
    ],
    env: plainEnvironment(ground.folder),
  });
  const temporalAddress = `127.0.0.1:${port}`;
  await untilServing(server, temporalAddress, ground);
  const settings = { ...base.services, temporalAddress };
  const worker = await startPeer(ground, 'samples-worker', settings);
  return startEntry(ground, 'samples', settings, base, [server.pid, worker.pid]);
}

/** DBOS: see `peers/dbos.js`. Its store is Postgres, the same server as the services'. */
export async function startDbos(ground: Ground): Promise<System> {
  const base = await startBase(ground);
  const settings = { ...base.services, databaseUrl: base.databases.dbos };
  return startEntry(ground, 'dbos', settings, base, []);
}

/** Restate: see `peers/restate.js`. Its store is its own log, written through to the disk as it does by default. */
export async function startRestate(ground: Ground): Promise<System> {
  const base = await startBase(ground);
  const [ingress, admin, node, endpointPort] = await Promise.all(
    [1, 2, 3, 4].map(() => freePort()),
  );
  const adminUrl = `http://127.0.0.1:${admin ?? ''}`;
  const server = await startProcess(ground, {
    name: 'restate-server',
    command: join(ROOT, `bench/node_modules/${restatePackage()}/bin/restate-server`),
    args: ['--no-logo', '--listen-mode', 'tcp', '--node-name', 'bench'],
    env: {
      ...plainEnvironment(ground.folder),
      RESTATE_BASE_DIR: join(ground.folder, 'restate'),
      RESTATE_BIND_IP: '127.0.0.1',
      RESTATE_BIND_PORT: String(node),
      RESTATE_INGRESS__BIND_PORT: String(ingress),
      RESTATE_ADMIN__BIND_PORT: String(admin),
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_LOG_FILTER: 'warn',
    },
    readyUrl: `${adminUrl}/health`,
  });
  const ingressUrl = `http://127.0.0.1:${ingress ?? ''}`;
  const settings = { ...base.services, adminUrl, ingressUrl, endpointPort };
  return startEntry(ground, 'restate', settings, base, [server.pid]);
}

async function untilServing(server: Child, address: string, { signal }: Ground): Promise<void> {
  const connection = Connection.lazy({ address });
  try {
    for (;;) {
      signal.throwIfAborted();
      if (!server.running()) throw new Error(`Temporal ended:\n${await server.output()}`);
      const namespace = 'default';
      const isThere = await connection.workflowService.describeNamespace({ namespace }).then(
        () => true,
        () => false,
      );
      if (isThere) return;
      await sleep(POLL_INTERVAL_MS);
    }
  } finally {
    await connection.close();
  }
}

const restatePackage = (): string =>
  `@restatedev/restate-server-${process.platform}-${process.arch}`;

/** What every peer stands on: Postgres, and our own two services on it. */
async function startBase(ground: Ground): Promise<Base> {
  const { folder, say } = ground;
  const postgres = await startPostgres({
    dataDir: folder,
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    say,
  });
  ground.onStop(postgres.stop);
  await createDatabases(postgres, ['payment', 'inventory', 'dbos']);
  const databases = {
    payment: postgres.url('payment'),
    inventory: postgres.url('inventory'),
    dbos: postgres.url('dbos'),
  };
  await Promise.all([
    migrate('payment', databases.payment),
    migrate('inventory', databases.inventory),
  ]);
  await seedInventory(databases.inventory);
  const ports = { payment: await freePort(), inventory: await freePort() };
  const service = async (name: 'payment' | 'inventory'): Promise<number> => {
    const child = await startProcess(ground, {
      name,
      args: [...SERVICE_NODE, `dist/services/${name}/server.js`],
      env: {
        ...plainEnvironment(folder),
        [`${name.toUpperCase()}_DATABASE_URL`]: databases[name],
        [`${name.toUpperCase()}_PORT`]: String(ports[name]),
        FAULTS: 'on',
      },
      readyUrl: `http://127.0.0.1:${ports[name]}/readyz`,
    });
    return child.pid;
  };
  const pids = await Promise.all([service('payment'), service('inventory')]);
  return {
    pids: [postgres.child.pid, ...pids],
    databases,
    services: {
      paymentUrl: `http://127.0.0.1:${ports.payment}`,
      inventoryUrl: `http://127.0.0.1:${ports.inventory}`,
    },
  };
}

async function startEntry(
  ground: Ground,
  peer: string,
  settings: object,
  base: Base,
  pids: readonly number[],
): Promise<System> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const entry = await startPeer(ground, peer, { ...settings, port, token: TOKEN }, `${url}/readyz`);
  return {
    url,
    token: TOKEN,
    pids: [...base.pids, ...pids, entry.pid],
    paymentUrl: base.databases.payment,
    inventoryUrl: base.databases.inventory,
  };
}

function startPeer(ground: Ground, peer: string, settings: object, readyUrl?: string) {
  return startProcess(ground, {
    name: peer,
    args: [`bench/peers/${peer}.js`, JSON.stringify(settings)],
    env: { ...plainEnvironment(ground.folder), RESTATE_LOGGING: 'ERROR' },
    ...(readyUrl !== undefined && { readyUrl }),
  });
}
