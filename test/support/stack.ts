import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type pg from 'pg';
import type { RoleName } from '../../src/embedded/stack-file.js';
import { createPool } from '../../src/postgres/pool.js';
import { createNamespace } from '../cluster/namespace.js';
import { build } from './build.js';
import { freePort } from './free-port.js';
import { folderOf, stackEnvironment, stackOf } from './launched-stack.js';
import { until } from './until.js';
import { get, post, probe, send } from './wire.js';
import type { PostOptions, SendOptions, ServiceProbe, WireAnswer } from './wire.js';

export type { ServiceProbe, WireAnswer } from './wire.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface RunningStack {
  readonly env: Readonly<Record<string, string>>;
  readonly payment: ServiceProbe;
  readonly inventory: ServiceProbe;
  readonly temporal: Client;
  /** The database of the API and the worker. */
  readonly ordersPool: pg.Pool;
  /** `POST /orders`; a new key unless one is given. */
  readonly post: (body: object | string, options?: PostOptions) => Promise<WireAnswer>;
  /** Any other request, with a JSON body where one is given. */
  readonly send: (path: string, options?: SendOptions) => Promise<WireAnswer>;
  readonly get: (path: string, token?: string) => Promise<WireAnswer>;
  readonly pid: (role: RoleName) => Promise<number>;
  readonly log: (role: RoleName) => Promise<string>;
  /** Kills a role outright and waits until the launcher has started it again. */
  readonly kill: (role: RoleName) => Promise<void>;
  /** Acts while the Temporal server stands still: its port takes connections, and nothing answers. */
  readonly whileTemporalStands: <T>(act: () => Promise<T>) => Promise<T>;
  /** Kills the launcher and everything it started, at once. */
  readonly killAll: () => Promise<void>;
  /** Starts what was killed or stopped again, on the same data. */
  readonly startAgain: () => Promise<void>;
  /** Loses all that Temporal knows: its data, then the server starts again on nothing. */
  readonly loseTemporal: () => Promise<void>;
  /** Starts one more API process beside the stack's, with settings of its own. @returns its base address. */
  readonly startApi: (settings?: Readonly<Record<string, string>>) => Promise<string>;
  /** Starts one more worker beside the stack's, until it has said something. @returns all that it has said. */
  readonly startWorker: (
    settings: Readonly<Record<string, string>>,
    says: string,
  ) => Promise<string>;
  readonly stop: () => Promise<void>;
}

let building: Promise<unknown> | undefined;
let shared: Promise<RunningStack> | undefined;
let impatient: Promise<RunningStack> | undefined;
const stacks = new Set<RunningStack>();

/** The stack of `npm start`, API and worker in one, with two more tenants, for all tests that do no harm to it. */
export function sharedStack(): Promise<RunningStack> {
  shared ??= startStack({
    API_KEYS: 'demo:demo-token,other:other-token,hostile:hostile-token',
    SPLIT_ROLES: 'off',
  });
  return shared;
}

/**
 * A stack whose steps and undos run out of patience after five seconds, and that reconciles each
 * second; its processes may be killed, as they come back.
 */
export function impatientStack(): Promise<RunningStack> {
  impatient ??= startStack({
    STEP_TIMEOUT_MS: '1000',
    STEP_DEADLINE_MS: '5000',
    ATTENTION_AFTER_SECONDS: '5',
    RECONCILE_INTERVAL_SECONDS: '1',
  });
  return impatient;
}

export async function stopStacks(): Promise<void> {
  await Promise.all([...stacks].map((stack) => stack.stop()));
}

/**
 * Starts the whole stack as `npm start` does, API and worker apart unless told otherwise, on free ports and a folder
 * of its own.
 */
