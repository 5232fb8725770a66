import type pg from 'pg';
import { ORDER_COLUMNS, toOrderRow } from './order-rows.js';
import type { OrderRow, Row } from './order-rows.js';

/** A claim as its row has it, for people who ask what became of a key. */
export interface ClaimEvidence {
  readonly tenant: string;
  readonly scope: string;
  readonly keyDigest: string;
  readonly requestHash: string;
  readonly orderId: string;
  readonly workflowId: string;
  readonly status: 'processing' | 'completed';
  /** Null while the claim is unfinished, as are the last two. */
  readonly answerStatus: number | null;
  readonly answerBody: string | null;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
  readonly expiresAt: Date | null;
  /** By the clock of the database. */
  readonly isExpired: boolean;
}

export type OrderEvidence = ReturnType<typeof createOrderEvidence>;

/** Reads what the database has to say about one order or one key. Every method is one statement; none writes. */
export function createOrderEvidence(pool: pg.Pool) {
  return {
    /** The claims that name an order: one, or none once it is purged. More would be a contradiction. */
    async claimsOf(tenant: string, orderId: string): Promise<readonly ClaimEvidence[]> {
      const { rows } = await pool.query<ClaimEvidence>(CLAIMS_OF_ORDER, [tenant, orderId]);
      return rows;
    },

    /** The orders that one key was used for, newest first: more than one where it was used again after its life. */
    async ordersOf(tenant: string, workflowId: string): Promise<readonly OrderRow[]> {
      const { rows } = await pool.query<Row>(ORDERS_OF_KEY, [tenant, workflowId]);
      return rows.map(toOrderRow);
    },
  };
}

const CLAIMS_OF_ORDER = `
  select tenant, scope, key_digest as "keyDigest", request_hash as "requestHash",
    resource_id as "orderId", workflow_id as "workflowId", status, answer_status as "answerStatus",
    answer_body as "answerBody", created_at as "createdAt", completed_at as "completedAt",
    expires_at as "expiresAt", coalesce(expires_at <= now(), false) as "isExpired"
  from claims where tenant = $1 and resource_id = $2`;

/** By the index on tenant and time; a tenant with millions of orders waits some seconds for this answer. */
const ORDERS_OF_KEY = `
  select ${ORDER_COLUMNS} from orders o where o.tenant = $1 and o.workflow_id = $2
  order by o.created_at desc`;
