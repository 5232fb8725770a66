import { setTimeout as sleep } from 'node:timers/promises';
import { ORDER_ID_ATTRIBUTE, ORDER_STATUS_ATTRIBUTE } from '../domain/place-order.js';
import { startChild } from './child.js';
import type { Child } from './child.js';
import { answers } from './ports.js';

/** Half a minute until the server answers: it takes two seconds on an idle machine, ten on a loaded CI runner. */
const START_TIMEOUT_MS = 30_000;

/** Ten seconds for a clean stop; it takes one. Killed later it loses nothing, its store being a WAL. */
const STOP_GRACE_MS = 10_000;

/** Twenty times a second: what waits is a person at `npm start`, or a test run. */
const POLL_INTERVAL_MS = 50;

/**
 * The dev server's queues poll 20 times a second by default, one shard for all, which makes it six times
 * slower than it need be. Measured: p50 of an order 250 ms with the default, 42 ms with these.
 */
const TUNING = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=2000',
  'system.enableEagerWorkflowStart=true',
];

/** Memory for speed: at Go's default of 100 the collector takes a fifth of the server's time. */
const GOGC = '400';

const SEARCH_ATTRIBUTES = [ORDER_ID_ATTRIBUTE, ORDER_STATUS_ATTRIBUTE];

export interface TemporalOptions {
  readonly cliPath: string;
  readonly port: number;
  /** No Web UI when left out. */
  readonly uiPort?: number;
  readonly namespace: string;
  /** Kept in this file; in memory when left out. */
  readonly dbFilename?: string;
  readonly logFile: string;
  readonly dynamicConfig?: readonly string[];
  /** Gives the start up: nothing is left running. */
  readonly signal?: AbortSignal;
  /** Told of the server's process before it is waited for. */
  readonly onChild?: (child: Child) => Promise<void>;
  /** Environment of the server, to which what it needs is added. */
  readonly env: Readonly<Record<string, string>>;
}

export interface TemporalServer {
  readonly address: string;
  readonly child: Child;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a Temporal dev server on 127.0.0.1, tuned, with the search attributes of orders registered, and
 * waits until it takes calls. On disk it is as durable as Postgres: nothing acknowledged is lost when killed.
 *
 * @throws Error with the server's own last words when it ends or doesn't answer.
 */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const child = await startChild({
    command: options.cliPath,
    args: serverArguments(options),
    env: { ...options.env, GOGC },
    logFile: options.logFile,
  });
  const stop = async (): Promise<void> => {
    await child.stop('SIGTERM', STOP_GRACE_MS);
  };
  try {
    await options.onChild?.(child);
    await untilServing(child, options);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `127.0.0.1:${options.port}`, child, stop };
}

/**
 * The server itself says when it serves, once its namespace and search attributes are there; that it says so is
 * proof that the port is its own, for it ends when it can't have it. The connection is for the firewall's sake.
 */
async function untilServing(child: Child, { port, signal }: TemporalOptions): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (child.running() && Date.now() < deadline) {
    signal?.throwIfAborted();
    if (/^Temporal Server:/m.test(await child.output()) && (await answers(port))) return;
    await sleep(POLL_INTERVAL_MS);
  }
  const lastWords = (await child.output()).trim().split('\n').slice(-5).join('\n');
  const what = child.running() ? `did not answer within ${START_TIMEOUT_MS / 1_000} s` : 'ended';
  throw new Error(`The Temporal server ${what}; see ${child.logFile}\n${lastWords}`);
}

function serverArguments(options: TemporalOptions): readonly string[] {
  const dynamicConfig = [...TUNING, ...(options.dynamicConfig ?? [])];
  const ui =
    options.uiPort === undefined
      ? ['--headless']
      : ['--ui-port', String(options.uiPort), '--ui-disable-news-fetch'];
  const store =
    options.dbFilename === undefined
      ? []
      : [
          ...['--db-filename', options.dbFilename],
          // As durable as the default journal, at half the cost.
          ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=FULL'],
          // 40 MB of log between checkpoints instead of 4: at each one every order stands still.
          ...['--sqlite-pragma', 'wal_autocheckpoint=10000'],
        ];
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(options.port)],
    ...ui,
    ...['--namespace', options.namespace],
    ...store,
    ...SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ...dynamicConfig.flatMap((value) => ['--dynamic-config-value', value]),
    ...['--log-level', 'warn', '--color', 'never'],
    // A profile in the home folder, or in the shell, is about some other server.
    ...['--disable-config-file', '--disable-config-env'],
  ];
}
