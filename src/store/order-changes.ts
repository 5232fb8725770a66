import type pg from 'pg';
import { ORDER_COLUMNS, toOrderRow } from './order-rows.js';
import type { OrderRow, Row } from './order-rows.js';

export type OrderChanges = ReturnType<typeof createOrderChanges>;

/** Tells what has become of many rows in one statement. */
export function createOrderChanges(pool: pg.Pool) {
  return {
    /**
     * The rows that are other than they were when they were read.
     *
     * @returns by order id; null for a row that is gone.
     */
    async since(seen: readonly OrderRow[]): Promise<ReadonlyMap<string, OrderRow | null>> {
      const { rows } = await pool.query<ChangedRow>(CHANGED, [
        seen.map(({ order }) => order.tenant),
        seen.map(({ order }) => order.orderId),
        seen.map(({ updatedAt }) => updatedAt.toISOString()),
      ]);
      return new Map(rows.map((row) => [row.seen_id, isGone(row) ? null : toOrderRow(row)]));
    },
  };
}

/** Of a row that is gone all but the id it was seen under is null. */
type ChangedRow = { readonly seen_id: string } & (Row | { readonly order_id: null });

const isGone = (row: ChangedRow): row is ChangedRow & { readonly order_id: null } =>
  row.order_id === null;

/** A `Date` has whole milliseconds, and `pg` cuts off the rest as date_trunc does. */
const CHANGED = `
  select seen.order_id as seen_id, ${ORDER_COLUMNS}
  from unnest($1::text[], $2::text[], $3::timestamptz[]) as seen (tenant, order_id, updated_at)
  left join orders o on o.tenant = seen.tenant and o.order_id = seen.order_id
  where o.order_id is null or date_trunc('milliseconds', o.updated_at) <> seen.updated_at`;
