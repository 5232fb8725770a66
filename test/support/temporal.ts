import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { cacheFolder, findTemporalCli } from '../../src/embedded/temporal-cli.js';
import type { TemporalCli } from '../../src/embedded/temporal-cli.js';
import { startTemporal } from '../../src/embedded/temporal.js';
import type { TemporalServer } from '../../src/embedded/temporal.js';
import { freePort } from './free-port.js';

/** Makes the dev server skip time, for the workflows that are started with it: see `time-skipping.ts`. */
const TIME_SKIPPING = [
  'frontend.WorkflowTimeSkippingEnabled=true',
  // At its default of a second, every skip costs a second.
  'history.timerProcessorMaxTimeShift="1ms"',
];

// The worker's own lines would bury the report of the tests.
Runtime.install({ logger: new DefaultLogger('ERROR') });

let cli: Promise<TemporalCli> | undefined;
let starting: Promise<TemporalServer> | undefined;
let folder: string | undefined;

/** The CLI that all Temporal servers of this test run are started from. */
export function temporalCli(): Promise<TemporalCli> {
  cli ??= cacheFolder(process.env['XDG_CACHE_HOME'], '.cache').then((cacheDir) =>
    findTemporalCli({
      cliPath: process.env['TEMPORAL_CLI_PATH'],
      env: process.env,
      cacheDir,
      say: (line) => process.stderr.write(`${line}\n`),
    }),
  );
  return cli;
}

/**
 * The one Temporal dev server of this test run, in memory, started at the first call. It is real: search
 * attributes, updates and schedules work, and time runs, except in workflows started through `timeSkippingConnection`.
 */
export async function sharedTemporal(): Promise<{ readonly address: string }> {
  starting ??= start();
  return { address: (await starting).address };
}

export async function stopTemporal(): Promise<void> {
  await (await starting?.catch(() => undefined))?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

async function start(): Promise<TemporalServer> {
  folder = await mkdtemp(join(tmpdir(), 'order-saga-temporal-'));
  const { path } = await temporalCli();
  return startTemporal({
    cliPath: path,
    port: await freePort(),
    namespace: 'default',
    logFile: join(folder, 'temporal.log'),
    dynamicConfig: TIME_SKIPPING,
    env: { HOME: folder },
  });
}
