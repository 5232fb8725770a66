import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { startChild } from '../../src/embedded/child.js';
import { startPostgres } from '../../src/embedded/postgres.js';
import { freePort } from '../support/free-port.js';
import { ROOT, runStep } from './deploy-step.js';
import { goProgram } from './go-program.js';
import { accepts, freeLowPort } from './ports.js';

const SERVER_VERSION = 'v1.32.0';

/** Same as in docker-compose.yml. */
const POSTGRES_SETTINGS = ['max_connections=300'];
const OWNERS = ['orders', 'payment', 'inventory', 'temporal'] as const;
const PORTS = ['FRONTEND', 'INTERNAL_FRONTEND', 'MATCHING', 'HISTORY', 'WORKER'] as const;

/** Half a minute to hand its shards back and end; it takes some seconds. */
const STOP_GRACE_MS = 30_000;

/** Often enough for somebody who waits. What it waits for ends it, or the person does. */
const POLL_INTERVAL_MS = 100;

export interface Servers {
  readonly temporalAddress: string;
  readonly temporalPid: number;
  readonly postgresPid: number;
  readonly databaseUrl: (name: Exclude<(typeof OWNERS)[number], 'temporal'>) => string;
  readonly stop: () => Promise<void>;
}

/**
 * Starts what docker-compose.yml starts, without containers: Postgres with the databases of
 * `deploy/postgres`, and a Temporal server built from source, with its schema and the settings of
 * `deploy/temporal`. Only addresses and ports differ.
 */
export async function startServers(say: (line: string) => void): Promise<Servers> {
  const bin = await binaries(say);
  const cleanups: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), 'order-saga-cluster-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    // Where root runs the tests, Postgres runs as another user and must get through.
    await chmod(folder, 0o711);
    await linkPrograms(folder, bin);
    const postgres = await startDatabases(folder, cleanups, say);
    const env = await serverEnvironment(folder, postgres.port);
    say('setting up the schema of Temporal, and again, as every deployment does …');
    await runStep('deploy/temporal/setup-schema.sh', { env });
    await runStep('deploy/temporal/setup-schema.sh', { env });
    const temporalPid = await startTemporalServer(folder, env, cleanups, say);
    return {
      temporalAddress: `127.0.0.1:${env['FRONTEND_GRPC_PORT'] ?? ''}`,
      temporalPid,
      postgresPid: postgres.pid,
      databaseUrl: (name) =>
        `postgres://${name}:${passwordOf(name)}@127.0.0.1:${postgres.port}/${name}`,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Programs {
  readonly 'temporal-server': string;
  readonly 'temporal-sql-tool': string;
}

async function binaries(say: (line: string) => void): Promise<Programs> {
  const version = SERVER_VERSION;
  return {
    'temporal-server': await goProgram(
      { package: 'go.temporal.io/server/cmd/server', version },
      say,
    ),
    'temporal-sql-tool': await goProgram(
      { package: 'go.temporal.io/server/cmd/tools/sql', version },
      say,
    ),
  };
}

/** Under the names that they have in the images. */
async function linkPrograms(folder: string, programs: Programs): Promise<void> {
  for (const [name, path] of Object.entries(programs) as [string, string][]) {
    await symlink(path, join(folder, name));
  }
}

async function startDatabases(
  folder: string,
  cleanups: (() => Promise<unknown>)[],
  say: (line: string) => void,
): Promise<{ readonly port: number; readonly pid: number }> {
  const port = await freePort();
  const postgres = await startPostgres({
    dataDir: folder,
    port,
    logFile: join(folder, 'postgres.log'),
    say,
    settings: POSTGRES_SETTINGS,
  });
  cleanups.push(postgres.stop);
  cleanups.push(() => {
    say('stopping Postgres …');
    return Promise.resolve();
  });
  const env = {
    PATH: process.env['PATH'],
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGPASSWORD: new URL(postgres.url('postgres')).password,
    ...Object.fromEntries(
      OWNERS.map((name) => [`${name.toUpperCase()}_DB_PASSWORD`, passwordOf(name)]),
    ),
  };
  say('making databases and their owners, and again …');
  await runStep('deploy/postgres/create-databases.sh', { env });
  await runStep('deploy/postgres/create-databases.sh', { env });
  return { port, pid: postgres.child.pid };
}

/** `server.env` as compose reads it, and over it what must differ where nothing is in a container. */
async function serverEnvironment(
  folder: string,
  postgresPort: number,
): Promise<Record<string, string>> {
  const settings = parseEnv(await readFile(join(ROOT, 'deploy/temporal/server.env'), 'utf8'));
  const ports: Record<string, string> = {};
  for (const service of PORTS) {
    ports[`${service}_GRPC_PORT`] = String(await freeLowPort());
    ports[`${service}_MEMBERSHIP_PORT`] = String(await freeLowPort());
  }
  return {
    ...(settings as Record<string, string>),
    ...ports,
    PATH: [folder, process.env['PATH']].join(delimiter),
    HOME: folder,
    FRONTEND_HTTP_PORT: String(await freePort()),
    POSTGRES_SEEDS: '127.0.0.1',
    DB_PORT: String(postgresPort),
    POSTGRES_PWD: passwordOf('temporal'),
    BIND_ON_IP: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: join(ROOT, 'deploy/temporal/dynamic-config.yaml'),
  };
}

async function startTemporalServer(
  folder: string,
  env: Record<string, string>,
  cleanups: (() => Promise<unknown>)[],
  say: (line: string) => void,
): Promise<number> {
  const program = join(folder, 'temporal-server');
  const dynamicConfig = env['DYNAMIC_CONFIG_FILE_PATH'] ?? '';
  const report = await runStep(program, { args: ['validate-dynamic-config', dynamicConfig], env });
  // A key that the server does not know is a warning to it.
  if (/error:|warning:/.test(report)) throw new Error(`dynamic-config.yaml:\n${report}`);
  const logFile = join(folder, 'temporal.log');
  const child = await startChild({ command: program, args: ['start'], env, logFile });
  cleanups.push(async () => {
    say('stopping the Temporal server …');
    await child.stop('SIGTERM', STOP_GRACE_MS);
  });
  say('starting the Temporal server …');
  while (!(await accepts(Number(env['FRONTEND_GRPC_PORT'])))) {
    if (!child.running()) {
      throw new Error(`The Temporal server ended:\n${await child.output()}`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
  return child.pid;
}

const passwordOf = (owner: (typeof OWNERS)[number]): string => `${owner}-local-only`;
