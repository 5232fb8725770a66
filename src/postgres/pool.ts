import pg from 'pg';
import { Overloaded } from '../overload.js';

/** Three seconds to get a connection: a client behind an idle pool must hear "503, try again", not hang. */
const CONNECT_TIMEOUT_MS = 3_000;

/** Ten seconds a statement: all of ours touch a handful of rows; longer means a lock or a sick disk. */
const STATEMENT_TIMEOUT_MS = 10_000;

/** 5,000 waiting for a connection, some 10 MB: more would run into the three seconds in any case. */
const MAX_WAITING = 5_000;

export interface PoolOptions {
  readonly connectionString: string;
  /** Connections at most. */
  readonly max: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Told of the error of an idle connection, which `pg` throws nowhere else. */
  readonly onIdleError: (error: Error) => void;
  /** How many may wait for a connection; the default fits every role. */
  readonly maxWaiting?: number;
}

/**
 * Opens a pool whose waits all end: on a connection, on a statement, on a dead peer.
 *
 * Who can't get a connection is told `Overloaded` where the connections are in use and come back, and else that
 * the database can't be reached.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new BoundedPool(options.maxWaiting ?? MAX_WAITING, {
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

/** What `pg` 8 throws at who waited for a connection in use. */
const WAITED_IN_VAIN = 'timeout exceeded when trying to connect';

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

const CONNECTIONS = 'connections to Postgres';

type OnConnect = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: boolean | Error) => void,
) => void;

/** `pg` bounds how long each waits for a connection, but not how many; nor does it tell busy from away. */
class BoundedPool extends pg.Pool {
  private readonly maxWaiting: number;
  private returnedAtMs = 0;
  private failedAtMs = 0;

  constructor(maxWaiting: number, config: pg.PoolConfig) {
    super(config);
    this.maxWaiting = maxWaiting;
    this.on('release', (error: unknown) => {
      // `pg` says null, undefined or false.
      if (!error) this.returnedAtMs = Date.now();
    });
  }

  /** Also the way of every `query`. */
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: OnConnect): void;
  override connect(callback?: OnConnect): Promise<pg.PoolClient> | undefined {
    if (callback === undefined) {
      return new Promise((resolve, reject) => {
        this.connect((error, client) => {
          if (client === undefined) reject(error ?? new Error(WAITED_IN_VAIN));
          else resolve(client);
        });
      });
    }
    if (this.waitingCount >= this.maxWaiting) {
      const isAway = this.failedAtMs > this.returnedAtMs;
      const error = isAway ? new Error(WAITED_IN_VAIN) : new Overloaded(CONNECTIONS);
      process.nextTick(callback, error, undefined, () => undefined);
      return undefined;
    }
    super.connect((error, client, done) => callback(error && this.told(error), client, done));
    return undefined;
  }

  /** Of a wait in vain, whether it was for a database that is there: its connections are in use, and come back. */
  private told(error: Error): Error {
    if (error.message !== WAITED_IN_VAIN) this.failedAtMs = Date.now();
    else if (Date.now() - this.returnedAtMs < CONNECT_TIMEOUT_MS)
      return new Overloaded(CONNECTIONS);
    return error;
  }
}
