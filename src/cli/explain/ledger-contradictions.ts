import { stepKeys } from '../../domain/keys.js';
import type { OrderItem, StepName } from '../../domain/order.js';
import type { Evidence, LedgerLine, SeenCall } from './evidence.js';

const KINDS = {
  payment: { forward: 'charge', undo: 'refund' },
  inventory: { forward: 'reserve', undo: 'release' },
} as const satisfies Record<StepName, object>;

/** What must hold of the ledgers at any moment: one effect a key, under our keys, of the order's own size. */
export function ledgerContradictions(evidence: Evidence): readonly string[] {
  return (['payment', 'inventory'] as const).flatMap((name) => [
    ...lineContradictions(evidence, name),
    ...callContradictions(evidence, name),
  ]);
}

function lineContradictions({ order, ...services }: Evidence, name: StepName): readonly string[] {
  const { orderId, amountMinor, currency, items } = order.order;
  const { forward, undo } = KINDS[name];
  const { key, compensationKey } = stepKeys(orderId)[name];
  const { ledger } = services[name];
  const found: string[] = [];
  for (const line of ledger) {
    const expected = line.kind === undo ? compensationKey : key;
    if (line.key !== expected)
      found.push(`a ${line.kind} has the key ${line.key}, not ${expected}`);
    if (line.orderId !== orderId) found.push(`a ${line.kind} is of the order ${line.orderId}`);
    if (line.kind === 'void') continue;
    const isItsSize =
      name === 'payment'
        ? line.amount === amountMinor && line.currency === currency
        : sameItems(line.items ?? [], items);
    if (!isItsSize) found.push(`a ${line.kind} is not of what the order is of: ${sizeOf(line)}`);
  }
  const of = (kind: LedgerLine['kind']): readonly LedgerLine[] =>
    ledger.filter((line) => line.kind === kind);
  for (const kind of [forward, undo, 'void'] as const) {
    if (of(kind).length > 1) found.push(`there are ${of(kind).length} lines of ${kind}, not one`);
  }
  if (of(undo).length > 0 && of(forward).length === 0) {
    found.push(`there is a ${undo} without a ${forward}`);
  }
  if (of('void').length > 0 && of(forward).length > 0) {
    found.push(`there is a ${forward} under a key that was barred`);
  }
  return found;
}

/** A service counts the calls that took effect: each must have left a line. */
function callContradictions({ order, ...services }: Evidence, name: StepName): readonly string[] {
  const { key, compensationKey } = stepKeys(order.order.orderId)[name];
  const { ledger, calls = [] } = services[name];
  const lacksLine = (call: SeenCall): boolean =>
    !ledger.some(
      (line) => line.key === call.key || (call.key === compensationKey && line.kind === 'void'),
    );
  const strangers = calls.filter((call) => call.key !== key && call.key !== compensationKey);
  const lost = calls.filter((call) => call.effect && lacksLine(call));
  return [
    ...strangers.map((call) => `a ${call.operation} was called with the key ${call.key}`),
    ...lost.map((call) => `a ${call.operation} took effect at ${call.at} and has no line`),
  ];
}

const sizeOf = ({ amount, currency, items }: LedgerLine): string =>
  items === undefined ? `${amount ?? '?'} ${currency ?? '?'}` : JSON.stringify(items);

function sameItems(one: readonly OrderItem[], other: readonly OrderItem[]): boolean {
  const sorted = (items: readonly OrderItem[]): string =>
    JSON.stringify(items.map(({ sku, quantity }) => [sku, quantity]).sort());
  return sorted(one) === sorted(other);
}
