import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { OrderItem } from '../../domain/order.js';
import type { ClaimEvidence } from '../../store/order-evidence.js';
import type { OrderRow } from '../../store/order-rows.js';
import { withinTimeLimit } from '../../temporal/time-limit.js';

/** What Temporal knows of a workflow. */
export interface WorkflowEvidence {
  readonly workflowId: string;
  readonly type: string;
  /** As in the Web UI: RUNNING, COMPLETED, TERMINATED, … */
  readonly status: string;
  /** More than one where it was reset. */
  readonly runs: number;
  readonly events: number;
  readonly startedAt: Date;
  readonly closedAt: Date | null;
  /** What it was started for; outranks the claim's row. */
  readonly memo: Readonly<Record<string, unknown>>;
  /** Its outcome, where it completed. */
  readonly result: unknown;
}

export interface LedgerLine {
  readonly kind: 'charge' | 'refund' | 'reserve' | 'release' | 'void';
  readonly key: string;
  readonly orderId: string;
  /** Of the payment service, in minor units. */
  readonly amount?: number;
  readonly currency?: string | null;
  /** Of the inventory service. */
  readonly items?: readonly OrderItem[];
  readonly createdAt: string;
}

export interface SeenCall {
  readonly operation: 'charge' | 'refund' | 'reserve' | 'release';
  readonly key: string;
  readonly effect: boolean;
  readonly status: number | null;
  readonly at: string;
}

/** What a downstream service has on record for an order. */
export interface ServiceEvidence {
  readonly ledger: readonly LedgerLine[];
  /** Since it was started; undefined where it keeps no such list. */
  readonly calls: readonly SeenCall[] | undefined;
}

/** All that is on record about one order. */
export interface Evidence {
  readonly order: OrderRow;
  /** Other orders of the same key, newest first. */
  readonly others: readonly OrderRow[];
  readonly claims: readonly ClaimEvidence[];
  /** Undefined where Temporal knows none: not yet, or no longer. */
  readonly workflow: WorkflowEvidence | undefined;
  readonly repair: WorkflowEvidence | undefined;
  readonly payment: ServiceEvidence;
  readonly inventory: ServiceEvidence;
}

/** 5 s a call: it is a person who waits. */
const CALL_TIMEOUT_MS = 5_000;

/** Asks without a run ID, so that the run of a reset is seen. */
export async function readWorkflow(
  client: Client,
  workflowId: string,
): Promise<WorkflowEvidence | undefined> {
  return withinTimeLimit(client.connection, CALL_TIMEOUT_MS, async () => {
    try {
      const handle = client.workflow.getHandle(workflowId);
      const described = await handle.describe();
      const { count } = await client.workflow.count(`WorkflowId = '${workflowId}'`);
      const hasResult = described.status.name === 'COMPLETED';
      const result: unknown = hasResult
        ? await client.workflow.result(workflowId, described.runId)
        : null;
      return {
        workflowId,
        type: described.type,
        status: described.status.name,
        // Lists lag behind: the run that was described is there in any case.
        runs: Math.max(1, count),
        events: described.historyLength,
        startedAt: described.startTime,
        closedAt: described.closeTime ?? null,
        memo: described.memo ?? {},
        result,
      };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  });
}

/** Where a service is, and what it demands. */
export interface Service {
  readonly baseUrl: string;
  readonly token: string | undefined;
}

/** @throws Error where the service does not show its ledger. */
export async function readService(service: Service, orderId: string): Promise<ServiceEvidence> {
  const query = `?orderId=${encodeURIComponent(orderId)}`;
  const [ledger, calls] = await Promise.all([
    read(service, `/ledger${query}`),
    read(service, `/calls${query}`),
  ]);
  if (ledger === undefined) throw new Error(`${service.baseUrl} shows no ledger.`);
  return {
    ledger: ledger as readonly LedgerLine[],
    calls: calls as readonly SeenCall[] | undefined,
  };
}

/** @returns undefined where the service has no such address. */
async function read({ baseUrl, token }: Service, path: string): Promise<unknown> {
  const url = `${baseUrl.replace(/\/+$/, '')}${path}`;
  const response = await fetch(url, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  });
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${url} answered ${response.status}.`);
  return response.json();
}
