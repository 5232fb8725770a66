import { join } from 'node:path';
import { readStack } from '../../src/embedded/stack-file.js';
import { freePort } from '../../test/support/free-port.js';
import { plainEnvironment, startProcess, temporalCli, TOKEN } from './system.js';
import type { Ground, System } from './system.js';

/** As `npm start` runs it. */
const LAUNCHER = ['--max-semi-space-size=2', '--optimize-for-size', 'dist/embedded/start.js'];

/** Ours as `npm start` brings it up: nothing is set but folders and ports. */
export function startOurs(ground: Ground): Promise<System> {
  return launch(ground, {}, []);
}

/** Ours on the deployment's Temporal server, whose store is Postgres, and with the same Postgres for our own tables. */
export async function startOursOnPostgres(ground: Ground): Promise<System> {
  const { startServers } = await import('../../test/cluster/servers.js');
  const { createNamespace } = await import('../../test/cluster/namespace.js');
  const servers = await startServers(ground.say);
  ground.onStop(servers.stop);
  const env = {
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TEMPORAL_NAMESPACE: await createNamespace(servers.temporalAddress),
    DATABASE_URL: servers.databaseUrl('orders'),
    PAYMENT_DATABASE_URL: servers.databaseUrl('payment'),
    INVENTORY_DATABASE_URL: servers.databaseUrl('inventory'),
  };
  return launch(ground, env, [servers.temporalPid, servers.postgresPid]);
}

async function launch(
  ground: Ground,
  settings: Readonly<Record<string, string>>,
  servers: readonly number[],
): Promise<System> {
  const ports: Record<string, string> = {};
  const names = ['PORT', 'PAYMENT_PORT', 'INVENTORY_PORT'];
  names.push('TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'POSTGRES_PORT');
  for (const name of names) ports[name] = String(await freePort());
  const dataDir = join(ground.folder, 'data');
  const url = (port: string): string => `http://127.0.0.1:${ports[port] ?? ''}`;
  const launcher = await startProcess(ground, {
    name: 'launcher',
    args: LAUNCHER,
    env: {
      ...plainEnvironment(ground.folder),
      TEMPORAL_CLI_PATH: (await temporalCli(ground.say)).path,
      ...ports,
      DATA_DIR: dataDir,
      ...settings,
    },
    readyUrl: `${url('PORT')}/readyz`,
  });
  const stack = await readStack(dataDir);
  if (stack === undefined) throw new Error(`There is no stack in ${dataDir}.`);
  return {
    url: url('PORT'),
    token: TOKEN,
    pids: [launcher.pid, ...Object.values(stack.roles).map(({ pid }) => pid), ...servers],
    paymentUrl: stack.env['PAYMENT_DATABASE_URL'] ?? '',
    inventoryUrl: stack.env['INVENTORY_DATABASE_URL'] ?? '',
  };
}
