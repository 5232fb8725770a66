import type pg from 'pg';
import { answerOf } from '../domain/outcome.js';
import type { CancelReason, OrderOutcome } from '../domain/outcome.js';
import type { Order, OrderStatus, StepRecord } from '../domain/order.js';
import type { ClaimRef } from '../domain/place-order.js';
import { ORDER_COLUMNS, toOrderRow } from './order-rows.js';
import type { OrderRow, Row } from './order-rows.js';
import { OUTCOME_CHANNEL } from './outcome-feed.js';

/** What was decided about an order, once and for all; who comes second follows it. */
export type Decision =
  { readonly decision: 'keep' } | { readonly decision: 'undo'; readonly reason: CancelReason };

/** Where an order stands, to be written to its row. */
export interface OrderState {
  readonly order: Order;
  readonly workflowId: string;
  readonly steps: readonly StepRecord[];
}

/** Where an order stands that is being undone, and by which workflow. */
export interface UndoState extends OrderState {
  readonly undoneBy: string;
}

export interface OutcomeRecord extends OrderState {
  readonly claim: ClaimRef;
  readonly claimTtlSeconds: number;
  readonly outcome: OrderOutcome;
}

/** An order that has ended now: this very statement saved its answer. */
export interface EndedOrder extends Pick<OutcomeRecord, 'order' | 'steps' | 'outcome'> {
  /** From its claim, by the clock of the database. */
  readonly seconds: number;
}

/** Told of what happens to orders once for each time, by the process that writes it down. */
export interface OrderListener {
  readonly onEnded: (ended: EndedOrder) => void;
  /** An order came to need a person. */
  readonly onAttention: (order: Order) => void;
}

export type OrderStore = ReturnType<typeof createOrderStore>;

/** The order rows, and the end of an order in both tables. Every method is one statement. */
export function createOrderStore(pool: pg.Pool, listener?: OrderListener) {
  return {
    /** @returns undefined also for another tenant's order: it is as good as unknown. */
    async read(tenant: string, orderId: string): Promise<OrderRow | undefined> {
      const { rows } = await pool.query<Row>(READ, [tenant, orderId]);
      return rows[0] === undefined ? undefined : toOrderRow(rows[0]);
    },

    /**
     * Decides `undo` unless `keep` was decided before: a compare-and-set on one row, written before the
     * first undo. The first reason stays.
     */
    async decideToUndo(state: UndoState, reason: CancelReason): Promise<Decision> {
      const { rows } = await pool.query<DecisionRow>(DECIDE_TO_UNDO, [
        ...orderValues(state),
        reason,
        state.undoneBy,
      ]);
      return toDecision(rows[0]);
    },

    /** Says that an undo needs a person; changes nothing once the order has ended. */
    async recordAttention(state: UndoState): Promise<void> {
      const { rows } = await pool.query<{ before: OrderStatus }>(RECORD_ATTENTION, [
        state.order.tenant,
        state.order.orderId,
        JSON.stringify(state.steps),
        state.undoneBy,
      ]);
      const [row] = rows;
      if (row !== undefined && row.before !== 'needs_attention') listener?.onAttention(state.order);
    },

    /**
     * Ends an order: state, steps and saved answer, both tables at once.
     *
     * A `confirmed` outcome is what decides `keep`; where `undo` was decided before, nothing is written and
     * the caller undoes. Lost rows are written anew, and a claim that names another, unused order is turned
     * to this one: the workflow outranks the row. Repeating it changes nothing.
     */
    async saveOutcome(record: OutcomeRecord): Promise<Decision> {
      const { order, workflowId, claim, outcome } = record;
      const answer = answerOf(outcome, order.orderId, workflowId);
      const { rows } = await pool.query<EndedRow>(SAVE_OUTCOME, [
        ...orderValues(record),
        outcome.status === 'cancelled' ? outcome.reason : null,
        outcome.status,
        claim.scope,
        claim.keyDigest,
        claim.requestHash,
        answer.status,
        JSON.stringify(answer.headers),
        answer.body,
        record.claimTtlSeconds,
      ]);
      const [row] = rows;
      if (row !== undefined && row.told > 0) {
        listener?.onEnded({ order, steps: record.steps, outcome, seconds: row.seconds });
      }
      return toDecision(row);
    },
  };
}

type DecisionRow = Pick<Row, 'decision' | 'reason'>;

interface EndedRow extends DecisionRow {
  /** 1 where this statement saved the answer, 0 where it was saved before or decided otherwise. */
  readonly told: number;
  readonly seconds: number;
}

