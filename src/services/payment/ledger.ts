import type pg from 'pg';
import { Problem } from '../../http/problem.js';
import { CLAIM_KEY, claimKey, demandSameRequest } from '../key-claims.js';
import { SERVICE_PROBLEMS } from '../problems.js';
import { inTransaction } from '../transaction.js';
import { PAYMENT_PROBLEMS } from './problems.js';

/** 10,000 lines: enough to look at a whole test run, and an answer of some 2 MB. */
const MAX_LINES = 10_000;

export interface ChargeRequest {
  readonly orderId: string;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly paymentMethod: string;
}

export interface RefundRequest {
  readonly orderId: string;
  readonly chargeKey: string;
}

export interface Charge {
  readonly chargeKey: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string | null;
  readonly createdAt: Date;
}

/** What became of a forward key. `declined` has moved nothing, `voided` never will. */
export type ChargeState = 'charged' | 'refunded' | 'declined' | 'voided';

export interface LedgerLine {
  readonly kind: 'charge' | 'refund' | 'void';
  readonly key: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string | null;
  readonly createdAt: Date;
}

export type PaymentLedger = ReturnType<typeof createPaymentLedger>;

/** The books. Any number of calls may race: one primary key a forward key decides, never a read before. */
export function createPaymentLedger(pool: pg.Pool) {
  return {
    /**
     * Charges once under a key, or remembers the refusal.
     *
     * @returns `first` for the call that charged; a repeat gets the same charge.
     * @throws Problem `payment-declined`, `charge-voided`, `idempotency-key-reused`.
     */
    async charge(
      key: string,
      request: ChargeRequest,
      isDeclined: boolean,
    ): Promise<{ readonly charge: Charge; readonly first: boolean }> {
      const { orderId, amount, currency } = request;
      const keyed = { operation: 'charge', ...request };
      const kind = isDeclined ? 'refusal' : 'charge';
      const { rows } = await pool.query<ChargeRow>(CHARGE, [
        key,
        JSON.stringify(keyed),
        kind,
        orderId,
        amount,
        currency,
      ]);
      const first = rows[0] !== undefined;
      if (!first) await demandSameRequest(pool, key, keyed);
      const row = rows[0] ?? (await readRow(pool, key));
      const state = row === undefined ? 'voided' : stateOf(row);
      if (state === 'declined') throw new Problem(PAYMENT_PROBLEMS['payment-declined']);
      if (row === undefined || state !== 'charged') {
        throw new Problem(PAYMENT_PROBLEMS['charge-voided']);
      }
      return { charge: toCharge(row), first };
    },

    /**
     * Undoes a forward key, whether its charge came, was declined, or is still to come.
     *
     * The void goes first: where it gets in, no charge ever will; where it does not, the row that was there
     * before tells what to do.
     *
     * @returns what this call found; `effect` where it wrote a line.
     * @throws Problem `order-mismatch`, `idempotency-key-reused`; both leave nothing behind.
     */
    refund(key: string, { orderId, chargeKey }: RefundRequest) {
      return inTransaction(pool, async (client) => {
        await claimKey(client, key, { operation: 'refund', orderId, chargeKey });
        const voided = await client.query(VOID, [chargeKey, orderId]);
        if (voided.rowCount === 1) return { outcome: 'voided', effect: true } as const;
        const row = await readRow(client, chargeKey);
        if (row?.order_id !== orderId) throw new Problem(SERVICE_PROBLEMS['order-mismatch']);
        // A refusal moved nothing and bars its key for ever: it is as good as a void.
        if (row.kind !== 'charge') return { outcome: 'voided', effect: false } as const;
        const refund = await client.query(REFUND, [chargeKey, key]);
        return refund.rowCount === 1
          ? ({ outcome: 'refunded', effect: true } as const)
          : ({ outcome: 'already-refunded', effect: false } as const);
      });
    },

    async read(key: string): Promise<(Charge & { readonly state: ChargeState }) | undefined> {
      const row = await readRow(pool, key);
      return row === undefined ? undefined : { ...toCharge(row), state: stateOf(row) };
    },

    /** @returns the newest lines of one order or, undefined, of all; the oldest of them first. */
    async lines(orderId: string | undefined): Promise<readonly LedgerLine[]> {
      const { rows } = await pool.query<LedgerLine>(LINES, [orderId ?? null, MAX_LINES]);
      return rows.reverse();
    },
  };
}

interface ChargeRow {
  readonly charge_key: string;
  readonly kind: 'charge' | 'refusal' | 'void';
  readonly order_id: string;
  readonly amount_minor: number;
  readonly currency: string | null;
  readonly created_at: Date;
  readonly refunded: boolean;
}

async function readRow(db: pg.Pool | pg.PoolClient, key: string): Promise<ChargeRow | undefined> {
  const { rows } = await db.query<ChargeRow>(READ, [key]);
  return rows[0];
}

function stateOf({ kind, refunded }: ChargeRow): ChargeState {
  if (kind === 'refusal') return 'declined';
  if (kind === 'void') return 'voided';
  return refunded ? 'refunded' : 'charged';
}

const toCharge = (row: ChargeRow): Charge => ({
  chargeKey: row.charge_key,
  orderId: row.order_id,
  amount: row.amount_minor,
  currency: row.currency,
  createdAt: row.created_at,
});

/** No row comes back where the key is taken already, nor where a void was there first. */
const CHARGE = `
  with claimed as (${CLAIM_KEY})
  insert into charges (charge_key, kind, order_id, amount_minor, currency)
  select key, $3, $4, $5::integer, $6 from claimed
  on conflict do nothing
  returning charge_key, kind, order_id, amount_minor, currency, created_at, false as refunded`;

const VOID = `
  insert into charges (charge_key, kind, order_id, amount_minor) values ($1, 'void', $2, 0)
  on conflict do nothing`;

const REFUND = `
  insert into refunds (charge_key, refund_key, order_id, amount_minor, currency)
  select charge_key, $2, order_id, amount_minor, currency from charges where charge_key = $1
  on conflict do nothing`;

const READ = `
  select c.charge_key, c.kind, c.order_id, c.amount_minor, c.currency, c.created_at,
    r.charge_key is not null as refunded
  from charges c left join refunds r using (charge_key)
  where charge_key = $1`;

const LINES = `
  select kind, key, order_id as "orderId", amount_minor as amount, currency, created_at as "createdAt"
  from (
    select kind, charge_key as key, order_id, amount_minor, currency, created_at, 1 as side
    from charges where kind <> 'refusal'
    union all
    select 'refund', refund_key, order_id, amount_minor, currency, created_at, 2 from refunds
  ) as line
  where $1::text is null or order_id = $1
  order by created_at desc, side desc limit $2`;
