import {
  bytesOf,
  collect,
  endOf,
  factsOf,
  groupBy,
  orderIdOf,
  ownerOf,
  parsed,
  sum,
} from './facts.js';
import type { Facts } from './facts.js';
import type { InventoryLine, Journal, OrderDocument } from './journal.js';

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
  // A process that stood still may find a request too old when it goes on.
  408: ['request-timeout'],
  409: ['request-in-progress', 'idempotency-key-reused'],
  422: ['out-of-stock', 'order-cancelled'],
  502: ['payment-unavailable', 'inventory-unavailable'],
  503: ['store-unavailable', 'engine-unavailable', 'overloaded'],
};

function broken(invariant: Invariant, what: string, ...orderIds: string[]): Violation {
  return { invariant, what, orderIds };
}

const sign = (kind: InventoryLine['kind']): number => ({ reserve: 1, release: -1, void: 0 })[kind];

const quantityOf = ({ items }: InventoryLine, wanted: string): number =>
  sum(items.map(({ sku, quantity }) => (sku === wanted ? quantity : 0)));

const timeOf = ({ createdAt }: { readonly createdAt: string }): number => Date.parse(createdAt);
