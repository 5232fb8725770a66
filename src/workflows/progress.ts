import {
  defineQuery,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import { stepKeys } from '../domain/keys.js';
import { moneyAtStake } from '../domain/money-at-stake.js';
import type { Order, OrderStatus, StepName, StepRecord } from '../domain/order.js';
import { ORDER_PROGRESS, ORDER_STATUS_ATTRIBUTE } from '../domain/place-order.js';
import type { OrderProgress } from '../domain/place-order.js';
import { STEP_NAMES } from '../domain/step-table.js';

export const orderProgress = defineQuery<OrderProgress>(ORDER_PROGRESS);

const ORDER_STATUS = defineSearchAttributeKey(ORDER_STATUS_ATTRIBUTE, 'KEYWORD');

export interface Progress {
  /** The steps and undos as they stand. */
  readonly steps: () => readonly StepRecord[];
  readonly find: (name: StepName) => StepRecord | undefined;
  readonly update: (name: StepName, change: Partial<Omit<StepRecord, 'name' | 'key'>>) => void;
  /** Changes the status, also as search attribute; does nothing where it is the status already. */
  readonly enter: (status: OrderStatus) => void;
}

/** Keeps what people see of an order while it is open: the query, the search attribute, the current details. */
export function openProgress(order: Order): Progress {
  const keys = stepKeys(order.orderId);
  let status: OrderStatus = 'processing';
  const records = new Map<StepName, StepRecord>(
    STEP_NAMES.map((name) => [
      name,
      { name, ...keys[name], state: 'pending', compensationState: 'none' },
    ]),
  );
  const steps = (): readonly StepRecord[] => [...records.values()];
  const show = (): void => setCurrentDetails(details(order, status, steps()));
  setHandler(orderProgress, () => ({ status, steps: steps() }));
  show();
  return {
    steps,
    find: (name) => records.get(name),
    update: (name, change) => {
      const record = records.get(name);
      if (record === undefined) throw new TypeError(`There is no step ${name}.`);
      records.set(name, { ...record, ...change });
      show();
    },
    enter: (next) => {
      if (next === status) return;
      status = next;
      upsertSearchAttributes([{ key: ORDER_STATUS, value: status }]);
      show();
    },
  };
}

/** Markdown for the Web UI: first where the money is, then each step. */
function details(order: Order, status: OrderStatus, steps: readonly StepRecord[]): string {
  const amount = `${order.amountMinor} ${order.currency} (minor units)`;
  const lines = steps.map(
    ({ name, key, state, compensationKey, compensationState }) =>
      `- **${name}** ${state}, key \`${key}\`; undo ${compensationState}, key \`${compensationKey}\``,
  );
  const payment = steps.find(({ name }) => name === 'payment');
  return [
    `**${status}** · order \`${order.orderId}\``,
    ...(payment === undefined ? [] : [`Money: ${moneyAtStake(amount, payment)}`]),
    lines.join('\n'),
  ].join('\n\n');
}
