import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Access, useTokens } from './access.js';
import type { Tokens } from './access.js';
import { readFaults } from './experiments.js';
import { need } from '../api-client/http.js';
import { OrderList } from './order-list.js';
import type { View } from './order-list.js';
import type { OrderDocument } from '../api-client/order.js';
import { OrderView } from './order-view.js';
import { PlaceOrder } from './place-order.js';

/** 5 s between counts of the orders that need a person. */
const COUNT_MS = 5_000;
/** As many as a page of the list can have: more are "100 or more". */
const MAX_COUNT = 100;

function Desk() {
  const [tokens, setTokens] = useTokens();
  const [selected, select] = useSelected();
  const [view, setView] = useState<View>('mine');
  const [version, setVersion] = useState(0);
  const hasFaults = useFaults(tokens);
  const stuck = useStuckCount(tokens);

  const showStuck = (): void => {
    setView('attention');
    document.getElementById('orders')?.scrollIntoView();
  };
  return (
    <>
      <header>
        <div>
          <h1>Order desk</h1>
          <p class="quiet">
            Every order happens once, or is undone once. Try to break it.{' '}
            <a href="/docs">API reference</a>
          </p>
        </div>
        <button type="button" class={stuck === 0 ? '' : 'alarm'} onClick={showStuck}>
          Need a person: {stuck === MAX_COUNT ? `${MAX_COUNT} or more` : stuck}
        </button>
        <Access tokens={tokens} onChange={setTokens} />
      </header>
      <main>
        <PlaceOrder
          tokens={tokens}
          hasFaults={hasFaults}
          onSelect={select}
          onPlaced={() => setVersion((earlier) => earlier + 1)}
        />
        <div class="column">
          {selected === undefined ? (
            <section class="panel" aria-labelledby="order-title">
              <h2 id="order-title">Order</h2>
              <p class="quiet">Place one, or choose one from the list, to watch it.</p>
            </section>
          ) : (
            <OrderView orderId={selected} tokens={tokens} hasFaults={hasFaults} key={selected} />
          )}
          <OrderList
            tokens={tokens}
            view={view}
            onView={setView}
            selected={selected}
            onSelect={select}
            version={version}
          />
        </div>
      </main>
    </>
  );
}

/** The order that is shown stands in the address: a reload keeps it, and it can be sent to somebody. */
function useSelected(): readonly [string | undefined, (orderId: string) => void] {
  const read = (): string | undefined => /^#(ORD-[0-9a-f]{32})$/.exec(location.hash)?.[1];
  const [selected, setSelected] = useState(read);
  useEffect(() => {
    const follow = (): void => setSelected(read());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [selected, (orderId) => (location.hash = orderId)];
}

/** Whether this API lets the services be told to fail, and the token may. */
function useFaults({ operator }: Tokens): boolean {
  const [hasFaults, setHasFaults] = useState(false);
  useEffect(() => {
    readFaults(operator).then(
      () => setHasFaults(true),
      () => setHasFaults(false),
    );
  }, [operator]);
  return hasFaults;
}

function useStuckCount({ operator }: Tokens): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const look = (): void => {
      if (document.hidden) return;
      const path = `/orders?status=needs_attention&limit=${MAX_COUNT}`;
      need<{ readonly orders: readonly OrderDocument[] }>(path, { token: operator }).then(
        ({ orders }) => setCount(orders.length),
        () => undefined,
      );
    };
    look();
    const timer = setInterval(look, COUNT_MS);
    return () => clearInterval(timer);
  }, [operator]);
  return count;
}

const root = document.getElementById('desk');
if (root !== null) render(<Desk />, root);