function toDecision(row: DecisionRow | undefined): Decision {
  if (row?.decision === 'keep') return { decision: 'keep' };
  if (row?.decision === 'undo' && row.reason !== null) {
    return { decision: 'undo', reason: row.reason };
  }
  throw new Error('A decision must be in the row that was just written.');
}

/** $1–$8 of the statements that write an order. */
function orderValues({ order, workflowId, steps }: OrderState): unknown[] {
  return [
    order.orderId,
    order.tenant,
    workflowId,
    order.amountMinor,
    order.currency,
    JSON.stringify(order.items),
    order.paymentMethod,
    JSON.stringify(steps),
  ];
}

const READ = `select ${ORDER_COLUMNS} from orders o where o.tenant = $1 and o.order_id = $2`;

/**
 * "on conflict do update" locks the row before it looks, so of two deciders the second sees the first. An order
 * id of another tenant, which none can have, is refused: here as below the statement returns nothing then.
 */
const DECIDE_TO_UNDO = `
  insert into orders as o (order_id, tenant, workflow_id, amount_minor, currency, items, payment_method,
    steps, status, decision, reason, undone_by)
  values ($1, $2, $3, $4, $5, $6, $7, $8, 'compensating', 'undo', $9, $10)
  on conflict (order_id) do update set
    decision = coalesce(o.decision, 'undo'),
    reason = case when o.decision is null then excluded.reason else o.reason end,
    status = case when o.decision is null then 'compensating' else o.status end,
    steps = case when o.status in ('confirmed', 'cancelled') then o.steps else excluded.steps end,
    undone_by = case when o.decision = 'keep' then o.undone_by else excluded.undone_by end,
    updated_at = now()
  where o.tenant = excluded.tenant
  returning decision, reason`;

const RECORD_ATTENTION = `
  with found as (
    select order_id, status as before from orders
    where tenant = $1 and order_id = $2 and status not in ('confirmed', 'cancelled') for update
  )
  update orders o set status = 'needs_attention', steps = $3, undone_by = $4, updated_at = now()
  from found where o.tenant = $1 and o.order_id = found.order_id
  returning found.before`;

/**
 * The order row decides; the claim is completed only where it decided for this outcome. A claim completed
 * before is left alone: an answer that was given once is never changed.
 *
 * Whoever waits for the answer is told at the commit. A final row keeps its state; one that was decided
 * otherwise keeps all. The reason may still change on the way from "undoing" to "undone": an operator may
 * have resolved the undo.
 */
const SAVE_OUTCOME = `
  with input as (
    select case $10 when 'confirmed' then 'keep' else 'undo' end as decision
  ),
  ended as (
    insert into orders as o (order_id, tenant, workflow_id, amount_minor, currency, items, payment_method,
      steps, status, decision, reason)
    select $1, $2, $3, $4::integer, $5, $6::jsonb, $7, $8::jsonb, $10, input.decision, $9 from input
    on conflict (order_id) do update set (decision, reason, status, steps, updated_at) = (
      select
        coalesce(o.decision, excluded.decision),
        case when kept then o.reason else excluded.reason end,
        case when kept then o.status else excluded.status end,
        case when kept then o.steps else excluded.steps end,
        case when kept then o.updated_at else now() end
      from (select o.status in ('confirmed', 'cancelled')
        or coalesce(o.decision <> excluded.decision, false) as kept)
    )
    where o.tenant = excluded.tenant
    returning o.decision, o.reason, o.created_at
  ),
  saved as (
    insert into claims as c (tenant, scope, key_digest, request_hash, resource_id, workflow_id, status,
      answer_status, answer_headers, answer_body, completed_at, expires_at)
    select $2, $11, $12, $13, $1, $3, 'completed', $14::integer, $15::jsonb, $16, now(),
      now() + make_interval(secs => $17::integer)
    from ended, input where ended.decision = input.decision
    on conflict (tenant, scope, key_digest) do update set
      request_hash = excluded.request_hash, resource_id = excluded.resource_id,
      workflow_id = excluded.workflow_id, status = excluded.status,
      answer_status = excluded.answer_status, answer_headers = excluded.answer_headers,
      answer_body = excluded.answer_body, completed_at = excluded.completed_at,
      expires_at = excluded.expires_at
    where c.status = 'processing'
    returning c.resource_id
  ),
  unused as (
    delete from orders where tenant = $2 and workflow_id = $3 and order_id <> $1
      and decision is null and exists (select from saved)
  ),
  told as (select pg_notify('${OUTCOME_CHANNEL}', $3) from saved)
  select decision, reason, (select count(*)::int from told) as told,
    extract(epoch from now() - created_at)::float8 as seconds from ended`;
