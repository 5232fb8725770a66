import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ask } from './http.js';
import { TENANTS } from './plan.js';
import type { Tenant } from './plan.js';
import { openLink } from './tcp-proxy.js';
import type { Link } from './tcp-proxy.js';
import { came, until } from './until.js';

/** Those of `npm start`, where API and worker may be one process, and one more of both behind links of their own. */
const ROLES = [
  'api',
  'api2',
  'worker',
  'worker2',
  'payment',
  'inventory',
  'postgres',
  'temporal',
] as const;
export type Role = (typeof ROLES)[number];

export type LinkName =
  | 'workers-payment'
  | 'workers-inventory'
  | 'api2-postgres'
  | 'api2-temporal'
  | 'worker2-postgres'
  | 'worker2-temporal';

/**
 * Limits scaled down, so that every way to end fits into a minute. A step's deadline is longer than a crash with its
 * restart, so that both happen: orders that survive a fault, and orders that give up.
 */
export const SETTINGS = {
  STEP_TIMEOUT_MS: '1000',
  STEP_DEADLINE_MS: '6000',
  ATTENTION_AFTER_SECONDS: '5',
  RECONCILE_INTERVAL_SECONDS: '3',
  PURGE_INTERVAL_SECONDS: '2',
  // Shorter than the run: replays after a purge are answered from Temporal's memory.
  IDEMPOTENCY_TTL_SECONDS: '45',
  WAIT_SECONDS: '4',
  LOG_LEVEL: 'warn',
} as const;

/** 90 s to be ready: eight seconds on an idle machine, and others may share it. */
const START_TIMEOUT_MS = 90_000;

/** 45 s for a role that was killed to be back: the launcher doubles its patience for one that dies young. */
const COME_BACK_MS = 45_000;

/** 11 s of life before a role is ended: one that dies within ten the launcher keeps down for ever longer. */
const SOUND_AFTER_MS = 11_000;

const OPERATOR_TOKEN = 'hammer-operator';

