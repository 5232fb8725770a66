import type { Clients } from './clients.js';
import { ask, send } from './http.js';
import type { InventoryLine, OrderDocument, PaymentLine, Recorder, Stock } from './journal.js';
import { SKUS, TENANTS } from './plan.js';
import type { Product } from './product.js';
import { until } from './until.js';

/** As many as a ledger gives at once; of a longer one only the newest. */
const LEDGER_PAGE = 10_000;

/** 8 at once: as fast as two cores go. */
const IN_FLIGHT = 8;

/** 20 s: everything is healed when it is read. */
const PATIENCE_MS = 20_000;

export interface Collector {
  /** Reads what is new in both ledgers; to be called before a page has gone by. */
  readonly sweep: () => Promise<void>;
  /** Reads every order, both ledgers and the stock, and puts them on record. */
  readonly collect: () => Promise<void>;
}

/** Gathers what the checker judges: order documents, ledgers and stock, all over HTTP. */
export function createCollector(product: Product, clients: Clients, recorder: Recorder): Collector {
  const payment = createLedger<PaymentLine>(product.payment);
  const inventory = createLedger<InventoryLine>(product.inventory);

  async function readOrderForAll(orderId: string, tenant: string): Promise<void> {
    const read = async (reader: string): Promise<{ status: number; body: string }> => {
      const url = `${product.apis[0]}/orders/${orderId}`;
      const authorization = `Bearer ${product.tokenOf(reader as 'north')}`;
      let answer = { status: 0, body: '' };
      await until(
        async () => {
          const sent = await send(url, { headers: { authorization } });
          if (sent.kind === 'ok') answer = sent.wire;
          return answer.status === 200 || answer.status === 404;
        },
        PATIENCE_MS,
        `${orderId} is read`,
      );
      return answer;
    };
    const { status, body } = await read(tenant);
    const others = TENANTS.filter((other) => other !== tenant);
    const statuses = await Promise.all(others.map(async (other) => (await read(other)).status));
    recorder.record({
      type: 'order',
      orderId,
      tenant,
      status,
      statusForOthers: Math.min(...statuses),
      document: status === 200 ? (JSON.parse(body) as OrderDocument) : undefined,
    });
  }

  return {
    sweep: async () => {
      await Promise.all([payment.sweep(), inventory.sweep()]);
    },
    collect: async () => {
      const owned = clients.orders.flatMap(({ orderIds, planned }) =>
        [...orderIds].map((orderId) => ({ orderId, tenant: planned.tenant })),
      );
      const ids = owned.map(({ orderId }) => orderId);
      await inParallel(owned, ({ orderId, tenant }) => readOrderForAll(orderId, tenant));
      recorder.record({ type: 'payment-ledger', lines: await payment.complete(ids) });
      recorder.record({ type: 'inventory-ledger', lines: await inventory.complete(ids) });
      const stock = await Promise.all(
        Object.values(SKUS).map((sku) => ask<Stock>(`${product.inventory}/stock/${sku}`)),
      );
      recorder.record({ type: 'stock', stock: stock.filter((one) => one !== undefined) });
    },
  };
}

/** One ledger: swept again and again for lines of orders that nobody asks for, and read order by order at the end. */
function createLedger<Line extends { kind: string; key: string; orderId: string }>(url: string) {
  const lines = new Map<string, Line>();
  const add = (more: readonly Line[]): void => {
    // A line has no id of its own; twice the same kind, key and order would be two lines in one answer.
    const counts = new Map<string, number>();
    for (const line of more) {
      const name = `${line.kind} ${line.key} ${line.orderId}`;
      const nth = (counts.get(name) ?? 0) + 1;
      counts.set(name, nth);
      lines.set(`${name} ${nth}`, line);
    }
  };
  const read = async (query: string): Promise<readonly Line[]> => {
    let answer: readonly Line[] | undefined;
    await until(
      async () => (answer = await ask<Line[]>(`${url}/ledger${query}`)) !== undefined,
      PATIENCE_MS,
      `${url}/ledger${query} is read`,
    );
    return answer ?? [];
  };
  return {
    sweep: async (): Promise<void> => add((await ask<Line[]>(`${url}/ledger`)) ?? []),
    complete: async (orderIds: readonly string[]): Promise<readonly Line[]> => {
      const newest = await read('');
      add(newest);
      if (newest.length >= LEDGER_PAGE) {
        await inParallel(orderIds, async (orderId) => add(await read(`?orderId=${orderId}`)));
      }
      return [...lines.values()];
    },
  };
}

export async function inParallel<T>(
  items: readonly T[],
  act: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
    }),
  );
}
