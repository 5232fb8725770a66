import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type pg from 'pg';
import { createPool } from '../../src/postgres/pool.js';
import { build } from '../support/build.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';
import { get, post, probe, send } from '../support/wire.js';
import type { PostOptions, SendOptions, ServiceProbe, WireAnswer } from '../support/wire.js';
import { endLoads } from './load.js';
import { createProgram } from './program.js';
import type { Program } from './program.js';
import { databaseServer, FAST, temporalServer } from './servers.js';
import type { DatabaseServer, Server } from './servers.js';
import { startToxiproxy } from './toxiproxy.js';
import type { Link, Toxiproxy } from './toxiproxy.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Every line between two processes, named by who calls and who answers. */
export const LINKS = [
  'client-api',
  'api-postgres',
  'api-temporal',
  'worker-postgres',
  'worker-temporal',
  'worker-payment',
  'worker-inventory',
  'payment-postgres',
  'inventory-postgres',
] as const;
export type LinkName = (typeof LINKS)[number];

export const ROLES = ['api', 'worker', 'payment', 'inventory'] as const;
export type RoleName = (typeof ROLES)[number];

type Environment = Readonly<Record<string, string>>;

/**
 * Every process of an order, each started by the test, and every line between two of them through a TCP
 * proxy. Nobody but the test starts again what it has killed.
 */
