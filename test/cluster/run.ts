/**
 * `npm run test:cluster`: the deployment's own steps, its Temporal server on Postgres, and the promises of the README
 * held against it. Needs Go and psql; builds the server once, which takes minutes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { runStep } from './deploy-step.js';
import { goProgram } from './go-program.js';
import { createNamespace } from './namespace.js';
import { startServers } from './servers.js';
import type { Servers } from './servers.js';

/** The loader that `docker compose config` is made of. */
const COMPOSE_LOADER = {
  package: 'github.com/compose-spec/compose-go/v2/cmd',
  version: 'v2.16.2',
} as const;

/** All that the README promises: whatever holds on one machine's dev server must hold on a cluster. */
const TESTS = ['test/cluster/**/*.test.ts', 'test/promises/**/*.test.ts'];

const started = Date.now();
const say = (line: string): void => {
  const seconds = ((Date.now() - started) / 1_000).toFixed(0);
  process.stdout.write(`[${seconds} s] ${line}\n`);
};
// A signal ends the step or the tests under way, and then everything is stopped as at any failure.
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => stopping.abort(new Error(`Stopped by ${signal}.`)));
}

let servers: Servers | undefined;
try {
  await checkCompose();
  say('building the roles …');
  await runStep('npm', { args: ['run', '--silent', 'build'], env: process.env });
  servers = await startServers(say);
  stopping.signal.throwIfAborted();
  await migrate(servers);
  say('waiting for the Temporal server …');
  // The first one waits until it serves; each stack of the tests makes its own.
  await createNamespace(servers.temporalAddress);
  stopping.signal.throwIfAborted();
  process.exitCode = await mocha(servers);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await servers?.stop();
  say(process.exitCode === 0 ? 'done' : 'failed');
}

/** Loads docker-compose.yml as compose does: schema, interpolation, dependencies. */
async function checkCompose(): Promise<void> {
  const loader = await goProgram(COMPOSE_LOADER, say);
  const env = { PATH: process.env['PATH'] };
  const text = await runStep(loader, { args: ['-format', 'json', 'docker-compose.yml'], env });
  const { services } = JSON.parse(text) as {
    services: Record<string, { image: string; ports?: { host_ip?: string }[] }>;
  };
  for (const [name, { image, ports = [] }] of Object.entries(services)) {
    if (!/:[\w.-]*\d+\.\d+/.test(image)) throw new Error(`${name}: ${image} is not pinned.`);
    if (ports.some(({ host_ip: ip }) => ip !== '127.0.0.1')) {
      throw new Error(`${name} listens to more than this machine.`);
    }
  }
  say(`docker-compose.yml is sound: ${Object.keys(services).join(', ')}`);
}

/** Each database by its own owner, as the service "migrate" does. */
async function migrate({ databaseUrl }: Servers): Promise<void> {
  say('migrating each database as its owner, and again …');
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: databaseUrl('orders'),
    PAYMENT_DATABASE_URL: databaseUrl('payment'),
    INVENTORY_DATABASE_URL: databaseUrl('inventory'),
  };
  const args = ['dist/postgres/run-migrations.js'];
  await runStep(process.execPath, { args, env });
  const again = await runStep(process.execPath, { args, env });
  if (again.match(/up to date/g)?.length !== 3) throw new Error(`Migrated twice:\n${again}`);
}

async function mocha({ temporalAddress, temporalPid }: Servers): Promise<number> {
  const child = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...TESTS], {
    env: {
      ...process.env,
      CLUSTER_TEMPORAL_ADDRESS: temporalAddress,
      CLUSTER_TEMPORAL_PID: String(temporalPid),
    },
    stdio: 'inherit',
  });
  stopping.signal.addEventListener('abort', () => child.kill('SIGINT'));
  const [code] = (await once(child, 'exit')) as [number | null];
  stopping.signal.throwIfAborted();
  return code ?? 1;
}
