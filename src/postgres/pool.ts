import pg from 'pg';

/** Three seconds to get a connection: a client behind an idle pool must hear "503, try again", not hang. */
const CONNECT_TIMEOUT_MS = 3_000;

/** Ten seconds a statement: all of ours touch a handful of rows; longer means a lock or a sick disk. */
const STATEMENT_TIMEOUT_MS = 10_000;

export interface PoolOptions {
  readonly connectionString: string;
  /** Connections at most. */
  readonly max: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Told of the error of an idle connection, which `pg` throws nowhere else. */
  readonly onIdleError: (error: Error) => void;
}

/** Opens a pool whose waits all end: on a connection, on a statement, on a dead peer. */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
    keepAlive: true,
  });
  // Without a listener an idle connection that the server closes ends the process.
  pool.on('error', options.onIdleError);
  // Nor is a connection that is lost in use the end: its query is rejected, and the pool drops it. The
  // listener is there from the start, as a connection may be lost before whoever asked for it runs again.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Socket errors by which Node says that a server is not to be reached.
 */
const UNREACHABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT', // a Unix socket that is gone
]);

/**
 * SQLSTATE classes under which the statement may go through later: connection exception (08),
 * transaction rollback (40), insufficient resources such as a full disk (53), operator intervention
 * such as a shutdown or a statement timeout (57), system error (58). And 25006, a read-only standby.
 * Source: PostgreSQL 18, Appendix A.
 */
const PASSING_SQLSTATE = /^(08|40|53|57|58|25006)/;

/** Texts that `pg` 8 throws without a code when a connection is lost, refused or not to be had in time. */
const LOST_CONNECTION =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error/;

/** Tells whether Postgres is away or busy, so that the same call may succeed later; else it is our bug. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    UNREACHABLE_CODES.has(code) ||
    PASSING_SQLSTATE.test(code) ||
    LOST_CONNECTION.test(error.message)
  );
}

/** Tells whether a table is not there: the database is not migrated, or not as far as this release needs. */
export const isUndefinedTable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '42P01';
