import { join } from 'node:path';
import pg from 'pg';
import { createDatabases, startPostgres } from '../src/embedded/postgres.js';
import { freePort } from '../test/support/free-port.js';
import { anOrder, drive, percentile } from './load.js';
import type { Limit } from './results.js';
import { plainEnvironment, startProcess, TOKEN, withSystem } from './systems/system.js';
import type { Ground } from './systems/system.js';

const IN_FLIGHT = [1, 50];
const SECONDS = 3;
/** Of the table that is read from. */
const ROWS = 100_000;

interface LimitOptions {
  readonly round: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** What no replay can be faster than on this machine: one empty HTTP request, and one read of a row by its key. */
export async function measureLimits({
  round,
  say,
  signal,
}: LimitOptions): Promise<readonly Limit[]> {
  const limits: Limit[] = [];
  const add = (limit: Omit<Limit, 'round'>): void => {
    limits.push({ round, ...limit });
    say(
      `  limit: ${limit.limit} × ${limit.inFlight}: p50 ${limit.p50Ms.toFixed(2)} ms, ` +
        `${limit.perSecond.toFixed(0)}/s`,
    );
  };
  await withSystem(
    async (ground) => ({
      route: { url: await startBareRoute(ground), token: TOKEN },
      databaseUrl: await startBareTable(ground),
    }),
    { say, signal },
    async ({ route, databaseUrl }) => {
      for (const inFlight of IN_FLIGHT) {
        const { milliseconds, seconds } = await drive(route, {
          inFlight,
          seconds: SECONDS,
          next: anOrder,
          signal,
        });
        add({ limit: 'fastify-route', inFlight, ...summaryOf(milliseconds, seconds) });
      }
      for (const inFlight of IN_FLIGHT) {
        add({ limit: 'postgres-read', inFlight, ...(await driveReads(databaseUrl, inFlight)) });
      }
    },
  );
  return limits;
}

async function startBareRoute(ground: Ground): Promise<string> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await startProcess(ground, {
    name: 'bare',
    args: ['bench/peers/bare.js', JSON.stringify({ port })],
    env: plainEnvironment(ground.folder),
    readyUrl: `${url}/readyz`,
  });
  return url;
}

async function startBareTable({ folder, say, onStop }: Ground): Promise<string> {
  const postgres = await startPostgres({
    dataDir: folder,
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    say,
  });
  onStop(postgres.stop);
  await createDatabases(postgres, ['bare']);
  const client = new pg.Client({ connectionString: postgres.url('bare') });
  await client.connect();
  try {
    await client.query(
      `create table claims as select n as key, repeat('x', 200) as body from generate_series(1, ${ROWS}) n`,
    );
    await client.query('alter table claims add primary key (key)');
    await client.query('analyze claims');
  } finally {
    await client.end();
  }
  return postgres.url('bare');
}

/** What `pgbench -S` does, which the embedded Postgres comes without: a row by its key, prepared, over and over. */
async function driveReads(connectionString: string, inFlight: number) {
  const milliseconds: number[] = [];
  const pool = new pg.Pool({ connectionString, max: inFlight });
  // Those that are still closing when the server stops.
  pool.on('error', () => undefined);
  try {
    const begun = performance.now();
    const until = begun + SECONDS * 1_000;
    const reader = async (): Promise<void> => {
      while (performance.now() < until) {
        const sentAt = performance.now();
        const key = 1 + Math.floor(Math.random() * ROWS);
        await pool.query({
          name: 'read',
          text: 'select body from claims where key = $1',
          values: [key],
        });
        milliseconds.push(performance.now() - sentAt);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, reader));
    return summaryOf(milliseconds, (performance.now() - begun) / 1_000);
  } finally {
    await pool.end();
  }
}

const summaryOf = (milliseconds: readonly number[], seconds: number) => ({
  p50Ms: percentile(milliseconds, 0.5),
  p99Ms: percentile(milliseconds, 0.99),
  perSecond: milliseconds.length / seconds,
});
