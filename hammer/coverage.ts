import type { ClientOrder } from './clients.js';
import type { SeenCall } from './downstream.js';
import { LANES } from './faults.js';
import type { Journal } from './journal.js';

/** 60 % of the orders that nothing but faults spoke against: with fewer, there was nothing there to be hurt. */
const LEAST_CONFIRMED = 0.6;

/**
 * What a run has not shown: a green run in which no fault met an order, or in which all orders failed, proves nothing.
 *
 * @returns one line for each sight that is missing; a run with any is invalid.
 */
export function missingSights(
  journal: Journal,
  orders: readonly ClientOrder[],
  calls: readonly SeenCall[],
): readonly string[] {
  const missing: string[] = [];
  const demand = (what: string, seen: boolean): void => {
    if (!seen) missing.push(what);
  };
  const struck = new Set(
    journal.flatMap((entry) =>
      entry.type === 'fault' && entry.edge === 'start' && entry.inFlight > 0 ? [entry.name] : [],
    ),
  );
  for (const { name } of Object.values(LANES).flat()) {
    demand(`the fault ${name} while an order was under way`, struck.has(name));
  }
  const answers = journal.flatMap((entry) => (entry.type === 'ok' ? [entry] : []));
  for (const [what, pattern] of ANSWERS) {
    demand(
      what,
      answers.some(({ status, body }) => pattern.test(`${status} ${body}`)),
    );
  }
  const reasons = journal.flatMap((entry) =>
    entry.type === 'order' ? [entry.document?.reason ?? entry.document?.status] : [],
  );
  for (const end of ENDS) demand(`an order that ended ${end}`, reasons.includes(end));
  const of = (operation: string): readonly SeenCall[] =>
    calls.filter((call) => call.operation === operation);
  const repeated = (operation: string): boolean => {
    const keys = of(operation).map(({ key }) => key);
    return new Set(keys).size < keys.length;
  };
  const replayed = (operation: string, status: number): boolean =>
    of(operation).some((call) => !call.effect && call.status === status);
  demand('a second attempt of a charge', repeated('charge'));
  demand('a second attempt of a reservation', repeated('reserve'));
  demand('a replayed charge', replayed('charge', 201));
  demand('a replayed refund', replayed('refund', 200));
  demand('a late charge that was refused', replayed('charge', 409));
  demand('a late reservation that was refused', replayed('reserve', 409));
  const kinds = journal.flatMap((entry) =>
    entry.type === 'payment-ledger' || entry.type === 'inventory-ledger'
      ? entry.lines.map(({ kind }) => kind)
      : [],
  );
  for (const kind of ['charge', 'refund', 'reserve', 'release', 'void'] as const) {
    demand(`a ${kind} in the books`, kinds.includes(kind));
  }
  const plain = orders.filter(({ planned, begun }) => planned.isPlain && begun);
  const confirmed = plain.filter(({ final }) => final?.status === 201);
  demand(
    `60 % of the plain orders confirmed (${confirmed.length} of ${plain.length})`,
    confirmed.length >= plain.length * LEAST_CONFIRMED,
  );
  return missing;
}

const ANSWERS: readonly (readonly [string, RegExp])[] = [
  ['a 202', /^202 /],
  ['a key refused for another body', /^409 .*idempotency-key-reused/],
  ['a duplicate of a running order', /^409 .*request-in-progress/],
  ['a 503 for want of Postgres', /^503 .*store-unavailable/],
  ['a 503 for want of Temporal', /^503 .*engine-unavailable/],
  ['an order that needs a person', /^200 .*"needs_attention"/],
  ['a cancel that came too late', /^409 .*order-not-cancellable/],
];

const ENDS = [
  'confirmed',
  'payment-declined',
  'out-of-stock',
  'order-cancelled',
  'payment-unavailable',
  'inventory-unavailable',
];
