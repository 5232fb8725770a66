import type { OpenAPIV3_1 } from 'openapi-types';
import { REQUEST_HEADERS } from './components.js';
import {
  LINKS_OF_LIST,
  LINKS_OF_ORDER,
  answer,
  emptyAnswer,
  eventAnswer,
  orderAnswer,
  problems,
  textAnswer,
} from './responses.js';
import type { Responses } from './responses.js';

/** What the document says of a route beyond the schemas that the route itself is checked by. */
export interface Operation {
  readonly operationId: string;
  readonly tag: 'orders' | 'operators' | 'server';
  readonly summary: string;
  readonly description?: string;
  /** Whose token it takes; none where it is left out. */
  readonly security?: readonly ('bearer' | 'operator')[];
  readonly headers?: readonly OpenAPIV3_1.ParameterObject[];
  readonly bodyIsOptional?: true;
  readonly responses: Responses;
}

/** What may happen to a request of any kind. */
const ANY = ['malformed-request', 'request-timeout', 'header-too-large', 'internal-error'];
/** All but probes are counted. */
const COUNTED = [...ANY, 'rate-limited'];
const OF_AN_ORDER = [...COUNTED, 'validation-failed', 'unauthorized', 'store-unavailable'];
const WITH_BODY = ['malformed-json', 'body-too-large', 'unsupported-media-type'];

const NO_STORE = 'Cache-Control' as const;

const undo = (action: 'retry' | 'resolve', summary: string, description: string): Operation => ({
  operationId: `${action}Undo`,
  tag: 'operators',
  summary,
  description,
  security: ['operator'],
  responses: {
    202: orderAnswer('The workflow has been told.', 'AcceptedRequest', 'processing', [NO_STORE]),
    ...problems([
      ...OF_AN_ORDER,
      ...WITH_BODY,
      'card-data-refused',
      'forbidden',
      'not-found',
      'undo-not-stuck',
      'engine-unavailable',
    ]),
  },
});

/** Every route, by its method and its address as the router knows it. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /orders': {
    operationId: 'placeOrder',
    tag: 'orders',
    summary: 'Place an order, once for each key',
    description:
      'The same key with the same body is answered with the first final answer, byte for byte, and the mark `Idempotent-Replayed`. No SKU may come twice; card numbers are refused wherever they stand but in `sku`.',
    security: ['bearer'],
    headers: [REQUEST_HEADERS.IdempotencyKey, REQUEST_HEADERS.Prefer],
    responses: {
      201: orderAnswer('The order is confirmed.', 'ConfirmedOrder', 'confirmed', [
        NO_STORE,
        'Location',
        'Idempotent-Replayed?',
        'Preference-Applied?',
      ]),
      202: orderAnswer('It goes on: read the order.', 'AcceptedOrder', 'processing', [
        NO_STORE,
        'Location',
        'Retry-After',
        'Preference-Applied?',
      ]),
      ...problems([
        ...OF_AN_ORDER,
        ...WITH_BODY,
        'idempotency-key-missing',
        'idempotency-key-invalid',
        'card-data-refused',
        'forbidden',
        'idempotency-key-reused',
        'request-in-progress',
        'overloaded',
        'engine-unavailable',
        'payment-declined',
        'out-of-stock',
        'order-cancelled',
        'payment-unavailable',
        'inventory-unavailable',
      ]),
    },
  },

  'GET /orders': {
    operationId: 'listOrders',
    tag: 'orders',
    summary: 'List orders, newest first',
    description:
      'A client’s own orders. An operator sees those of all tenants, and only with `status=needs_attention`. The list is read from the rows alone: an open order may be further than it shows.',
    security: ['bearer', 'operator'],
    responses: {
      200: answer('A page of orders.', 'OrderList', [NO_STORE], LINKS_OF_LIST),
      ...problems([...OF_AN_ORDER, 'forbidden']),
    },
  },

  'GET /orders/:orderId': {
    operationId: 'readOrder',
    tag: 'orders',
    summary: 'Read an order',
    description:
      'A client’s own order; any order for an operator. `orderId` is `ORD-` and 32 hex digits; any other text is an unknown order.',
    security: ['bearer', 'operator'],
    responses: {
      200: answer(
        'The order, each of its steps and each undo.',
        'Order',
        [NO_STORE],
        LINKS_OF_ORDER,
      ),
      ...problems([...OF_AN_ORDER, 'not-found']),
    },
  },

  'GET /orders/:orderId/events': {
    operationId: 'watchOrder',
    tag: 'orders',
    summary: 'Follow an order until it is final',
    description:
      'Server-sent events: each `data` is the order as `readOrder` shows it; the stream ends with the order.',
    security: ['bearer', 'operator'],
    headers: [REQUEST_HEADERS.LastEventId],
    responses: {
      200: eventAnswer('The order, again with each change.', [NO_STORE]),
      204: emptyAnswer('The final state was had before: do not come back.', [NO_STORE]),
      ...problems([...OF_AN_ORDER, 'not-found', 'overloaded']),
    },
  },

  'POST /orders/:orderId/cancel': {
    operationId: 'cancelOrder',
    tag: 'orders',
    summary: 'Cancel an order',
    description:
      'The order ends `cancelled` or, where it was past its last step, `confirmed`. Repeating the request changes nothing.',
    security: ['bearer'],
    headers: [REQUEST_HEADERS.IgnoredIdempotencyKey],
    bodyIsOptional: true,
    responses: {
      202: orderAnswer('The request is taken: read the order.', 'AcceptedRequest', 'processing', [
        NO_STORE,
        'Location',
        'Retry-After',
      ]),
      ...problems([
        ...OF_AN_ORDER,
        ...WITH_BODY,
        'forbidden',
        'not-found',
        'order-not-cancellable',
      ]),
    },
  },

  'POST /orders/:orderId/undo/retry': undo(
    'retry',
    'Try a stuck undo again at once',
    'For an undo whose `compensationState` is `stuck`. Who asked and why is kept with the order.',
  ),
  'POST /orders/:orderId/undo/resolve': undo(
    'resolve',
    'End a stuck undo that a person has settled by other means',
    'Nothing is called any more. Who said so and why is kept with the order.',
  ),

  'GET /healthz': {
    operationId: 'readHealth',
    tag: 'server',
    summary: 'Whether the process answers',
    responses: { 200: answer('It does.', 'Health'), ...problems(ANY) },
  },
  'GET /readyz': {
    operationId: 'readReadiness',
    tag: 'server',
    summary: 'Whether all that an order needs answers',
    responses: {
      200: answer('It does.', 'Readiness', [NO_STORE]),
      503: answer('Something is missing: see the checks.', 'Readiness', [NO_STORE, 'Retry-After']),
      ...problems(ANY),
    },
  },
  'GET /metrics': {
    operationId: 'readMetrics',
    tag: 'server',
    summary: 'What this process counts and measures',
    description:
      'In the text format of Prometheus. Where `METRICS_TOKEN` is set it is demanded as a bearer token.',
    responses: {
      200: textAnswer('The metrics.', [NO_STORE]),
      ...problems([...ANY, 'unauthorized']),
    },
  },
  'GET /problems/:slug': {
    operationId: 'explainProblem',
    tag: 'server',
    summary: 'What a problem means and what to do next',
    responses: {
      200: answer('The problem.', 'ProblemType'),
      ...problems([...COUNTED, 'not-found']),
    },
  },
  'GET /openapi.json': {
    operationId: 'readDocument',
    tag: 'server',
    summary: 'This document',
    responses: { 200: answer('OpenAPI 3.1.', 'Document'), ...problems(COUNTED) },
  },
};
