import type pg from 'pg';

export const CLIENT_KINDS = ['tenant', 'operator'] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** Who a token stands for. */
export interface Client {
  readonly kind: ClientKind;
  readonly name: string;
}

/** What may be told of a token. */
export interface ClientToken extends Client {
  /** The first digits of its digest, from which no token follows. */
  readonly id: string;
  readonly createdAt: Date;
  /** Null while it is good without limit. */
  readonly expiresAt: Date | null;
  readonly isGood: boolean;
}

/** 12 of 64 hex digits: no two of a million tokens share them. */
export const TOKEN_ID_DIGITS = 12;

export type ClientStore = ReturnType<typeof createClientStore>;

/** The clients that are kept in Postgres, by the digests of their tokens. Every method is one statement. */
export function createClientStore(pool: pg.Pool) {
  return {
    /** @returns undefined where no good token has this digest. */
    async find(digest: string): Promise<Client | undefined> {
      const { rows } = await pool.query<Client>(FIND, [digest]);
      return rows[0];
    },

    async hasTenants(): Promise<boolean> {
      const { rows } = await pool.query<{ found: boolean }>(HAS_TENANTS);
      return rows[0]?.found === true;
    },

    /** @returns false where the client has a good token already. */
    async add({ kind, name }: Client, digest: string): Promise<boolean> {
      const { rowCount } = await pool.query(ADD, [kind, name, digest]);
      return rowCount === 1;
    },

    /**
     * Gives a client another token; the ones it has end after the overlap.
     *
     * @returns false where there is no such client.
     */
    async rotate({ kind, name }: Client, digest: string, overlapSeconds: number): Promise<boolean> {
      const { rowCount } = await pool.query(ROTATE, [kind, name, digest, overlapSeconds]);
      return rowCount === 1;
    },

    /**
     * Ends the good tokens of a client at once.
     *
     * @param tokenId only this one; undefined for all.
     * @returns how many.
     */
    async revoke({ kind, name }: Client, tokenId: string | undefined): Promise<number> {
      const { rowCount } = await pool.query(REVOKE, [kind, name, tokenId ?? '']);
      return rowCount ?? 0;
    },

    /** All tokens there ever were, those that are no longer good included. */
    async list(): Promise<readonly ClientToken[]> {
      const { rows } = await pool.query<ClientToken>(LIST);
      return rows;
    },
  };
}

const IS_GOOD = '(expires_at is null or expires_at > now())';

const FIND = `select kind, name from client_tokens where token_digest = $1 and ${IS_GOOD}`;

const HAS_TENANTS = `
  select exists (select from client_tokens where kind = 'tenant' and ${IS_GOOD}) as found`;

const ADD = `
  insert into client_tokens (kind, name, token_digest)
  select $1, $2, $3
  where not exists (select from client_tokens where kind = $1 and name = $2 and ${IS_GOOD})`;

/** "least" takes no account of null: a token without limit gets one, one with a nearer limit keeps it. */
const ROTATE = `
  with old as (
    update client_tokens set expires_at = least(expires_at, now() + make_interval(secs => $4))
    where kind = $1 and name = $2 and ${IS_GOOD}
    returning token_digest
  )
  insert into client_tokens (kind, name, token_digest)
  select $1, $2, $3 where exists (select from old)`;

const REVOKE = `
  update client_tokens set expires_at = now()
  where kind = $1 and name = $2 and starts_with(token_digest, $3) and ${IS_GOOD}`;

const LIST = `
  select left(token_digest, ${TOKEN_ID_DIGITS}) as id, kind, name, created_at as "createdAt",
    expires_at as "expiresAt", ${IS_GOOD} as "isGood"
  from client_tokens
  order by kind desc, name, created_at`;
