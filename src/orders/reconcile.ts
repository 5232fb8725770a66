import { heartbeat, log } from '@temporalio/activity';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { lookUp } from '../api/idempotency/start-once.js';
import { PLACE_ORDER } from '../domain/place-order.js';
import type { PlaceOrderInput } from '../domain/place-order.js';
import { healedOrders } from '../metrics/orders.js';
import type { OpenOrder, OpenOrderStore } from '../store/open-orders.js';
import type { Healer } from './heal-order.js';
import { claimOf } from './order-start.js';

/** 500 orders a round: some seconds of work, so that a round ends before the next is due. */
const MAX_ORDERS = 500;

/** 20 at once: a look is one call to Temporal, and a backlog must not crowd out new orders. */
const IN_FLIGHT = 20;

/**
 * 10 minutes: how far back from the newest a round compares Temporal's orders with the rows. Where it finds
 * one that Postgres has lost it goes on, back to the first page that lacks none; so a restored backup heals whole.
 */
const LOOK_BACK_MS = 600_000;

/** 500 workflows a page of that comparison, one statement each. */
const PAGE_SIZE = 500;

/** 1,000 claims a statement: short enough not to hold up the entry, which writes the same table. */
const PURGE_BATCH = 1_000;

export interface ReconcilerDependencies {
  readonly client: Client;
  readonly openOrders: OpenOrderStore;
  readonly healer: Healer;
  /** Orders touched later than this are left to those who touched them. */
  readonly intervalSeconds: number;
}

/** What the Schedules run: the round over orders that may be stuck, and the purge. */
export function createMaintenance(dependencies: ReconcilerDependencies) {
  const { client, openOrders, healer, intervalSeconds } = dependencies;
  return { reconcile, purge };

  async function reconcile(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    const count = (what: string): void => {
      counts[what] = (counts[what] ?? 0) + 1;
      if (what !== 'running' && what !== 'ended') healedOrders.inc({ what });
    };
    const untouched = await openOrders.takeUntouched(intervalSeconds, MAX_ORDERS);
    await inParallel(untouched, async (order) => count(await healOne(order)));
    await restoreLostRows(count);
    return counts;
  }

  /** One order that can't be healed now does not keep the others from it. */
  async function healOne(order: OpenOrder): Promise<string> {
    heartbeat();
    const { orderId } = order.order;
    try {
      const healed = await healer.heal(order);
      if (healed === 'orphaned') {
        log.error('an open order has neither a claim nor a workflow: look at its ledgers', {
          orderId,
        });
      } else if (healed !== 'running' && healed !== 'ended') {
        log.warn('drove an order on', { orderId, healed });
      }
      return healed;
    } catch (error) {
      log.warn('could not drive an order on; the next round tries again', { orderId, error });
      return 'failed';
    }
  }

  /** Postgres behind Temporal: rows that a restored backup does not have are written from the workflows. */
  async function restoreLostRows(count: (what: string) => void): Promise<void> {
    // Apart, as Temporal lists open ones first: thousands that wait for a person must not hide what has closed.
    for (const status of ["= 'Running'", "!= 'Running'"]) {
      await restoreFrom(`WorkflowType = '${PLACE_ORDER}' and ExecutionStatus ${status}`, count);
    }
  }

  /** Reads a list, newest first, page by page. */
  async function restoreFrom(query: string, count: (what: string) => void): Promise<void> {
    // From the newest order, not from now: the clock of Temporal need not agree with ours.
    let newestMs = 0;
    let page: WorkflowExecutionInfo[] = [];
    for await (const workflow of client.workflow.list({ query, pageSize: PAGE_SIZE })) {
      page.push(workflow);
      const { startTime, closeTime = startTime } = workflow;
      newestMs = Math.max(newestMs, closeTime.getTime());
      if (page.length < PAGE_SIZE) continue;
      const lost = await restorePage(page, count);
      if (lost === 0 && closeTime.getTime() < newestMs - LOOK_BACK_MS) return;
      page = [];
    }
    await restorePage(page, count);
  }

  async function restorePage(
    page: readonly WorkflowExecutionInfo[],
    count: (what: string) => void,
  ): Promise<number> {
    heartbeat();
    const seen = page.flatMap(({ workflowId, memo }) => {
      const { tenant, resourceId: orderId } = memo ?? {};
      return typeof tenant === 'string' && typeof orderId === 'string'
        ? [{ workflowId, tenant, orderId }]
        : [];
    });
    const missing = await openOrders.missing(seen);
    const lost = seen.filter(({ orderId }) => missing.has(orderId));
    await inParallel(lost, async ({ workflowId, orderId }) => {
      await restoreOne(workflowId);
      log.warn('wrote the lost rows of an order', { orderId });
      count('restored');
    });
    return lost.length;
  }

  async function restoreOne(workflowId: string): Promise<void> {
    const found = await lookUp(client, workflowId);
    if (found.kind === 'unknown') return;
    const { order } = await inputOf(client, workflowId);
    if (found.kind === 'completed') {
      await healer.saveOutcome({ order, workflowId }, found);
      return;
    }
    // A closed one is repaired by a later round, which finds its row.
    await openOrders.restore(order, workflowId, claimOf(found.memo));
  }

  async function purge(): Promise<number> {
    let purged = 0;
    for (;;) {
      const batch = await openOrders.purgeClaims(PURGE_BATCH);
      purged += batch;
      heartbeat();
      if (batch < PURGE_BATCH) return purged;
    }
  }
}

async function inParallel<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
    }),
  );
}

/** The input of a workflow, from the first event of its history. */
async function inputOf(client: Client, workflowId: string): Promise<PlaceOrderInput> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId },
    maximumPageSize: 1,
  });
  const payload =
    history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  if (payload === undefined) throw new Error(`The history of ${workflowId} has no input.`);
  return defaultPayloadConverter.fromPayload<PlaceOrderInput>(payload);
}
