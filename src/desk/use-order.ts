import { useEffect, useState } from 'preact/hooks';
import type { Tokens } from './access.js';
import { need, wordsOf } from '../api-client/http.js';
import { changes } from '../api-client/order.js';
import type { OrderDocument } from '../api-client/order.js';
import { watchOrder } from '../api-client/watch-order.js';
import type { Link } from '../api-client/watch-order.js';

export interface LogLine {
  readonly at: Date;
  readonly text: string;
}

export interface LedgerLine {
  readonly kind: string;
  readonly key: string;
  readonly amount?: number;
  readonly createdAt: string;
}

export interface Ledgers {
  readonly payment: readonly LedgerLine[];
  readonly inventory: readonly LedgerLine[];
}

export interface Shown {
  readonly order: OrderDocument | undefined;
  readonly log: readonly LogLine[];
  readonly link: Link;
  readonly failure: string;
}

const NOTHING: Shown = { order: undefined, log: [], link: 'connecting', failure: '' };

/** Follows one order, with a line for each change that was seen. */
export function useOrder(orderId: string, { tenant, operator }: Tokens): Shown {
  const [shown, setShown] = useState(NOTHING);
  useEffect(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    const update = (change: (shown: Shown) => Partial<Shown>): void => {
      if (!signal.aborted) setShown((earlier) => ({ ...earlier, ...change(earlier) }));
    };
    const watcher = {
      onLink: (link: Link) => update(() => ({ link })),
      onDocument: (order: OrderDocument) =>
        update(({ order: before, log }) => {
          const at = new Date(before === undefined ? order.updatedAt : Date.now());
          const placed = { at: new Date(order.createdAt), text: `Order placed, ${order.orderId}` };
          const lines = changes(before, order).map((text) => ({ at, text }));
          return { order, log: [...(before === undefined ? [placed] : log), ...lines] };
        }),
    };
    setShown(NOTHING);
    watchOrder({ orderId, token: tenant }, watcher, signal)
      // Another tenant's, perhaps: an operator sees the orders of all.
      .catch(() => watchOrder({ orderId, token: operator }, watcher, signal))
      .catch((error: unknown) => update(() => ({ failure: wordsOf(error), link: 'ended' })));
    return () => stopping.abort();
  }, [orderId, tenant, operator]);
  return shown;
}

/** What the services have in their books for an order; undefined where they don't show it. */
export function useLedgers(
  order: OrderDocument | undefined,
  token: string,
  isShown: boolean,
): Ledgers | undefined {
  const [ledgers, setLedgers] = useState<Ledgers>();
  useEffect(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    if (!isShown || order === undefined) return;
    need<Ledgers>(`/desk/ledgers?orderId=${order.orderId}`, { token, signal }).then(
      (found) => setLedgers(found),
      () => undefined,
    );
    return () => stopping.abort();
  }, [order, token, isShown]);
  return ledgers;
}
