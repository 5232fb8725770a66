import { moneyAtStake } from '../domain/money-at-stake.js';
import { STEP_TABLE } from '../domain/step-table.js';
import type { OrderItem, OrderStatus, StepRecord } from '../domain/order.js';

/** An order as `GET /orders/{orderId}` shows it. */
export interface OrderDocument {
  readonly orderId: string;
  readonly sagaId: string;
  readonly status: OrderStatus;
  readonly userId: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly items: readonly OrderItem[];
  readonly steps: readonly StepRecord[];
  readonly reason: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly temporalUi: string | null;
}

export const STATUS_WORDS: Readonly<Record<OrderStatus, string>> = {
  processing: 'processing',
  compensating: 'undoing',
  needs_attention: 'needs a person',
  confirmed: 'confirmed',
  cancelled: 'cancelled',
};

export const isFinal = ({ status }: OrderDocument): boolean =>
  status === 'confirmed' || status === 'cancelled';

/** 1999 EUR in minor units → "€19.99", as the reader writes money. */
export function money(amountMinor: number, currency: string): string {
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 0;
  return format.format(amountMinor / 10 ** digits);
}

export function whereTheMoneyIs({ steps, amount, currency }: OrderDocument): string {
  const payment = steps.find(({ name }) => name === 'payment');
  if (payment === undefined) return '';
  const text = moneyAtStake(money(amount, currency), payment).replaceAll('**', '');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What has changed between two states of an order, in words; all that has happened, where there is no first. */
export function changes(
  before: OrderDocument | undefined,
  after: OrderDocument,
): readonly string[] {
  const earlier = ({ name }: StepRecord): StepRecord | undefined =>
    before?.steps.find((step) => step.name === name);
  const status = after.status === (before?.status ?? 'processing') ? [] : [endOf(after)];
  const forward = after.steps.flatMap((step) =>
    step.state === (earlier(step)?.state ?? 'pending')
      ? []
      : [`${STEP_TABLE[step.name].does.step} ${step.state}, key ${step.key}`],
  );
  // Undos run newest first.
  const back = [...after.steps].reverse().flatMap((step) => {
    const { undo } = STEP_TABLE[step.name].does;
    const said = step.interventions?.slice(earlier(step)?.interventions?.length ?? 0) ?? [];
    const isChanged = step.compensationState !== (earlier(step)?.compensationState ?? 'none');
    return [
      ...said.map(({ who, action, why }) => `${who} says ${action} of the ${undo}: ${why}`),
      ...(isChanged ? [`${undo} ${step.compensationState}, key ${step.compensationKey}`] : []),
    ];
  });
  return after.status === 'compensating'
    ? [...forward, ...status, ...back]
    : [...forward, ...back, ...status];
}

function endOf({ status, reason }: OrderDocument): string {
  return `Order ${STATUS_WORDS[status]}${reason === null ? '' : `, ${reason}`}`;
}

export const timeOf = (moment: string | Date): string =>
  new Date(moment).toLocaleTimeString(undefined, { hour12: false });
