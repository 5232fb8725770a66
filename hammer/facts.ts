import type {
  Answered,
  InventoryLine,
  Invoke,
  Journal,
  OrderDocument,
  PaymentLine,
  Stock,
} from './journal.js';

export interface Request extends Invoke {
  readonly answer: Answered | undefined;
}

/** One (tenant, key): everything that was sent under it. */
export interface KeyFacts {
  readonly name: string;
  readonly requests: readonly Request[];
  /** Those that got an answer which says that the key is theirs: 2xx, or the end of a saga. */
  readonly accepted: readonly Request[];
  readonly orderIds: ReadonlySet<string>;
}

export interface OrderFacts {
  readonly orderId: string;
  readonly tenant: string;
  readonly status: number;
  readonly statusForOthers: number;
  readonly document: OrderDocument | undefined;
  readonly charges: readonly PaymentLine[];
  readonly refunds: readonly PaymentLine[];
  readonly reserves: readonly InventoryLine[];
  readonly releases: readonly InventoryLine[];
  /** What it holds of money, in minor units. */
  readonly net: number;
  /** What its client asked for; undefined where no answer told. */
  readonly amount: number | undefined;
}

export interface Facts {
  readonly requests: readonly Request[];
  readonly keys: readonly KeyFacts[];
  readonly orders: ReadonlyMap<string, OrderFacts>;
  readonly payment: readonly PaymentLine[];
  readonly inventory: readonly InventoryLine[];
  readonly stock: readonly Stock[];
  readonly unfinished: readonly { readonly orderId: string; readonly status: string }[];
  readonly attentionAfterMs: number;
  /** Undos that a person had a hand in, as `orderId step`. */
  readonly helped: ReadonlySet<string>;
  readonly byHandKeys: ReadonlySet<string>;
}

export function factsOf(journal: Journal): Facts {
  const answers = new Map<number, Answered>();
  for (const entry of journal) if (entry.type === 'ok') answers.set(entry.id, entry);
  const requests = journal.flatMap((entry) =>
    entry.type === 'invoke' ? [{ ...entry, answer: answers.get(entry.id) }] : [],
  );
  const payment = journal.flatMap((entry) => (entry.type === 'payment-ledger' ? entry.lines : []));
  const inventory = journal.flatMap((entry) =>
    entry.type === 'inventory-ledger' ? entry.lines : [],
  );
  const keys = keyFacts(requests);
  const amounts = new Map(
    keys.flatMap(({ accepted, orderIds }) =>
      [...orderIds].map((orderId) => [orderId, accepted[0]?.amount] as const),
    ),
  );
  const byHand = requests.filter(({ request }) => request === 'by-hand');
  const helpers = requests.filter(({ request }) =>
    /^(retry-undo|resolve-undo|by-hand)$/.test(request),
  );
  const plan = journal.find((entry) => entry.type === 'plan');
  return {
    requests,
    keys,
    payment,
    inventory,
    orders: orderFacts(journal, payment, inventory, amounts),
    stock: journal.flatMap((entry) => (entry.type === 'stock' ? entry.stock : [])),
    unfinished: journal.flatMap((entry) => (entry.type === 'unfinished' ? [entry] : [])),
    attentionAfterMs: plan?.attentionAfterMs ?? 0,
    helped: new Set(helpers.map(({ orderId = '', step = '' }) => `${orderId} ${step}`)),
    byHandKeys: new Set(byHand.flatMap(({ downstreamKey }) => downstreamKey ?? [])),
  };
}

function keyFacts(requests: readonly Request[]): readonly KeyFacts[] {
  const places = requests.filter(({ request, key }) => request === 'place' && key !== undefined);
  const byKey = groupBy(places, ({ tenant, key }) => `${tenant} ${key ?? ''}`);
  return [...byKey].map(([name, all]) => ({
    name,
    requests: all,
    accepted: all.filter(
      ({ answer }) => answer !== undefined && (answer.status < 300 || endOf(answer) !== undefined),
    ),
    orderIds: new Set(all.flatMap(({ answer }) => (answer && orderIdOf(answer)) ?? [])),
  }));
}

function orderFacts(
  journal: Journal,
  payment: readonly PaymentLine[],
  inventory: readonly InventoryLine[],
  amounts: ReadonlyMap<string, number | undefined>,
): ReadonlyMap<string, OrderFacts> {
  const money = groupBy(payment, ({ orderId }) => orderId);
  const goods = groupBy(inventory, ({ orderId }) => orderId);
  const documents = journal.flatMap((entry) => (entry.type === 'order' ? [entry] : []));
  return new Map(
    documents.map(({ orderId, tenant, status, statusForOthers, document }) => {
      const lines = money.get(orderId) ?? [];
      const charges = lines.filter(({ kind }) => kind === 'charge');
      const refunds = lines.filter(({ kind }) => kind === 'refund');
      const of = (kind: InventoryLine['kind']): InventoryLine[] =>
        (goods.get(orderId) ?? []).filter((line) => line.kind === kind);
      const net =
        sum(charges.map(({ amount }) => amount)) - sum(refunds.map(({ amount }) => amount));
      return [
        orderId,
        {
          orderId,
          tenant,
          status,
          statusForOthers,
          document,
          charges,
          refunds,
          reserves: of('reserve'),
          releases: of('release'),
          net,
          amount: amounts.get(orderId),
        },
      ];
    }),
  );
}

/** How an answer says that the order ended; undefined where it does not. */
export function endOf({ status, body }: Answered): string | undefined {
  if (status === 201) return 'confirmed';
  const type = /"\/problems\/([a-z-]+)"/.exec(body)?.[1];
  return ENDS.has(type ?? '') ? type : undefined;
}

const ENDS = new Set([
  'payment-declined',
  'out-of-stock',
  'order-cancelled',
  'payment-unavailable',
  'inventory-unavailable',
]);

/** The body that the key belongs to, by the answers: the others are refused for ever. */
export function ownerOf(requests: readonly Request[]): string | undefined {
  const owner = requests.find(
    ({ answer }) => answer !== undefined && (answer.status < 300 || endOf(answer) !== undefined),
  );
  return owner?.intent ?? requests[0]?.intent;
}

export function bytesOf({ status, headers, body }: Answered): string {
  return [status, headers['content-type'], headers['location'], body].join(' | ');
}

export function orderIdOf({ headers, body }: Answered): string | undefined {
  return /ORD-[0-9a-f]{32}/.exec(headers['location'] ?? body)?.[0];
}

export function parsed(answer: Answered | undefined): { orderId?: string; sagaId?: string } {
  try {
    return JSON.parse(answer?.body ?? '{}') as { orderId?: string; sagaId?: string };
  } catch {
    return {};
  }
}

export function groupBy<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(nameOf(item));
    if (group === undefined) groups.set(nameOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Gathers values by name; what gives undefined is left out. */
export function collect<T>(
  items: Iterable<T>,
  pairOf: (item: T) => readonly [string, string] | undefined,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const item of items) {
    const pair = pairOf(item);
    if (pair === undefined) continue;
    found.set(pair[0], (found.get(pair[0]) ?? new Set()).add(pair[1]));
  }
  return found;
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