export interface Rig {
  readonly links: Readonly<Record<LinkName, Link>>;
  readonly toxiproxy: Toxiproxy;
  readonly roles: Readonly<Record<RoleName, Program>>;
  readonly databases: Readonly<Record<'orders' | 'payment' | 'inventory', DatabaseServer>>;
  readonly temporalServer: Server;
  /** Past every proxy, as are the probes and the pool: a test must see what it has cut off. */
  readonly temporal: Client;
  readonly ordersPool: pg.Pool;
  readonly payment: ServiceProbe;
  readonly inventory: ServiceProbe;
  readonly post: (body: object | string, options?: PostOptions) => Promise<WireAnswer>;
  readonly send: (path: string, options?: SendOptions) => Promise<WireAnswer>;
  readonly get: (path: string, token?: string) => Promise<WireAnswer>;
  /** Status of `/readyz`. */
  readonly readiness: () => Promise<number>;
  /** Base address of the API behind its proxy, which clients use. */
  readonly apiUrl: string;
  /** One more process of a role, not started yet. `PORT` is a free one. */
  readonly another: (
    role: RoleName,
    options?: ProcessOptions,
  ) => Promise<Program & { readonly url: string }>;
  /** The environment of a role. */
  readonly environment: (role: RoleName) => Environment;
  readonly folder: string;
  /** Ends all faults: every link, fault endpoint, server and role is as it was at first. */
  readonly heal: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface ProcessOptions {
  readonly env?: Environment;
  /** A command that runs the one that follows it, and becomes it. */
  readonly within?: readonly string[];
  /** The folder of another build. */
  readonly root?: string;
}

export interface RigOptions {
  readonly env?: Environment;
  /** Servers that a test has made itself, in place of the rig's own. */
  readonly servers?: {
    readonly payment?: DatabaseServer;
    readonly temporal?: Server;
  };
}

/** Impatient but for its steps, which on a loaded machine must outlast what a test does in between. */
const SETTINGS: Environment = {
  STEP_TIMEOUT_MS: '1000',
  STEP_DEADLINE_MS: '60000',
  ATTENTION_AFTER_SECONDS: '5',
  RECONCILE_INTERVAL_SECONDS: '1',
  WAIT_SECONDS: '10',
  RATE_LIMIT_PER_MINUTE: '1000000',
  API_KEYS: 'demo:demo-token,other:other-token',
  OPERATOR_KEYS: 'ops:ops-token',
  FAULTS: 'on',
  LOG_LEVEL: 'info',
};

const SCRIPTS: Readonly<Record<RoleName, string>> = {
  api: 'dist/api/server.js',
  worker: 'dist/worker.js',
  payment: 'dist/services/payment/server.js',
  inventory: 'dist/services/inventory/server.js',
};

let building: Promise<void> | undefined;
let shared: Promise<Rig> | undefined;
const rigs = new Set<Rig>();

/** The rig of all tests that heal what they break. */
export function sharedRig(): Promise<Rig> {
  shared ??= startRig();
  return shared;
}

export async function stopRigs(): Promise<void> {
  await Promise.all([...rigs].map((rig) => rig.stop()));
}

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  building ??= build();
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'order-saga-faults-')));
  // Where root runs the tests, Postgres runs as another user and must get through.
  await chmod(folder, 0o711);
  const own = options.servers;
  const [orders, payment, inventory, temporal, toxiproxy] = await Promise.all([
    databaseServer(folder, 'orders'),
    own?.payment ?? databaseServer(folder, 'payment'),
    databaseServer(folder, 'inventory'),
    own?.temporal ?? temporalServer(folder),
    startToxiproxy(),
    building,
  ]);
  const databases = { orders, payment, inventory };
  const ports: Record<'api' | 'payment' | 'inventory', number> = {
    api: await freePort(),
    payment: await freePort(),
    inventory: await freePort(),
  };
  const on = (port: number) => ({ hostname: '127.0.0.1', port });
  const targets: Record<LinkName, number> = {
    'client-api': ports.api,
    'api-postgres': orders.port,
    'api-temporal': temporal.port,
    'worker-postgres': orders.port,
    'worker-temporal': temporal.port,
    'worker-payment': ports.payment,
    'worker-inventory': ports.inventory,
    'payment-postgres': payment.port,
    'inventory-postgres': inventory.port,
  };
  const links = Object.fromEntries(
    await Promise.all(
      LINKS.map(async (name) => [name, await toxiproxy.link(name, on(targets[name]))] as const),
    ),
  ) as Record<LinkName, Link>;

  const temporalAt = (link: Link): Environment => ({
    TEMPORAL_ADDRESS: `127.0.0.1:${link.port}`,
    TEMPORAL_TLS: 'false',
  });
  const environments: Record<RoleName, Environment> = {
    api: {
      PORT: String(ports.api),
      DATABASE_URL: through(links['api-postgres'], orders.url()),
      ...temporalAt(links['api-temporal']),
    },
    worker: {
      DATABASE_URL: through(links['worker-postgres'], orders.url()),
      PAYMENT_URL: `http://127.0.0.1:${links['worker-payment'].port}`,
      INVENTORY_URL: `http://127.0.0.1:${links['worker-inventory'].port}`,
      ...temporalAt(links['worker-temporal']),
    },
    payment: {
      PAYMENT_PORT: String(ports.payment),
      PAYMENT_DATABASE_URL: through(links['payment-postgres'], payment.url()),
    },
    inventory: {
      INVENTORY_PORT: String(ports.inventory),
      INVENTORY_DATABASE_URL: through(links['inventory-postgres'], inventory.url()),
    },
  };
  const environment = (role: RoleName): Environment => ({
    HOME: folder,
    PATH: process.env['PATH'] ?? '',
    ...SETTINGS,
    ...options.env,
    ...environments[role],
  });
  const answersAt = (url: string) => (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const program = (
    role: RoleName,
    name: string,
    env: Environment,
    url: string,
    { within = [], root = ROOT }: ProcessOptions = {},
  ): Program =>
    createProgram({
      command: [...within, process.execPath],
      args: [join(root, SCRIPTS[role])],
      env,
      logFile: join(folder, `${name}.log`),
      ready: role === 'worker' ? (output) => output.includes('worker is running') : answersAt(url),
    });
  const urlOf = (role: RoleName): string =>
    role === 'worker' ? '' : `http://127.0.0.1:${ports[role]}`;
  const roles = Object.fromEntries(
    ROLES.map((role) => [role, program(role, role, environment(role), urlOf(role))]),
  ) as Record<RoleName, Program>;
  const more: Program[] = [];

  const connection = Connection.lazy({ address: `127.0.0.1:${temporal.port}` });
  const ordersPool = createPool({
    connectionString: orders.url(),
    max: 2,
    applicationName: 'order-saga test',
    onIdleError: () => undefined,
  });
  const apiUrl = `http://127.0.0.1:${links['client-api'].port}`;
  const rig: Rig = {
    links,
    toxiproxy,
    roles,
    databases,
    temporalServer: temporal,
    temporal: new Client({ connection, namespace: 'default' }),
    ordersPool,
    payment: probe(urlOf('payment')),
    inventory: probe(urlOf('inventory')),
    apiUrl,
    folder,
    environment,
    post: (body, postOptions = {}) => post(postOptions.api ?? apiUrl, body, postOptions),
    send: (path, sendOptions) => send(apiUrl, path, sendOptions),
    get: (path, token) => get(apiUrl, path, token),
    readiness: async () => (await fetch(`${urlOf('api')}/readyz`)).status,
    another: async (role, processOptions = {}) => {
      const port = String(await freePort());
      const url = `http://127.0.0.1:${port}`;
      const name = `${role}-${more.length + 2}`;
      const env = { ...environment(role), PORT: port, ...processOptions.env };
      const one = program(role, name, env, url, processOptions);
      more.push(one);
      return { ...one, url };
    },
    heal: async () => {
      endLoads();
      await toxiproxy.heal();
      await Promise.all([orders, payment, inventory, temporal].map((server) => server.start()));
      for (const role of ROLES) {
        if (roles[role].running()) roles[role].goOn();
        await roles[role].start();
      }
      for (const service of [rig.payment, rig.inventory]) {
        await service.faults([]);
        await service.release();
      }
    },
    stop: async () => {
      rigs.delete(rig);
      await ordersPool.end();
      await connection.close();
      const programs = [...Object.values(roles), ...more].filter((one) => one.running());
      // What is halted hears nothing; nothing is left to be drained.
      await Promise.all(programs.map((one) => one.kill()));
      await Promise.all([
        ...Object.values(databases).map((server) => server.end(FAST)),
        temporal.end('SIGTERM'),
        toxiproxy.stop(),
      ]);
      // Where the account of Postgres can't enter our folder, its clusters are elsewhere.
      const folders = [folder, ...Object.values(databases).map((one) => dirname(one.data()))];
      await Promise.all(folders.map((one) => rm(one, { recursive: true, force: true })));
    },
  };
  rigs.add(rig);
  await Promise.all([roles.payment.start(), roles.inventory.start(), roles.worker.start()]);
  await roles.api.start();
  await until(async () => (await rig.readiness()) === 200);
  await rig.inventory.json('/stock/DEFAULT', { method: 'PUT', body: '{"onHand":1000000}' });
  await rig.inventory.json('/stock/SOLD-OUT', { method: 'PUT', body: '{"onHand":0}' });
  return rig;
}

/** The same database, behind a link. */
function through(link: Link, url: string): string {
  const behind = new URL(url);
  behind.host = `${link.host}:${link.port}`;
  return behind.href;
}
