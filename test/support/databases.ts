import pg from 'pg';
import { stackOf } from './launched-stack.js';
import type { RunningStack } from './stack.js';

export const DATABASES = {
  orders: 'DATABASE_URL',
  payment: 'PAYMENT_DATABASE_URL',
  inventory: 'INVENTORY_DATABASE_URL',
} as const;

/** Asks one of the stack's three databases, past every service. */
export async function query<Row extends pg.QueryResultRow>(
  stack: RunningStack,
  database: keyof typeof DATABASES,
  statement: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const { env } = await stackOf(stack.env['DATA_DIR'] ?? '');
  const client = new pg.Client({ connectionString: env[DATABASES[database]] ?? '' });
  await client.connect();
  try {
    return (await client.query<Row>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}