export interface Product {
  readonly apis: readonly [string, string];
  readonly payment: string;
  readonly inventory: string;
  readonly temporalAddress: string;
  readonly links: Readonly<Record<LinkName, Link>>;
  readonly tokenOf: (tenant: Tenant | 'operator') => string;
  readonly signal: (role: Role, signal: NodeJS.Signals) => Promise<void>;
  /** Ends a role by a signal, once it has lived for a while, and waits until another process does its work. */
  readonly end: (role: Role, signal: NodeJS.Signals, strike?: () => Promise<void>) => Promise<void>;
  /** Copies the logs of all roles. */
  readonly saveLogs: (folder: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface StackFile {
  readonly postgresFolder?: string;
  readonly roles: Readonly<Record<string, { readonly pid: number }>>;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts the product as its users do, in a new temporary folder on ports that were free, with two processes each of
 * API and worker; the second ones reach Postgres and Temporal, and all workers the services, through links.
 *
 * @param root the folder of the product: this repository, or a copy of it with a fault planted.
 */
export async function startProduct(
  root: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Product> {
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: root });
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'order-saga-hammer-')));
  // Where root runs it, Postgres runs as another user and must get through.
  await chmod(folder, 0o711);
  const dataDir = join(folder, 'data');
  const names = ['PORT', 'PAYMENT_PORT', 'INVENTORY_PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT'];
  const ports = await freePorts([...names, 'TEMPORAL_UI_PORT', 'API2_PORT']);
  const port = (name: string): number => ports[name] ?? 0;
  const local = (name: string): string => `http://127.0.0.1:${port(name)}`;
  const links = {
    'workers-payment': await openLink('workers-payment', port('PAYMENT_PORT')),
    'workers-inventory': await openLink('workers-inventory', port('INVENTORY_PORT')),
    'api2-postgres': await openLink('api2-postgres', port('POSTGRES_PORT')),
    'api2-temporal': await openLink('api2-temporal', port('TEMPORAL_PORT')),
    'worker2-postgres': await openLink('worker2-postgres', port('POSTGRES_PORT')),
    'worker2-temporal': await openLink('worker2-temporal', port('TEMPORAL_PORT')),
  };
  const env: Record<string, string> = {
    ...own(process.env),
    ...SETTINGS,
    ...Object.fromEntries(names.map((name) => [name, String(port(name))])),
    TEMPORAL_UI_PORT: String(port('TEMPORAL_UI_PORT')),
    DATA_DIR: dataDir,
    API_KEYS: TENANTS.map((tenant) => `${tenant}:${tokenOf(tenant)}`).join(','),
    OPERATOR_KEYS: `hammer:${OPERATOR_TOKEN}`,
    PAYMENT_URL: `http://127.0.0.1:${links['workers-payment'].port}`,
    INVENTORY_URL: `http://127.0.0.1:${links['workers-inventory'].port}`,
  };
  /** By process: an API and a worker may be one. */
  const firstSeen = new Map<number, number>();
  const extras = new Map<Role, Extra>();
  const launcher = spawn(process.execPath, ['dist/embedded/start.js'], { cwd: root, env });
  const launcherLog = createWriteStream(join(folder, 'launcher.log'));
  for (const stream of [launcher.stdout, launcher.stderr]) stream.pipe(launcherLog, { end: false });

  const stackFile = async (): Promise<StackFile> =>
    JSON.parse(await readFile(join(dataDir, 'stack.json'), 'utf8')) as StackFile;
  let postgresFolder: string | undefined;
  const stop = async (): Promise<void> => {
    await Promise.all([...extras.values()].map((extra) => extra.stop()));
    if (launcher.exitCode === null && launcher.signalCode === null) {
      const ended = new Promise((resolve) => launcher.once('exit', resolve));
      launcher.kill('SIGTERM');
      await ended;
    }
    await Promise.all(Object.values(links).map((link) => link.close()));
    await rm(folder, { recursive: true, force: true });
    // Where the account of Postgres can't reach the temporary folder, its cluster is elsewhere.
    if (postgresFolder?.includes('/order-saga/') === true) {
      await rm(dirname(postgresFolder), { recursive: true, force: true });
    }
  };
  try {
    await untilReady(local('PORT'), () => launcher.exitCode === null, signal);
    const stack = await stackFile();
    postgresFolder = stack.postgresFolder;
    const joined = (prefix: 'api2' | 'worker2'): Record<string, string> => ({
      ...own(process.env),
      ...stack.env,
      PORT: String(port('API2_PORT')),
      TEMPORAL_ADDRESS: `127.0.0.1:${links[`${prefix}-temporal`].port}`,
      DATABASE_URL: withPort(stack.env['DATABASE_URL'] ?? '', links[`${prefix}-postgres`].port),
    });
    const logs = join(dataDir, 'logs');
    await mkdir(logs, { recursive: true });
    extras.set(
      'api2',
      runExtra(root, 'dist/api/server.js', joined('api2'), join(logs, 'api2.log')),
    );
    extras.set(
      'worker2',
      runExtra(root, 'dist/worker.js', joined('worker2'), join(logs, 'worker2.log')),
    );
    await untilReady(local('API2_PORT'), () => true, signal);
  } catch (error) {
    say(await readFile(join(folder, 'launcher.log'), 'utf8').catch(() => ''));
    await stop();
    throw error;
  }

  const pidOf = async (role: Role): Promise<number | undefined> => {
    const extra = extras.get(role);
    if (extra !== undefined) return extra.pid();
    return stackFile().then(
      ({ roles }) => roles[role]?.pid,
      () => undefined,
    );
  };
  /** Whether a process has lived for long enough to be ended; the first look at it counts as its birth. */
  const isSound = (pid: number | undefined): boolean => {
    if (pid === undefined) return false;
    const since = firstSeen.get(pid) ?? Date.now();
    firstSeen.set(pid, since);
    return Date.now() - since >= SOUND_AFTER_MS;
  };
  const signalRole = async (role: Role, name: NodeJS.Signals): Promise<void> => {
    const pid = await pidOf(role);
    if (pid === undefined) return;
    try {
      process.kill(pid, name);
    } catch {
      // It has ended by itself since, and is being started again.
    }
  };
  const answers = async (role: Role): Promise<boolean> => {
    const urls: Partial<Record<Role, string>> = {
      api: local('PORT'),
      api2: local('API2_PORT'),
      payment: local('PAYMENT_PORT'),
      inventory: local('INVENTORY_PORT'),
    };
    const url = urls[role];
    if (url !== undefined) return (await ask(`${url}/healthz`)) !== undefined;
    return role.startsWith('worker') || (await ask(`${local('PORT')}/readyz`)) !== undefined;
  };
  for (const role of ROLES) isSound(await pidOf(role));
  return {
    apis: [local('PORT'), local('API2_PORT')],
    payment: local('PAYMENT_PORT'),
    inventory: local('INVENTORY_PORT'),
    temporalAddress: `127.0.0.1:${port('TEMPORAL_PORT')}`,
    links,
    tokenOf,
    signal: signalRole,
    end: async (role, name, strike) => {
      await came(async () => isSound(await pidOf(role)), COME_BACK_MS, 200);
      await strike?.();
      const before = await pidOf(role);
      await signalRole(role, name);
      const isBack = async (): Promise<boolean> => {
        const pid = await pidOf(role);
        return pid !== undefined && pid !== before && (await answers(role));
      };
      await until(isBack, COME_BACK_MS, `${role} is back`);
      isSound(await pidOf(role));
    },
    saveLogs: async (target) => {
      await mkdir(target, { recursive: true });
      await cp(join(dataDir, 'logs'), target, { recursive: true }).catch(() => undefined);
      await cp(join(folder, 'launcher.log'), join(target, 'launcher.log'));
    },
    stop,
  };
}

