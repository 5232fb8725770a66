import { money, STATUS_WORDS, whereTheMoneyIs } from '../api-client/order.js';
import type { OrderDocument } from '../api-client/order.js';
import type { OrderStatus } from '../domain/order.js';
import { table } from './terminal.js';
import type { Style, Terminal } from './terminal.js';

const COLOURS: Readonly<Record<OrderStatus, Style>> = {
  processing: 'cyan',
  compensating: 'yellow',
  needs_attention: 'red',
  confirmed: 'green',
  cancelled: 'yellow',
};

export const paintedStatus = ({ paint }: Terminal, status: OrderStatus): string =>
  paint(COLOURS[status], STATUS_WORDS[status]);

/** An order as `status` shows it. */
export function orderLines(terminal: Terminal, order: OrderDocument): readonly string[] {
  const { paint } = terminal;
  const reason = order.reason === null ? '' : `, ${order.reason}`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['amount', money(order.amount, order.currency)],
    ['user', order.userId],
    ['items', order.items.map(({ sku, quantity }) => `${quantity} × ${sku}`).join(', ')],
    ['workflow', order.sagaId],
    ['created', order.createdAt],
    ['updated', order.updatedAt],
    ['Web UI', order.temporalUi],
  ];
  const steps = order.steps.flatMap((step) => [
    [step.name, step.state, step.key, callsOf(step.attempts)],
    ['  undo', step.compensationState, step.compensationKey, ''],
    ...(step.interventions ?? []).map(({ action, who, why, at }) => [
      '',
      action,
      `${who}: ${why}`,
      at,
    ]),
  ]);
  return [
    `${paint('bold', order.orderId)}  ${paintedStatus(terminal, order.status)}${reason}`,
    ...indented(table(facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]])))),
    '',
    ...indented(table(steps)),
    '',
    `  ${whereTheMoneyIs(order)}`,
  ];
}

/** Orders one a line, as `list` shows them. */
export function listLines(terminal: Terminal, orders: readonly OrderDocument[]): readonly string[] {
  const { paint } = terminal;
  const head = ['ORDER', 'STATUS', 'AMOUNT', 'USER', 'CREATED', 'REASON'];
  return table([
    head.map((name) => paint('bold', name)),
    ...orders.map((order) => [
      order.orderId,
      paintedStatus(terminal, order.status),
      money(order.amount, order.currency),
      order.userId ?? '-',
      order.createdAt,
      order.reason ?? '-',
    ]),
  ]);
}

export const indented = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => `  ${line}`);

const callsOf = (attempts: number | undefined): string =>
  attempts === undefined ? '' : `${attempts} ${attempts === 1 ? 'call' : 'calls'}`;
