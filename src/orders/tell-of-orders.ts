import type { FastifyBaseLogger } from 'fastify';
import { moneyAtStake } from '../domain/money-at-stake.js';
import type { Order, StepRecord } from '../domain/order.js';
import { attentionOrders, orderSeconds, ordersEnded } from '../metrics/orders.js';
import type { EndedOrder, OrderListener } from '../store/orders.js';

/**
 * Makes what counts the end of each order and logs it in one line: once an order, whoever writes it down and however
 * often it is tried. The line has ids, amounts and states; neither a user nor a key of a client.
 */
export function tellOfOrders(logger: FastifyBaseLogger): OrderListener {
  return {
    onEnded: (ended) => {
      const { status: outcome } = ended.outcome;
      const reason = ended.outcome.status === 'cancelled' ? ended.outcome.reason : 'none';
      ordersEnded.inc({ outcome, reason });
      orderSeconds.observe({ outcome }, ended.seconds);
      logger.info(lineOf(ended, reason), 'order ended');
    },
    onAttention: ({ orderId, amountMinor, currency }) => {
      attentionOrders.inc();
      logger.error({ orderId, amountMinor, currency }, 'an order needs a person');
    },
  };
}

function lineOf({ order, steps, outcome, seconds }: EndedOrder, reason: string) {
  return {
    orderId: order.orderId,
    outcome: outcome.status,
    ...(reason !== 'none' && { reason }),
    durationMs: Math.round(seconds * 1_000),
    steps: Object.fromEntries(
      steps.map(({ name, state, compensationState: undo, attempts }) => [
        name,
        { state, undo, ...(attempts !== undefined && { attempts }) },
      ]),
    ),
    ...settledByPerson(order, steps),
  };
}

/** The money of an order that a person had to settle; nothing where nobody had to. */
function settledByPerson({ amountMinor, currency }: Order, steps: readonly StepRecord[]) {
  if (!steps.some(({ interventions = [] }) => interventions.length > 0)) return {};
  const payment = steps.find(({ name }) => name === 'payment');
  const amount = `${amountMinor} ${currency} (minor units)`;
  return {
    amountMinor,
    currency,
    ...(payment !== undefined && { money: moneyAtStake(amount, payment) }),
  };
}
