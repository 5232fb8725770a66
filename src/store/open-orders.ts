import type pg from 'pg';
import type { Order, OrderStatus } from '../domain/order.js';
import type { ClaimRef } from '../domain/place-order.js';
import { ORDER_COLUMNS, orderInsert, toOrderRow } from './order-rows.js';
import type { OrderRow, Row } from './order-rows.js';

/** An order that has not ended, with what it takes to drive it on. */
export interface OpenOrder extends OrderRow {
  /** Undefined where the claim's row is lost. */
  readonly claim: ClaimRef | undefined;
  /** Whether its claim holds the answer; false also where there is no claim. */
  readonly isAnswered: boolean;
}

/**
 * 60 s: an order that waits for a person mostly has a workflow that lives, and may wait for days, thousands of them
 * after an outage. Twice as long would leave one whose workflow was cut short alone for longer than a client waits.
 */
const ATTENTION_INTERVAL_SECONDS = 60;

export interface OpenOrderCount {
  readonly status: OrderStatus;
  readonly currency: string;
  readonly orders: number;
  readonly amountMinor: number;
  readonly oldestSeconds: number;
}

export type OpenOrderStore = ReturnType<typeof createOpenOrderStore>;

/** The rows of orders that have not ended, for those who drive them on. Every method is one statement. */
export function createOpenOrderStore(pool: pg.Pool) {
  return {
    async read(tenant: string, orderId: string): Promise<OpenOrder | undefined> {
      const { rows } = await pool.query<OpenRow>(READ_OPEN, [tenant, orderId]);
      return rows[0] === undefined ? undefined : toOpenOrder(rows[0]);
    },

    /** For operators, who see the orders of all tenants. */
    async readOfAnyTenant(orderId: string): Promise<OrderRow | undefined> {
      const { rows } = await pool.query<Row>(READ_OF_ANY_TENANT, [orderId]);
      return rows[0] === undefined ? undefined : toOrderRow(rows[0]);
    },

    /**
     * Takes the open orders that nothing has touched for a while, those first that were looked at longest
     * ago and those last that wait for a person, and marks them as looked at: of two that take at once, each
     * gets others.
     */
    async takeUntouched(forSeconds: number, limit: number): Promise<readonly OpenOrder[]> {
      const { rows } = await pool.query<OpenRow>(TAKE_UNTOUCHED, [
        forSeconds,
        ATTENTION_INTERVAL_SECONDS,
        limit,
      ]);
      return rows.map(toOpenOrder);
    },

    /** How many orders of all tenants have not ended, and since when: sums that name nobody. */
    async countByStatus(): Promise<readonly OpenOrderCount[]> {
      const { rows } = await pool.query<OpenOrderCount>(COUNT_BY_STATUS);
      return rows;
    },

    /**
     * Writes down that a client wants its order cancelled, unless it has ended.
     *
     * @returns the status it had; undefined where the tenant has no such order.
     */
    async requestCancel(tenant: string, orderId: string): Promise<OrderStatus | undefined> {
      const { rows } = await pool.query<{ status: OrderStatus }>(REQUEST_CANCEL, [tenant, orderId]);
      return rows[0]?.status;
    },

    /** Which of these orders has no row, by pairs of tenant and order id. */
    async missing(
      orders: readonly { readonly tenant: string; readonly orderId: string }[],
    ): Promise<ReadonlySet<string>> {
      const { rows } = await pool.query<{ order_id: string }>(MISSING, [
        orders.map(({ tenant }) => tenant),
        orders.map(({ orderId }) => orderId),
      ]);
      return new Set(rows.map(({ order_id }) => order_id));
    },

    /** Writes the lost rows of an order whose workflow still runs; leaves alone what is there. */
    async restore(order: Order, workflowId: string, claim: ClaimRef): Promise<void> {
      const row = orderInsert(order, workflowId, null);
      await pool.query(
        // Two rows, each written if it is the one that is lost: so the order hangs on no claim here.
        `with restored as (${RESTORE_CLAIM}), claim as (select 1)
         ${row.sql(7)} on conflict (order_id) do nothing`,
        [
          claim.tenant,
          claim.scope,
          claim.keyDigest,
          claim.requestHash,
          order.orderId,
          workflowId,
          ...row.values,
        ],
      );
    },

    /** Removes an order row that its key's workflow does not know, hence nothing was ever done for. */
    async deleteUnused(tenant: string, orderId: string): Promise<void> {
      await pool.query(DELETE_UNUSED, [tenant, orderId]);
    },

    /** Deletes finished claims past their expiry, by the clock of the database. @returns how many. */
    async purgeClaims(limit: number): Promise<number> {
      const { rowCount } = await pool.query(PURGE_CLAIMS, [limit]);
      return rowCount ?? 0;
    },
  };
}

