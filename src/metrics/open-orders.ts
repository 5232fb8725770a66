import { Gauge, Registry } from 'prom-client';
import type { OpenOrderCount, OpenOrderStore } from '../store/open-orders.js';

/** 5 s: scrapers come each 15 s or so; however many come, Postgres is asked once in this time. */
const MAX_AGE_MS = 5_000;

const OPEN_STATUSES = ['processing', 'compensating', 'needs_attention'];

/**
 * Makes what tells of the open orders at a scrape: how many, since when, and how much money waits for a person. Read
 * from the rows, so that it is right after a restart, and the same from whichever process it is asked.
 *
 * @returns the metrics as text. @throws what Postgres threw.
 */
export function createOpenOrderMetrics({
  countByStatus,
}: Pick<OpenOrderStore, 'countByStatus'>): () => Promise<string> {
  const registers = [new Registry()];
  const open = new Gauge({
    name: 'order_saga_open_orders',
    help: 'Orders that have not ended, by status; the same from each API process, so take the maximum.',
    labelNames: ['status'],
    registers,
  });
  const oldest = new Gauge({
    name: 'order_saga_oldest_open_order_seconds',
    help: 'Age of the oldest order that has not ended, by status; 0 where there is none.',
    labelNames: ['status'],
    registers,
  });
  const amount = new Gauge({
    name: 'order_saga_attention_amount_minor_units',
    help: 'Money of the orders that need a person, in minor units of its currency.',
    labelNames: ['currency'],
    registers,
  });
  let last: { readonly at: number; readonly text: Promise<string> } | undefined;

  async function read(): Promise<string> {
    const rows: readonly OpenOrderCount[] = await countByStatus();
    for (const status of OPEN_STATUSES) {
      const ofStatus = rows.filter((row) => row.status === status);
      open.set(
        { status },
        ofStatus.reduce((sum, { orders }) => sum + orders, 0),
      );
      oldest.set({ status }, Math.max(0, ...ofStatus.map(({ oldestSeconds }) => oldestSeconds)));
    }
    amount.reset();
    for (const { status, currency, amountMinor } of rows) {
      if (status === 'needs_attention') amount.set({ currency }, amountMinor);
    }
    return registers[0]?.metrics() ?? '';
  }

  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at > MAX_AGE_MS) {
      const reading = { at: now, text: read() };
      last = reading;
      // What failed is asked for again, not remembered.
      reading.text.catch(() => {
        if (last === reading) last = undefined;
      });
    }
    return last.text;
  };
}
