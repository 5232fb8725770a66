import type pg from 'pg';
import type { OrderStatus } from '../domain/order.js';
import { ORDER_COLUMNS, toOrderRow } from './order-rows.js';
import type { OrderRow, Row } from './order-rows.js';

/** A place in a list of orders, between two of them. It stays there, whatever is added to the list. */
export interface ListPosition {
  /** Microseconds since 1970, as Postgres has them: a `Date` would round, and orders would be missed. */
  readonly createdAtUs: bigint;
  readonly orderId: string;
}

export interface ListFilter {
  /** Undefined for the orders of all tenants. */
  readonly tenant: string | undefined;
  readonly status: OrderStatus | undefined;
  readonly userId: string | undefined;
}

export interface OrderPage {
  readonly orders: readonly OrderRow[];
  /** Where the next page begins; undefined on the last one. */
  readonly next: ListPosition | undefined;
}

export type OrderLists = ReturnType<typeof createOrderLists>;

/** Reads lists of orders, newest first. */
export function createOrderLists(pool: pg.Pool) {
  return {
    /** @param after where the page before ended; undefined for the first. */
    async page(
      { tenant, status, userId }: ListFilter,
      after: ListPosition | undefined,
      limit: number,
    ): Promise<OrderPage> {
      const { rows } = await pool.query<ListRow>(PAGE, [
        tenant,
        status,
        userId,
        after?.createdAtUs,
        after?.orderId,
        // One more than is asked for tells whether there is a next page.
        limit + 1,
      ]);
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      return {
        orders: shown.map(toOrderRow),
        next: last && { createdAtUs: BigInt(last.created_at_us), orderId: last.order_id },
      };
    },
  };
}

interface ListRow extends Row {
  readonly created_at_us: string;
}

/** Planned anew with each call's values, so that what is null is no condition, and an index fits the rest. */
const PAGE = `
  select ${ORDER_COLUMNS}, (extract(epoch from o.created_at) * 1000000)::bigint as created_at_us
  from orders o
  where ($1::text is null or o.tenant = $1)
    and ($2::text is null or o.status = $2)
    and ($3::text is null or o.user_id = $3)
    and ($4::bigint is null
      or (o.created_at, o.order_id) < (timestamptz 'epoch' + $4 * interval '1 microsecond', $5))
  order by o.created_at desc, o.order_id desc
  limit $6`;
