import { createHash } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import type { OrderProgress } from '../domain/place-order.js';
import { isFinal } from '../domain/order.js';
import type { OrderChanges } from '../store/order-changes.js';
import type { OrderRow } from '../store/order-rows.js';
import type { OutcomeFeed } from '../store/outcome-feed.js';
import { documentOfRow, progressOf } from './order-document.js';
import type { OrderDocuments } from './order-document.js';

/** 500 ms between two looks at all watched rows: what a person takes for "at once", for one statement. */
const ROUND_MS = 500;

/** 10 workflows asked a round, 20 a second: each is a workflow task, which the orders themselves need more. */
const MAX_ASKED_PER_ROUND = 10;

/** A tenth of the time that an order has stood still, from 500 ms to 10 s: what moves is asked more often. */
const ASK_AFTER_SHARE = 0.1;
const MAX_ASK_INTERVAL_MS = 10_000;

/** One state of an order's document, as it is sent. */
export interface OrderEvent {
  /** Names the content: the same state has the same id in each API process. */
  readonly id: string;
  readonly text: string;
  readonly isFinal: boolean;
}

export interface Viewer {
  /** A newer state; nothing follows a final one. */
  readonly show: (event: OrderEvent) => void;
  /** The order does not exist any more: its row was never used. */
  readonly end: () => void;
}

export interface OrderWatch {
  /** The state of an order now, and every later one shown to the viewer until it ends its interest. */
  readonly open: (row: OrderRow, viewer: Viewer) => Promise<Watching>;
}

export interface Watching {
  readonly event: OrderEvent;
  readonly close: () => void;
}

export interface OrderWatchDependencies {
  readonly changes: OrderChanges;
  readonly outcomes: OutcomeFeed;
  readonly documents: OrderDocuments;
  readonly logger: FastifyBaseLogger;
}

interface Watched {
  row: OrderRow;
  progress: OrderProgress | undefined;
  event: OrderEvent;
  changedAt: number;
  askAt: number;
  readonly viewers: Set<Viewer>;
  readonly forget: () => void;
}

/**
 * Watches open orders for any number of viewers: one look at a time for all of them, none while there are none.
 *
 * An order's end is heard of; what happens before it is found by looking: the rows of all watched orders in
 * one statement, and their workflows in turn, so that neither grows with the viewers.
 */
export function createOrderWatch(dependencies: OrderWatchDependencies): OrderWatch {
  const { changes, outcomes, documents, logger } = dependencies;
  const watched = new Map<string, Watched>();
  const beginning = new Map<string, Promise<Watched>>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let nextRoundInMs = ROUND_MS;

  return {
    open: async (row, viewer) => {
      // However many come at once, an order is watched once.
      const { orderId } = row.order;
      const known = watched.get(orderId);
      if (known !== undefined) return join(known, viewer);
      const begun = beginning.get(orderId) ?? begin(row).finally(() => beginning.delete(orderId));
      beginning.set(orderId, begun);
      return join(await begun, viewer);
    },
  };

  async function begin(row: OrderRow): Promise<Watched> {
    const isOpen = !isFinal(row.status);
    const progress = isOpen ? await progressOf(documents.client, row) : undefined;
    const now = Date.now();
    const order: Watched = {
      row,
      progress,
      event: eventOf(documents, row, progress),
      changedAt: now,
      askAt: now,
      viewers: new Set(),
      forget: isOpen ? outcomes.onSaved(row.workflowId, hurry) : () => undefined,
    };
    if (isOpen) watched.set(row.order.orderId, order);
    return order;
  }

  function join(order: Watched, viewer: Viewer): Watching {
    order.viewers.add(viewer);
    plan();
    return {
      event: order.event,
      close: () => {
        order.viewers.delete(viewer);
        if (order.viewers.size === 0) drop(order);
      },
    };
  }

  function drop(order: Watched): void {
    order.forget();
    const { orderId } = order.row.order;
    if (watched.get(orderId) === order) watched.delete(orderId);
    if (watched.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  }

  function hurry(): void {
    nextRoundInMs = 0;
    clearTimeout(timer);
    timer = undefined;
    plan();
  }

  /** Plans the next round, where none is planned or under way. */
  function plan(): void {
    if (isLooking || timer !== undefined || watched.size === 0) return;
    timer = setTimeout(() => void look(), nextRoundInMs);
  }

  /** One round. One that fails, as Postgres is away, is followed by the next like any other. */
  async function look(): Promise<void> {
    timer = undefined;
    isLooking = true;
    nextRoundInMs = ROUND_MS;
    try {
      await lookAtRows();
      await askWorkflows();
    } catch (err) {
      logger.warn({ err }, 'could not look at the orders that are watched');
    } finally {
      isLooking = false;
      plan();
    }
  }

  async function lookAtRows(): Promise<void> {
    const changed = await changes.since([...watched.values()].map(({ row }) => row));
    for (const [orderId, row] of changed) {
      const order = watched.get(orderId);
      if (order === undefined) continue;
      if (row === null) {
        for (const viewer of [...order.viewers]) viewer.end();
        drop(order);
        continue;
      }
      order.row = row;
      // What the row has is newer than what was asked before; its steps are known from the decision on.
      if (row.steps !== null) order.progress = undefined;
      order.askAt = 0;
      if (isFinal(row.status)) show(order);
    }
  }

  async function askWorkflows(): Promise<void> {
    const now = Date.now();
    const due = [...watched.values()]
      .filter(({ askAt }) => askAt <= now)
      .sort((one, other) => one.askAt - other.askAt)
      .slice(0, MAX_ASKED_PER_ROUND);
    await Promise.all(
      due.map(async (order) => {
        // Where nobody answers, what was known before still holds.
        order.progress = (await progressOf(documents.client, order.row)) ?? order.progress;
        show(order);
        const stoodStillMs = Date.now() - order.changedAt;
        order.askAt = Date.now() + Math.min(stoodStillMs * ASK_AFTER_SHARE, MAX_ASK_INTERVAL_MS);
      }),
    );
  }

  function show(order: Watched): void {
    const event = eventOf(documents, order.row, order.progress);
    if (event.id === order.event.id) return;
    order.event = event;
    order.changedAt = Date.now();
    if (event.isFinal) drop(order);
    for (const viewer of order.viewers) viewer.show(event);
  }
}

function eventOf(
  documents: OrderDocuments,
  row: OrderRow,
  progress: OrderProgress | undefined,
): OrderEvent {
  const document = documentOfRow(documents, row, progress);
  const json = JSON.stringify(document);
  const id = createHash('sha256').update(json).digest('base64url').slice(0, 16);
  return { id, text: `id: ${id}\ndata: ${json}\n\n`, isFinal: isFinal(document.status) };
}
