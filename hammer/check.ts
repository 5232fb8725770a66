import type {
  Answered,
  InventoryLine,
  Invoke,
  Journal,
  OrderDocument,
  PaymentLine,
  Stock,
} from './journal.js';

/** The invariants, as docs/faults.md numbers them; `API` is what the contract says of answers beyond them. */
export type Invariant = `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14}` | 'API';

export interface Violation {
  readonly invariant: Invariant;
  readonly what: string;
  readonly orderIds: readonly string[];
}

/**
 * Judges a run by what clients saw and what the books say, and by nothing else. It reads no table and no history of
 * the product and shares no code with it: what the product believes of itself is no evidence.
 */
export function check(journal: Journal): readonly Violation[] {
  const facts = factsOf(journal);
  return RULES.flatMap((rule) => [...rule(facts)]);
}

interface Request extends Invoke {
  readonly answer: Answered | undefined;
}

/** One (tenant, key): everything that was sent under it. */
interface KeyFacts {
  readonly name: string;
  readonly requests: readonly Request[];
  /** Those that got an answer which says that the key is theirs: 2xx, or the end of a saga. */
  readonly accepted: readonly Request[];
  readonly orderIds: ReadonlySet<string>;
}

interface OrderFacts {
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

interface Facts {
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

type Rule = (facts: Facts) => Iterable<Violation>;

const RULES: readonly Rule[] = [
  function* oneChargeAnOrder({ orders }) {
    for (const { orderId, charges } of orders.values()) {
      if (charges.length > 1) yield broken('I1', `${charges.length} charges`, orderId);
    }
  },

  function* oneOrderAKey({ keys }) {
    for (const { name, orderIds } of keys) {
      if (orderIds.size > 1) yield broken('I1', `${name}: ${orderIds.size} orders`, ...orderIds);
    }
  },

  function* oneSagaAnOrder({ requests }) {
    const sagas = collect(requests, ({ answer }) => {
      const { orderId, sagaId } = parsed(answer);
      return orderId !== undefined && sagaId !== undefined ? [orderId, sagaId] : undefined;
    });
    for (const [orderId, ids] of sagas) {
      if (ids.size > 1) yield broken('I1', `workflows ${[...ids].join(', ')}`, orderId);
    }
  },

  function* allOrNothing({ orders }) {
    for (const { orderId, net, amount } of orders.values()) {
      if (net !== 0 && amount !== undefined && net !== amount) {
        yield broken('I2', `holds ${net} of ${amount}`, orderId);
      }
    }
  },

  function* statusAgreesWithMoney({ orders }) {
    for (const { orderId, net, amount, document } of orders.values()) {
      if (document?.status === 'confirmed' && net !== amount) {
        yield broken('I3', `confirmed over ${amount ?? '?'} and holds ${net}`, orderId);
      }
      if (document?.status === 'cancelled' && net !== 0) {
        yield broken('I3', `cancelled and holds ${net}`, orderId);
      }
    }
  },

  function* answersAgreeWithStatus({ requests, orders }) {
    for (const { answer, request } of requests) {
      if (request !== 'place' || answer === undefined) continue;
      const end = endOf(answer);
      const order = orders.get(orderIdOf(answer) ?? '');
      if (end === undefined || order?.document === undefined) continue;
      const { status, reason } = order.document;
      const agrees =
        end === 'confirmed'
          ? status === 'confirmed'
          : status === 'cancelled' &&
            (reason === end || (end === 'order-cancelled' && reason === 'resolved-by-operator'));
      if (!agrees) {
        yield broken('I3', `answered ${end}, and is ${status} (${reason ?? '–'})`, order.orderId);
      }
    }
  },

  function* noConfirmationAgainstReason({ requests }) {
    for (const { answer, mayConfirm } of requests) {
      if (mayConfirm === false && answer?.status === 201) {
        yield broken('I3', 'confirmed what was declined or sold out', orderIdOf(answer) ?? '?');
      }
    }
  },

  function* refundsMatchCharges({ orders }) {
    for (const { orderId, charges, refunds } of orders.values()) {
      for (const { amount, currency } of refunds) {
        const [charge] = charges;
        if (charge === undefined) yield broken('I4', `refund of ${amount} without charge`, orderId);
        else if (charge.amount !== amount || charge.currency !== currency) {
          yield broken('I4', `refund of ${amount} for a charge of ${charge.amount}`, orderId);
        }
      }
    }
  },

  function* oneUndoAStep({ orders }) {
    for (const { orderId, refunds, releases } of orders.values()) {
      if (refunds.length > 1) yield broken('I5', `${refunds.length} refunds`, orderId);
      if (releases.length > 1) yield broken('I5', `${releases.length} releases`, orderId);
    }
  },

  function* oneLineAForwardKey({ payment, inventory }) {
    const lines = [...payment, ...inventory].filter(({ kind }) => !/refund|release/.test(kind));
    for (const [key, all] of groupBy(lines, ({ key: forward }) => forward)) {
      if (all.length > 1) {
        const kinds = all.map(({ kind }) => kind).join(' and ');
        yield broken('I5', `${kinds} under ${key}`, all[0]?.orderId ?? '?');
      }
    }
  },

  function* keysOfSteps({ payment, inventory, byHandKeys }) {
    for (const { kind, key, orderId } of [...payment, ...inventory]) {
      const step = kind === 'charge' || kind === 'refund' ? 'pay' : 'inv';
      const wanted =
        kind === 'void'
          ? [`${orderId}:pay`, `${orderId}:inv`]
          : [
              kind === 'refund' || kind === 'release'
                ? `${orderId}:comp:${step}`
                : `${orderId}:${step}`,
            ];
      if (!wanted.includes(key) && !byHandKeys.has(key)) {
        yield broken('I5', `${kind} under ${key}`, orderId);
      }
    }
  },

  function* stockAddsUp({ inventory, stock }) {
    for (const { sku, onHand, reserved, available } of stock) {
      const held = sum(inventory.map((line) => sign(line.kind) * quantityOf(line, sku)));
      if (held !== reserved || available !== onHand - held || available < 0) {
        const books = `books ${held}, reserved ${reserved}, available ${available} of ${onHand}`;
        yield { invariant: 'I6', what: `${sku}: ${books}`, orderIds: [] };
      }
    }
  },

  function* cancelledHoldsNoGoods({ orders }) {
    for (const { orderId, document, reserves, releases } of orders.values()) {
      const held = reserves.length - releases.length;
      if (document?.status === 'cancelled' && held !== 0) {
        yield broken('I7', `cancelled and holds ${held} reservations`, orderId);
      }
      if (document?.status === 'confirmed' && held !== 1) {
        yield broken('I7', `confirmed and holds ${held} reservations`, orderId);
      }
    }
  },

  function* noLineWithoutOrder({ orders, payment, inventory }) {
    for (const { orderId, kind, key } of [...payment, ...inventory]) {
      if (!orders.has(orderId)) yield broken('I8', `${kind} ${key} of no client's order`, orderId);
    }
  },

  // An undo that needs a person lets those before it go first, so only the others must keep the order.
  function* undoneNewestFirst({ orders, helped, attentionAfterMs }) {
    for (const { orderId, refunds, releases, reserves } of orders.values()) {
      const [refund, release, reserve] = [refunds[0], releases[0], reserves[0]];
      if (refund === undefined || release === undefined || reserve === undefined) continue;
      const [refunded, released, reserved] = [refund, release, reserve].map(timeOf) as [
        number,
        number,
        number,
      ];
      const wasStuck =
        helped.has(`${orderId} inventory`) || refunded - reserved >= attentionAfterMs;
      if (released > refunded && !wasStuck) {
        yield broken('I9', `refunded ${released - refunded} ms before the release`, orderId);
      }
    }
  },

  function* everyOrderEnds({ orders, unfinished }) {
    for (const { orderId, status } of unfinished) {
      yield broken('I10', `still ${status} after all faults were healed`, orderId);
    }
    for (const { orderId, document } of orders.values()) {
      const isEnded = document?.status === 'confirmed' || document?.status === 'cancelled';
      if (document !== undefined && !isEnded) {
        yield broken('I10', `${document.status} at the end`, orderId);
      }
    }
  },

  function* everyKeyEnds({ keys }) {
    for (const { name, requests, orderIds } of keys) {
      const last = requests.findLast(({ intent }) => intent === ownerOf(requests));
      if (last?.answer === undefined || endOf(last.answer) === undefined) {
        const what = last?.answer?.status ?? 'no answer';
        yield broken('I10', `${name}: the last request got ${what}, no end`, ...orderIds);
      }
    }
  },

  function* oneAnswerAKey({ keys }) {
    for (const { name, accepted, orderIds } of keys) {
      const answers = new Set(
        accepted.flatMap(({ answer }) =>
          answer === undefined || endOf(answer) === undefined ? [] : [bytesOf(answer)],
        ),
      );
      if (answers.size > 1) {
        yield broken('I11', `${name}: ${[...answers].join(' and ')}`, ...orderIds);
      }
      const bodies = new Set(accepted.map(({ intent }) => intent));
      if (bodies.size > 1) yield broken('I11', `${name}: ${bodies.size} bodies taken`, ...orderIds);
    }
  },

  function* acknowledgedOrdersAreThere({ requests, orders }) {
    for (const { answer, request } of requests) {
      if (request !== 'place' || answer === undefined || answer.status >= 300) continue;
      const orderId = orderIdOf(answer) ?? '?';
      if (orders.get(orderId)?.status !== 200) {
        yield broken(
          'I12',
          `answered ${answer.status}, and GET says ${orders.get(orderId)?.status ?? 'nothing'}`,
          orderId,
        );
      }
    }
  },

  function* documentsSayWhatWasAsked({ orders, keys }) {
    for (const { accepted, orderIds } of keys) {
      const [request] = accepted;
      for (const orderId of orderIds) {
        const document = orders.get(orderId)?.document;
        if (request?.intent === undefined || document === undefined) continue;
        const asked = JSON.parse(request.intent) as { amount: number; userId: string };
        if (document.amount !== asked.amount || document.userId !== asked.userId) {
          const shown = `${document.userId ?? 'nobody'} over ${document.amount}`;
          yield broken(
            'I12',
            `shown as an order of ${shown}, asked by ${asked.userId} over ${asked.amount}`,
            orderId,
          );
        }
      }
    }
  },

  // An end that a client has seen is the end.
  function* endsStay({ requests, orders }) {
    for (const { request, answer, orderId } of requests) {
      if (request !== 'read' || answer?.status !== 200 || orderId === undefined) continue;
      const { status } = JSON.parse(answer.body) as OrderDocument;
      const last = orders.get(orderId)?.document?.status;
      if (/^(confirmed|cancelled)$/.test(status) && last !== undefined && last !== status) {
        yield broken('I3', `was seen ${status}, and is ${last}`, orderId);
      }
    }
  },

  function* tenantsAreApart({ keys, orders }) {
    const owners = collect(
      keys.flatMap(({ name, orderIds }) => [...orderIds].map((orderId) => ({ name, orderId }))),
      ({ name, orderId }) => [orderId, name],
    );
    for (const [orderId, names] of owners) {
      if (names.size > 1) yield broken('I13', `given to ${[...names].join(' and ')}`, orderId);
    }
    for (const { orderId, statusForOthers } of orders.values()) {
      if (statusForOthers !== 404)
        yield broken('I13', `another tenant got ${statusForOthers}`, orderId);
    }
  },

  function* refusalsLeaveNothing({ orders, requests }) {
    for (const { request, answer } of requests) {
      if (request === 'malformed' && answer !== undefined && answer.status < 400) {
        yield broken('I14', `a malformed request got ${answer.status}`, orderIdOf(answer) ?? '?');
      }
    }
    for (const { orderId, charges, amount } of orders.values()) {
      for (const charge of charges) {
        if (amount !== undefined && charge.amount !== amount) {
          yield broken('I14', `charged ${charge.amount}, accepted ${amount}`, orderId);
        }
      }
    }
  },

  function* answersOfTheContract({ requests }) {
    for (const { answer, request } of requests) {
      if (answer === undefined) continue;
      const orderId = orderIdOf(answer) ?? '?';
      if (answer.status === 500) yield broken('API', `500: ${answer.body.slice(0, 200)}`, orderId);
      if (request !== 'place') continue;
      const type = /"\/problems\/([a-z-]+)"/.exec(answer.body)?.[1];
      const expected = PLACE_ANSWERS[answer.status];
      if (expected === undefined || (expected.length > 0 && !expected.includes(type ?? ''))) {
        yield broken('API', `POST /orders answered ${answer.status} ${type ?? ''}`, orderId);
      }
      if (answer.status === 503 && answer.headers['retry-after'] === undefined) {
        yield broken('API', '503 without Retry-After', orderId);
      }
    }
  },
];

/** What a well-formed `POST /orders` may get, by status; the slugs of its problems. */
const PLACE_ANSWERS: Readonly<Record<number, readonly string[]>> = {
  201: [],
  202: [],
  402: ['payment-declined'],
  409: ['request-in-progress', 'idempotency-key-reused'],
  422: ['out-of-stock', 'order-cancelled'],
  502: ['payment-unavailable', 'inventory-unavailable'],
  503: ['store-unavailable', 'engine-unavailable', 'overloaded'],
};

function factsOf(journal: Journal): Facts {
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
function endOf({ status, body }: Answered): string | undefined {
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
function ownerOf(requests: readonly Request[]): string | undefined {
  const owner = requests.find(
    ({ answer }) => answer !== undefined && (answer.status < 300 || endOf(answer) !== undefined),
  );
  return owner?.intent ?? requests[0]?.intent;
}

function bytesOf({ status, headers, body }: Answered): string {
  return [status, headers['content-type'], headers['location'], body].join(' | ');
}

function orderIdOf({ headers, body }: Answered): string | undefined {
  return /ORD-[0-9a-f]{32}/.exec(headers['location'] ?? body)?.[0];
}

function parsed(answer: Answered | undefined): { orderId?: string; sagaId?: string } {
  try {
    return JSON.parse(answer?.body ?? '{}') as { orderId?: string; sagaId?: string };
  } catch {
    return {};
  }
}

function groupBy<T>(items: readonly T[], nameOf: (item: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(nameOf(item));
    if (group === undefined) groups.set(nameOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Gathers values by name; what gives undefined is left out. */
function collect<T>(
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

function broken(invariant: Invariant, what: string, ...orderIds: string[]): Violation {
  return { invariant, what, orderIds };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

const sign = (kind: InventoryLine['kind']): number => ({ reserve: 1, release: -1, void: 0 })[kind];

const quantityOf = ({ items }: InventoryLine, wanted: string): number =>
  sum(items.map(({ sku, quantity }) => (sku === wanted ? quantity : 0)));

const timeOf = ({ createdAt }: { readonly createdAt: string }): number => Date.parse(createdAt);
