/** Why an order was cancelled: the problem's slug, or who resolved it. */
export type CancelReason = keyof typeof PROBLEMS;

/** How an order ended. The workflow's result, and all that its answer depends on. */
export type OrderOutcome =
  | { readonly answerVersion: 1; readonly status: 'confirmed' }
  | { readonly answerVersion: 1; readonly status: 'cancelled'; readonly reason: CancelReason };

/** An answer as it goes over the wire and as the claim keeps it: replayed byte for byte. */
export interface SavedAnswer {
  readonly status: number;
  /** Lower-case names; the only headers a replay repeats. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface OutcomeProblem {
  readonly slug: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** `true` on the 502s: a client must not take them for a fault that passes. */
  readonly final?: true;
}

const ORDER_CANCELLED: OutcomeProblem = {
  slug: 'order-cancelled',
  status: 422,
  title: 'The order was cancelled',
  detail:
    'The order was cancelled and everything done for it was undone. To order again use a new key.',
};

const PROBLEMS = {
  'payment-declined': {
    slug: 'payment-declined',
    status: 402,
    title: 'The payment was declined',
    detail:
      'The payment service declined the charge; nothing was taken. To try another payment method use a new key.',
  },
  'out-of-stock': {
    slug: 'out-of-stock',
    status: 422,
    title: 'An item is out of stock',
    detail:
      'The items could not be reserved and the charge was refunded. To order something else use a new key.',
  },
  'order-cancelled': ORDER_CANCELLED,
  'resolved-by-operator': ORDER_CANCELLED,
  'payment-unavailable': {
    slug: 'payment-unavailable',
    status: 502,
    title: 'The payment service gave no usable answer in time',
    detail:
      'The charge could not be confirmed before its deadline and was undone; to try again use a new key.',
    final: true,
  },
  'inventory-unavailable': {
    slug: 'inventory-unavailable',
    status: 502,
    title: 'The inventory service gave no usable answer in time',
    detail:
      'The items could not be reserved before the deadline; the charge and the reservation were undone; to try again use a new key.',
    final: true,
  },
} satisfies Readonly<Record<string, OutcomeProblem>>;

/** The problems that an order can end with, by reason. `/problems/<slug>` explains each. */
export const OUTCOME_PROBLEMS: Readonly<Record<CancelReason, OutcomeProblem>> = PROBLEMS;

/**
 * The one answer that an outcome always gives: a pure function, so that whoever saves it, now or in a
 * repair, saves the same bytes. A change of these bytes needs a new `answerVersion`, since answers of
 * open orders are made by the release that ends them.
 *
 * @param workflowId shown to clients as `sagaId`.
 */
export function answerOf(outcome: OrderOutcome, orderId: string, workflowId: string): SavedAnswer {
  const location = `/orders/${orderId}`;
  if (outcome.status === 'confirmed') {
    return {
      status: 201,
      headers: { 'content-type': 'application/json; charset=utf-8', location },
      body: JSON.stringify({ orderId, sagaId: workflowId, status: 'confirmed' }),
    };
  }
  const { slug, status, title, detail, final } = OUTCOME_PROBLEMS[outcome.reason];
  const problem = { type: `/problems/${slug}`, title, status, detail };
  return {
    status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8', location },
    body: JSON.stringify({
      ...problem,
      ...(final === undefined ? {} : { final }),
      orderId,
      sagaId: workflowId,
    }),
  };
}