interface OpenRow extends Row {
  readonly scope: string | null;
  readonly key_digest: string | null;
  readonly request_hash: string | null;
  readonly claim_status: 'processing' | 'completed' | null;
}

function toOpenOrder(row: OpenRow): OpenOrder {
  const { tenant, scope, key_digest: keyDigest, request_hash: requestHash } = row;
  const hasClaim = scope !== null && keyDigest !== null && requestHash !== null;
  return {
    ...toOrderRow(row),
    claim: hasClaim ? { tenant, scope, keyDigest, requestHash } : undefined,
    isAnswered: row.claim_status === 'completed',
  };
}

const READ_OPEN = `
  select ${ORDER_COLUMNS}, c.scope, c.key_digest, c.request_hash, c.status as claim_status
  from orders o left join claims c on c.tenant = o.tenant and c.resource_id = o.order_id
  where o.tenant = $1 and o.order_id = $2`;

const READ_OF_ANY_TENANT = `select ${ORDER_COLUMNS} from orders o where o.order_id = $1`;

/** A time that is to come counts as long ago: the clock was ahead when it was written, and has been set since. */
const TAKE_UNTOUCHED = `
  with taken as (
    select tenant, order_id from orders
    where status not in ('confirmed', 'cancelled')
      and coalesce(checked_at, updated_at) not between now() - make_interval(secs => $1::integer) and now()
      and updated_at not between now() - make_interval(secs => $1::integer) and now()
      and (status <> 'needs_attention' or checked_at is null
        or checked_at not between now() - make_interval(secs => $2::integer) and now())
    order by status = 'needs_attention', coalesce(checked_at, updated_at)
    limit $3 for update skip locked
  ),
  o as (
    update orders set checked_at = now() from taken
    where orders.tenant = taken.tenant and orders.order_id = taken.order_id
    returning orders.*
  )
  select ${ORDER_COLUMNS}, c.scope, c.key_digest, c.request_hash, c.status as claim_status
  from o left join claims c on c.tenant = o.tenant and c.resource_id = o.order_id`;

const REQUEST_CANCEL = `
  update orders set cancel_requested_at = case
    when status in ('confirmed', 'cancelled') then cancel_requested_at
    else coalesce(cancel_requested_at, now()) end
  where tenant = $1 and order_id = $2
  returning status`;

const MISSING = `
  select seen.order_id
  from unnest($1::text[], $2::text[]) as seen (tenant, order_id)
  where not exists (
    select from orders o where o.tenant = seen.tenant and o.order_id = seen.order_id)`;

const RESTORE_CLAIM = `
  insert into claims (tenant, scope, key_digest, request_hash, resource_id, workflow_id)
  values ($1, $2, $3, $4, $5, $6) on conflict do nothing`;

const DELETE_UNUSED = `
  delete from orders where tenant = $1 and order_id = $2 and decision is null
    and status = 'processing'`;

const PURGE_CLAIMS = `
  delete from claims c using (
    select tenant, scope, key_digest from claims where expires_at <= now()
    order by expires_at limit $1 for update skip locked
  ) as old
  where c.tenant = old.tenant and c.scope = old.scope and c.key_digest = old.key_digest`;

/** Reads the partial index of open orders: those that have ended, which are nearly all, cost nothing. */
const COUNT_BY_STATUS = `
  select status, currency, count(*)::int as orders, sum(amount_minor)::float8 as "amountMinor",
    extract(epoch from now() - min(created_at))::float8 as "oldestSeconds"
  from orders where status not in ('confirmed', 'cancelled')
  group by status, currency`;