export async function startStack(
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningStack> {
  building ??= build();
  await building;
  const base = await stackEnvironment();
  const env: Record<string, string> = {
    SPLIT_ROLES: 'on',
    ...base,
    ...(await clusterEnvironment()),
    ...settings,
  };
  const apiUrl = `http://127.0.0.1:${env['PORT'] ?? ''}`;
  const extra: ChildProcess[] = [];
  let launcher = await launch(env, apiUrl);
  const connection = Connection.lazy({
    address: env['TEMPORAL_ADDRESS'] ?? `127.0.0.1:${env['TEMPORAL_PORT'] ?? ''}`,
  });

  const ordersPool = createPool({
    connectionString: (await stackOf(base.DATA_DIR)).env['DATABASE_URL'] ?? '',
    max: 2,
    applicationName: 'order-saga test',
    onIdleError: () => undefined,
  });

  const stack: RunningStack = {
    env,
    ordersPool,
    payment: probe(`http://127.0.0.1:${env['PAYMENT_PORT'] ?? ''}`),
    inventory: probe(`http://127.0.0.1:${env['INVENTORY_PORT'] ?? ''}`),
    temporal: new Client({ connection, namespace: env['TEMPORAL_NAMESPACE'] ?? 'default' }),
    post: (body, options = {}) => post(options.api ?? apiUrl, body, options),
    send: (path, options) => send(apiUrl, path, options),
    get: (path, token) => get(apiUrl, path, token),
    pid: async (role) => {
      const { roles } = await stackOf(base.DATA_DIR);
      const pid = roles[role]?.pid ?? (role === 'temporal' ? clusterPid() : undefined);
      assert.ok(pid !== undefined, `${role} has no process`);
      return pid;
    },
    log: (role) => {
      const isInApp = env['SPLIT_ROLES'] === 'off' && (role === 'api' || role === 'worker');
      return readFile(join(base.DATA_DIR, 'logs', `${isInApp ? 'app' : role}.log`), 'utf8');
    },
    kill: async (role) => {
      const pid = await stack.pid(role);
      process.kill(pid, 'SIGKILL');
      await until(async () => (await stack.pid(role)) !== pid);
    },
    whileTemporalStands: async (act) => {
      const temporal = await stack.pid('temporal');
      process.kill(temporal, 'SIGSTOP');
      try {
        return await act();
      } finally {
        process.kill(temporal, 'SIGCONT');
      }
    },
    killAll: async () => {
      const { roles } = await stackOf(base.DATA_DIR);
      const ended = once(launcher, 'exit');
      launcher.kill('SIGKILL');
      for (const { pid } of Object.values(roles)) process.kill(pid, 'SIGKILL');
      await ended;
    },
    startAgain: async () => {
      launcher = await launch(env, apiUrl);
    },
    loseTemporal: async () => {
      if (clusterPid() !== undefined) return forgetEverything(stack.temporal);
      const pid = await stack.pid('temporal');
      process.kill(pid, 'SIGKILL');
      for (const end of ['', '-wal', '-shm']) {
        await rm(join(base.DATA_DIR, `temporal.db${end}`), { force: true });
      }
      await until(async () => (await stack.pid('temporal')) !== pid);
      await until(() => isServing(stack.temporal));
    },
    startApi: async (others = {}) => {
      const port = String(await freePort());
      const joined = { ...base, ...(await stackOf(base.DATA_DIR)).env, ...others, PORT: port };
      const child = spawn(process.execPath, ['dist/api/server.js'], { cwd: ROOT, env: joined });
      extra.push(child);
      await ready(`http://127.0.0.1:${port}`, child);
      return `http://127.0.0.1:${port}`;
    },
    startWorker: async (others, says) => {
      const joined = { ...base, ...(await stackOf(base.DATA_DIR)).env, ...others };
      const child = spawn(process.execPath, ['dist/worker.js'], { cwd: ROOT, env: joined });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      try {
        await until(() => {
          if (child.exitCode !== null)
            throw new Error(`it ended with ${child.exitCode}:\n${output}`);
          return output.includes(says);
        });
      } finally {
        await end(child);
      }
      return output;
    },
    stop: async () => {
      stacks.delete(stack);
      await ordersPool.end();
      await connection.close();
      await Promise.all([...extra, launcher].map(end));
      await rm(folderOf(base), { recursive: true, force: true });
    },
  };
  stacks.add(stack);
  return stack;
}

/** `npm run test:cluster` has a Temporal server of its own: a stack joins it with a namespace for itself. */
async function clusterEnvironment(): Promise<Record<string, string>> {
  const address = process.env['CLUSTER_TEMPORAL_ADDRESS'];
  if (address === undefined) return {};
  return { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: await createNamespace(address) };
}

/** That server may be halted and let go on, but not killed: no launcher starts it again. */
function clusterPid(): number | undefined {
  const pid = process.env['CLUSTER_TEMPORAL_PID'];
  return pid === undefined ? undefined : Number(pid);
}

/** What the loss of its database would leave of a namespace. */
async function forgetEverything(client: Client): Promise<void> {
  for await (const { scheduleId } of client.schedule.list()) {
    await client.schedule.getHandle(scheduleId).delete();
  }
  for await (const { workflowId, runId } of client.workflow.list()) {
    await client.workflowService.deleteWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId, runId },
    });
  }
  await until(async () => (await client.workflow.count()).count === 0);
}

async function isServing(client: Client): Promise<boolean> {
  const { namespace } = client.options;
  return client.workflowService.describeNamespace({ namespace }).then(
    () => true,
    () => false,
  );
}

async function launch(env: Record<string, string>, apiUrl: string): Promise<ChildProcess> {
  const launcher = spawn(process.execPath, ['dist/embedded/start.js'], { cwd: ROOT, env });
  let output = '';
  for (const stream of [launcher.stdout, launcher.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  await ready(apiUrl, launcher).catch((cause: unknown) => {
    throw new Error(`the stack did not start:\n${output}`, { cause });
  });
  return launcher;
}

/** Waits until an API says that it is ready; fails where its process ends first. */
async function ready(url: string, child: ChildProcess): Promise<void> {
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    return fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
