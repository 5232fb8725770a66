import type pg from 'pg';

/**
 * Runs `work` in one transaction: all of it is committed, or nothing when it throws.
 *
 * No network call but to this database may be made inside: a transaction that waits for somebody else's
 * answer holds its locks for as long.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let lost: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: unknown) => {
      lost = rollbackError as Error;
    });
    throw error;
  } finally {
    client.release(lost);
  }
}
