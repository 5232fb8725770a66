import { useEffect, useState } from 'preact/hooks';
import type { Tokens } from './access.js';
import { need, wordsOf } from '../api-client/http.js';
import { money, STATUS_WORDS, timeOf } from '../api-client/order.js';
import type { OrderDocument } from '../api-client/order.js';

/** 3 s between looks at the list: one statement each. The order that is shown comes by itself. */
const REFRESH_MS = 3_000;

export type View = 'mine' | 'attention';

interface Page {
  readonly orders: readonly OrderDocument[];
  readonly nextCursor: string | null;
}

interface OrderListProps {
  readonly tokens: Tokens;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly selected: string | undefined;
  readonly onSelect: (orderId: string) => void;
  /** Another number asks for a fresh list. */
  readonly version: number;
}

export function OrderList(props: OrderListProps) {
  const { tokens, view, onView, selected, onSelect, version } = props;
  const [status, setStatus] = useState('');
  const [userId, setUserId] = useState('');
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [page, setPage] = useState<Page>({ orders: [], nextCursor: null });
  const [failure, setFailure] = useState('');
  const cursor = cursors.at(-1);
  const query = listQuery(view === 'attention' ? 'needs_attention' : status, userId, cursor);
  const token = view === 'attention' ? tokens.operator : tokens.tenant;

  useEffect(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    const look = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        setPage(await need<Page>(`/orders?${query}`, { token, signal }));
        setFailure('');
      } catch (error) {
        if (!signal.aborted) setFailure(wordsOf(error));
      }
    };
    void look();
    const timer = setInterval(() => void look(), REFRESH_MS);
    return () => {
      stopping.abort();
      clearInterval(timer);
    };
  }, [query, token, version]);

  const filter = (change: () => void): void => {
    setCursors([]);
    change();
  };
  return (
    <section class="panel" aria-labelledby="list-title" id="orders">
      <h2 id="list-title">Orders</h2>
      <div class="fields">
        <label>
          Whose orders
          <select
            value={view}
            onChange={(event) => filter(() => onView(event.currentTarget.value as View))}
          >
            <option value="mine">the client’s</option>
            <option value="attention">who need a person</option>
          </select>
        </label>
        {view === 'mine' && (
          <label>
            Status
            <select
              value={status}
              onChange={(event) => filter(() => setStatus(event.currentTarget.value))}
            >
              <option value="">any</option>
              {Object.entries(STATUS_WORDS).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          User
          <input
            value={userId}
            maxLength={64}
            onChange={(event) => filter(() => setUserId(event.currentTarget.value.trim()))}
          />
        </label>
      </div>
      <p class="failure" role="alert">
        {failure}
      </p>
      {page.orders.length === 0 ? (
        <p class="quiet">{view === 'attention' ? 'No order needs a person.' : 'No orders here.'}</p>
      ) : (
        <ul class="orders">
          {page.orders.map((order) => (
            <li key={order.orderId}>
              <button
                type="button"
                class="order-row"
                aria-current={order.orderId === selected ? 'true' : undefined}
                onClick={() => onSelect(order.orderId)}
              >
                <span class={`status ${order.status}`}>{STATUS_WORDS[order.status]}</span>
                <span class="grow">
                  <code>…{order.orderId.slice(-8)}</code> {order.userId ?? 'user not known'}
                  {order.reason !== null && <span class="quiet"> {order.reason}</span>}
                </span>
                <span>{money(order.amount, order.currency)}</span>
                <time class="quiet">{timeOf(order.createdAt)}</time>
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="buttons">
        <button type="button" disabled={cursors.length === 0} onClick={() => setCursors([])}>
          Newest
        </button>
        <button
          type="button"
          disabled={page.nextCursor === null}
          onClick={() => setCursors([...cursors, page.nextCursor ?? ''])}
        >
          Older
        </button>
      </div>
    </section>
  );
}

function listQuery(status: string, userId: string, cursor: string | undefined): string {
  const query = new URLSearchParams();
  if (status !== '') query.set('status', status);
  if (userId !== '') query.set('userId', userId);
  if (cursor !== undefined) query.set('cursor', cursor);
  return query.toString();
}
