import type pg from 'pg';
import { unavailable } from '../../http/app.js';

/** A request that may be repeated, and all that tells it from others. */
export interface Intent {
  readonly tenant: string;
  readonly scope: string;
  /** The client's key. It is kept for people who ask about "their" key, and goes nowhere else. */
  readonly key: string;
  /** Hex SHA-256 of the key. */
  readonly keyDigest: string;
  /** Hex SHA-256 of the canonical request. */
  readonly requestHash: string;
  readonly workflowId: string;
}

/** An answer as the claim keeps it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Part of a statement. @param first the number of its first parameter. */
export interface Sql {
  readonly sql: (first: number) => string;
  readonly values: readonly unknown[];
}

/** The rows that are written and removed together with a claim: here the orders. */
export interface Companion {
  /** Inserts the row of a resource that `claim`, a CTE, holds; does nothing where the row exists. */
  readonly insert: (resourceId: string) => Sql;
  /** Deletes what was written for this intent and never used, but for `kept`, if `claim` holds a row. */
  readonly deleteUnused: (kept: string) => Sql;
}

export type ClaimState =
  | { readonly kind: 'new' | 'unfinished'; readonly resourceId: string }
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'other-body'; readonly finished: boolean };

/** 5 rounds: each is lost only when a purge takes the winner's row in between; twice in a row is a bug. */
const MAX_ROUNDS = 5;

export type Claims = ReturnType<typeof createClaims>;

/** The claims table: one row a key, first insert wins, and decides every race at the entry. */
export function createClaims(pool: pg.Pool) {
  return {
    /**
     * Claims a key, or tells what the claim that was first has come to.
     *
     * One statement writes the claim and its companion row; the loser of a race reads the winner's row in
     * a second one. A finished row past its expiry, by the clock of the database, is as good as gone.
     *
     * @param resourceId of what a new claim creates; not used where there is a claim already.
     */
    async take(intent: Intent, resourceId: string, companion: Companion): Promise<ClaimState> {
      for (let round = 1; round <= MAX_ROUNDS; round += 1) {
        if (await insert(intent, resourceId, companion.insert(resourceId))) {
          return { kind: 'new', resourceId };
        }
        const row = await read(intent);
        if (row !== undefined && !row.expired) return toState(row, intent);
        await pool.query(DELETE_EXPIRED, owner(intent));
      }
      throw unavailable('overloaded');
    },

    /** What a key's claim has come to, also past its expiry; undefined where there is none. */
    async find(intent: Intent): Promise<ClaimState | undefined> {
      const row = await read(intent);
      return row === undefined ? undefined : toState(row, intent);
    },

    /**
     * Turns the claim to the resource that the workflow works on, and removes what was written for another:
     * the workflow outranks the row. Writes the claim where it is lost; changes no finished claim.
     */
    async adopt(intent: Intent, resourceId: string, companion: Companion): Promise<void> {
      await runWithCompanion(ADOPT, claimValues(intent, resourceId), [
        companion.insert(resourceId),
        companion.deleteUnused(resourceId),
      ]);
    },

    /**
     * Removes an unfinished claim that turned out to have no right to its key, with its unused companion.
     *
     * @param kept the resource of the rightful owner.
     */
    async release(intent: Intent, kept: string, companion: Companion): Promise<void> {
      await runWithCompanion(
        RELEASE,
        [...owner(intent), intent.requestHash, kept],
        [companion.deleteUnused(kept)],
      );
    },
  };

  async function insert(intent: Intent, resourceId: string, row: Sql): Promise<boolean> {
    return (await runWithCompanion(INSERT, claimValues(intent, resourceId), [row])) === 1;
  }

  /** Runs the statement that has the CTE `claim` with those of the companion, as one. */
  async function runWithCompanion(
    claim: string,
    values: readonly unknown[],
    companions: readonly Sql[],
  ): Promise<number> {
    const all = [...values];
    let sql = `with claim as (${claim})`;
    for (const [index, companion] of companions.entries()) {
      sql += `, companion_${index} as (${companion.sql(all.length + 1)})`;
      all.push(...companion.values);
    }
    const { rowCount } = await pool.query(`${sql} select from claim`, all);
    return rowCount ?? 0;
  }

  async function read(intent: Intent): Promise<ClaimRow | undefined> {
    const { rows } = await pool.query<ClaimRow>(READ, owner(intent));
    return rows[0];
  }
}

interface ClaimRow {
  readonly request_hash: string;
  readonly resource_id: string;
  /** Null while the claim is unfinished, as are the next two. */
  readonly answer_status: number | null;
  readonly answer_headers: Readonly<Record<string, string>> | null;
  readonly answer_body: string | null;
  readonly expired: boolean;
}

function toState(row: ClaimRow, { requestHash }: Intent): ClaimState {
  const { answer_status: status, answer_headers: headers, answer_body: body } = row;
  const finished = status !== null && headers !== null && body !== null;
  if (row.request_hash !== requestHash) return { kind: 'other-body', finished };
  if (finished) return { kind: 'answered', answer: { status, headers, body } };
  return { kind: 'unfinished', resourceId: row.resource_id };
}

const owner = ({ tenant, scope, keyDigest }: Intent): unknown[] => [tenant, scope, keyDigest];

const claimValues = (intent: Intent, resourceId: string): unknown[] => [
  ...owner(intent),
  intent.key,
  intent.requestHash,
  resourceId,
  intent.workflowId,
];

const INSERT = `
  insert into claims (tenant, scope, key_digest, idempotency_key, request_hash, resource_id, workflow_id)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict do nothing
  returning resource_id`;

const READ = `
  select request_hash, resource_id, answer_status, answer_headers, answer_body,
    coalesce(expires_at <= now(), false) as expired
  from claims where tenant = $1 and scope = $2 and key_digest = $3`;

/** An unfinished claim has no expiry, hence is never deleted here. */
const DELETE_EXPIRED = `
  delete from claims where tenant = $1 and scope = $2 and key_digest = $3 and expires_at <= now()`;

const ADOPT = `
  insert into claims as c
    (tenant, scope, key_digest, idempotency_key, request_hash, resource_id, workflow_id)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (tenant, scope, key_digest) do update set
    idempotency_key = excluded.idempotency_key, request_hash = excluded.request_hash,
    resource_id = excluded.resource_id, workflow_id = excluded.workflow_id
  where c.status = 'processing'
  returning resource_id`;

const RELEASE = `
  delete from claims
  where tenant = $1 and scope = $2 and key_digest = $3 and request_hash = $4
    and resource_id <> $5 and status = 'processing'
  returning resource_id`;
