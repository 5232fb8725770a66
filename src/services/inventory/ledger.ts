import type pg from 'pg';
import { Problem } from '../../http/problem.js';
import { CLAIM_KEY, claimKey, demandSameRequest } from '../key-claims.js';
import { SERVICE_PROBLEMS } from '../problems.js';
import { inTransaction } from '../transaction.js';
import { INVENTORY_PROBLEMS } from './problems.js';
import { returnStock, takeStock } from './stock.js';
import type { Item } from './stock.js';

/** 10,000 lines: enough to look at a whole test run, and an answer of some 3 MB. */
const MAX_LINES = 10_000;

export interface ReservationRequest {
  readonly orderId: string;
  /** Distinct SKUs. */
  readonly items: readonly Item[];
}

export interface ReleaseRequest {
  readonly orderId: string;
  readonly reservationKey: string;
}

export interface Reservation {
  readonly reservationKey: string;
  readonly orderId: string;
  readonly items: readonly Item[];
  readonly createdAt: Date;
}

/** What became of a forward key. `out-of-stock` has moved nothing, `voided` never will. */
export type ReservationState = 'reserved' | 'released' | 'out-of-stock' | 'voided';

export interface LedgerLine {
  readonly kind: 'reserve' | 'release' | 'void';
  readonly key: string;
  readonly orderId: string;
  readonly items: readonly Item[];
  readonly createdAt: Date;
}

export type InventoryLedger = ReturnType<typeof createInventoryLedger>;

/** The books. Any number of calls may race: one primary key a forward key decides, never a read before. */
export function createInventoryLedger(pool: pg.Pool) {
  return {
    /**
     * Reserves all items once under a key, or remembers the refusal.
     *
     * @returns `first` for the call that reserved; a repeat gets the same reservation.
     * @throws Problem `out-of-stock`, `reservation-voided`, `idempotency-key-reused`.
     */
    async reserve(
      key: string,
      request: ReservationRequest,
    ): Promise<{ readonly reservation: Reservation; readonly first: boolean }> {
      // Thrown outside of the transaction: a refusal must be committed to be remembered.
      const { row, first } = await inTransaction(pool, (client) =>
        reserveOrRefuse(client, key, request),
      );
      const state = stateOf(row);
      if (state === 'out-of-stock') throw new Problem(INVENTORY_PROBLEMS['out-of-stock']);
      if (state !== 'reserved') throw new Problem(INVENTORY_PROBLEMS['reservation-voided']);
      return { reservation: toReservation(row), first };
    },

    /**
     * Undoes a forward key, whether its reservation came, was refused, or is still to come.
     *
     * The void goes first: where it gets in, no reservation ever will; where it does not, the row that was
     * there before tells what to do.
     *
     * @returns what this call found; `effect` where it wrote a line.
     * @throws Problem `order-mismatch`, `idempotency-key-reused`; both leave nothing behind.
     */
    release(key: string, { orderId, reservationKey }: ReleaseRequest) {
      return inTransaction(pool, async (client) => {
        await claimKey(client, key, { operation: 'release', orderId, reservationKey });
        const voided = await client.query(VOID, [reservationKey, orderId]);
        if (voided.rowCount === 1) return { outcome: 'voided', effect: true } as const;
        const row = await readRow(client, reservationKey);
        if (row?.order_id !== orderId) throw new Problem(SERVICE_PROBLEMS['order-mismatch']);
        // A refusal moved nothing and bars its key for ever: it is as good as a void.
        if (row.kind !== 'reservation') return { outcome: 'voided', effect: false } as const;
        const release = await client.query(RELEASE, [reservationKey, key]);
        if (release.rowCount !== 1) return { outcome: 'already-released', effect: false } as const;
        await returnStock(client, row.items);
        return { outcome: 'released', effect: true } as const;
      });
    },

    async read(
      key: string,
    ): Promise<(Reservation & { readonly state: ReservationState }) | undefined> {
      const row = await readRow(pool, key);
      return row === undefined ? undefined : { ...toReservation(row), state: stateOf(row) };
    },

    /** @returns the newest lines of one order or, undefined, of all; the oldest of them first. */
    async lines(orderId: string | undefined): Promise<readonly LedgerLine[]> {
      const { rows } = await pool.query<LedgerLine>(LINES, [orderId ?? null, MAX_LINES]);
      return rows.reverse();
    },
  };
}

async function reserveOrRefuse(
  client: pg.PoolClient,
  key: string,
  { orderId, items }: ReservationRequest,
): Promise<{ readonly row: ReservationRow; readonly first: boolean }> {
  const keyed = { operation: 'reserve', orderId, items };
  const { rows } = await client.query<ReservationRow>(RESERVE, [
    key,
    JSON.stringify(keyed),
    orderId,
    JSON.stringify(items),
  ]);
  const [row] = rows;
  if (row !== undefined) {
    if (await takeStock(client, items)) return { row, first: true };
    await client.query(TURN_TO_REFUSAL, [key]);
    return { row: { ...row, kind: 'refusal' }, first: true };
  }
  await demandSameRequest(client, key, keyed);
  const winner = await readRow(client, key);
  if (winner === undefined) throw new Error('A key that is taken must have a row.');
  return { row: winner, first: false };
}

interface ReservationRow {
  readonly reservation_key: string;
  readonly kind: 'reservation' | 'refusal' | 'void';
  readonly order_id: string;
  readonly items: readonly Item[];
  readonly created_at: Date;
  readonly released: boolean;
}

async function readRow(
  db: pg.Pool | pg.PoolClient,
  key: string,
): Promise<ReservationRow | undefined> {
  const { rows } = await db.query<ReservationRow>(READ, [key]);
  return rows[0];
}

function stateOf({ kind, released }: ReservationRow): ReservationState {
  if (kind === 'refusal') return 'out-of-stock';
  if (kind === 'void') return 'voided';
  return released ? 'released' : 'reserved';
}

const toReservation = (row: ReservationRow): Reservation => ({
  reservationKey: row.reservation_key,
  orderId: row.order_id,
  items: row.items,
  createdAt: row.created_at,
});

/** No row comes back where the key is taken already, nor where a void was there first. */
const RESERVE = `
  with claimed as (${CLAIM_KEY})
  insert into reservations (reservation_key, kind, order_id, items)
  select key, 'reservation', $3, $4::jsonb from claimed
  on conflict do nothing
  returning reservation_key, kind, order_id, items, created_at, false as released`;

const TURN_TO_REFUSAL = `update reservations set kind = 'refusal' where reservation_key = $1`;

const VOID = `
  insert into reservations (reservation_key, kind, order_id, items) values ($1, 'void', $2, '[]')
  on conflict do nothing`;

const RELEASE = `
  insert into releases (reservation_key, release_key, order_id, items)
  select reservation_key, $2, order_id, items from reservations where reservation_key = $1
  on conflict do nothing`;

const READ = `
  select f.reservation_key, f.kind, f.order_id, f.items, f.created_at,
    r.reservation_key is not null as released
  from reservations f left join releases r using (reservation_key)
  where reservation_key = $1`;

const LINES = `
  select kind, key, order_id as "orderId", items, created_at as "createdAt"
  from (
    select case kind when 'void' then 'void' else 'reserve' end as kind, reservation_key as key,
      order_id, items, created_at, 1 as side
    from reservations where kind <> 'refusal'
    union all
    select 'release', release_key, order_id, items, created_at, 2 from releases
  ) as line
  where $1::text is null or order_id = $1
  order by created_at desc, side desc limit $2`;
