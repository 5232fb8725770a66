import type { Evidence, LedgerLine } from './evidence.js';

/** What the ledgers have of one order. */
export interface Counts {
  readonly orders: number;
  readonly charges: number;
  readonly refunds: number;
  readonly reservations: number;
  readonly releases: number;
  /** Forward keys that were undone before their call came, and bar it for ever. */
  readonly chargesBarred: number;
  readonly reservationsBarred: number;
}

type Books = Pick<Evidence, 'payment' | 'inventory'>;

export function countsOf({ payment, inventory }: Books): Counts {
  const count = (lines: readonly LedgerLine[], kind: LedgerLine['kind']): number =>
    lines.filter((line) => line.kind === kind).length;
  return {
    orders: 1,
    charges: count(payment.ledger, 'charge'),
    refunds: count(payment.ledger, 'refund'),
    reservations: count(inventory.ledger, 'reserve'),
    releases: count(inventory.ledger, 'release'),
    chargesBarred: count(payment.ledger, 'void'),
    reservationsBarred: count(inventory.ledger, 'void'),
  };
}

/** "1 order, 1 charge, 1 refund, 0 reservations, 0 releases", and what is barred where there is any. */
export function countsInWords(counts: Counts): string {
  const { chargesBarred, reservationsBarred } = counts;
  return [
    number(counts.orders, 'order'),
    number(counts.charges, 'charge'),
    number(counts.refunds, 'refund'),
    number(counts.reservations, 'reservation'),
    number(counts.releases, 'release'),
    ...(chargesBarred > 0 ? [`${number(chargesBarred, 'charge')} barred`] : []),
    ...(reservationsBarred > 0 ? [`${number(reservationsBarred, 'reservation')} barred`] : []),
  ].join(', ');
}

const number = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