const tokenOf = (tenant: Tenant | 'operator'): string =>
  tenant === 'operator' ? OPERATOR_TOKEN : `hammer-${tenant}`;

interface Extra {
  readonly pid: () => number | undefined;
  readonly stop: () => Promise<void>;
}

/** Keeps one more process of a role running, as whoever deploys the roles would. */
function runExtra(
  root: string,
  script: string,
  env: Readonly<Record<string, string>>,
  logFile: string,
): Extra {
  const log = createWriteStream(logFile, { flags: 'a' });
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  const keepAlive = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const one = spawn(process.execPath, [script], {
        cwd: root,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = one;
      for (const stream of [one.stdout, one.stderr]) stream.pipe(log, { end: false });
      await new Promise((resolve) => one.once('exit', resolve));
      child = undefined;
      await sleep(1_000, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = keepAlive();
  return {
    pid: () => child?.pid,
    stop: async () => {
      stopping.abort();
      child?.kill('SIGCONT');
      child?.kill('SIGTERM');
      const limit = setTimeout(() => child?.kill('SIGKILL'), 20_000);
      await running;
      clearTimeout(limit);
    },
  };
}

/** The environment as it is, less what would make the product join somebody's servers. */
function own(env: NodeJS.ProcessEnv): Record<string, string> {
  const ours =
    /^(TEMPORAL_(?!CLI_PATH)|DATABASE_URL|PAYMENT_|INVENTORY_|API_KEYS|OPERATOR_KEYS|FAULTS)/;
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !ours.test(entry[0]),
    ),
  );
}

async function untilReady(
  url: string,
  isRunning: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const isReady = async (): Promise<boolean> => {
    signal.throwIfAborted();
    if (!isRunning()) throw new Error('the stack ended before it was ready');
    return (await ask(`${url}/readyz`)) !== undefined;
  };
  await until(isReady, START_TIMEOUT_MS, `${url} is ready`);
}

function withPort(url: string, port: number): string {
  const parsed = new URL(url);
  parsed.port = String(port);
  return parsed.href;
}

/** All asked for at once, so that no two are the same. */
async function freePorts(names: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const servers = await Promise.all(
    names.map(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer();
          server.listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return Object.fromEntries(names.map((name, index) => [name, ports[index] ?? 0]));
}
