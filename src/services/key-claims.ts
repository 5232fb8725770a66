import type pg from 'pg';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';

/** What a key stands for. Two requests are the same when these are equal as JSON values. */
export type KeyedRequest = Readonly<Record<string, unknown>> & { readonly operation: string };

/** Takes a key, $1, for a request, $2. Returns a row to the first only; a rival waits for its commit. */
export const CLAIM_KEY = `
  insert into idempotency_keys (key, request) values ($1, $2::jsonb)
  on conflict do nothing returning key`;

/**
 * Takes a key for a request; repeating it with the same request changes nothing.
 *
 * @throws Problem `idempotency-key-reused`.
 */
export async function claimKey(
  client: pg.PoolClient,
  key: string,
  request: KeyedRequest,
): Promise<void> {
  const { rowCount } = await client.query(CLAIM_KEY, [key, JSON.stringify(request)]);
  if (rowCount === 0) await demandSameRequest(client, key, request);
}

/**
 * For who lost the insert: the key must have been taken for the same request.
 *
 * @throws Problem `idempotency-key-reused`.
 */
export async function demandSameRequest(
  db: pg.Pool | pg.PoolClient,
  key: string,
  request: KeyedRequest,
): Promise<void> {
  const { rows } = await db.query<{ same: boolean }>(
    'select request = $2::jsonb as same from idempotency_keys where key = $1',
    [key, JSON.stringify(request)],
  );
  if (rows[0]?.same !== true) throw new Problem(PROTOCOL_PROBLEMS['idempotency-key-reused']);
}
