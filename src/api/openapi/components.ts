import type { OpenAPIV3, OpenAPIV3_1 } from 'openapi-types';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { COMPENSATION_STATES, ORDER_STATUSES, STEP_STATES } from '../../domain/order.js';
import { STEP_NAMES } from '../../domain/step-table.js';
import { OUTCOME_PROBLEMS } from '../../domain/outcome.js';
import type { CancelReason } from '../../domain/outcome.js';

const oneOf = <Value extends string>(values: readonly Value[], description: string) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, description });

export const EXAMPLE_ORDER_ID = 'ORD-019ade0f6b1c7d20a4e81f0c2b3d4e5f';
export const EXAMPLE_SAGA_ID = 'order-5f0c1a7e9b2d4836a1c0e7f2d3b4a596';

export const orderId = Type.String({
  pattern: '^ORD-[0-9a-f]{32}$',
  description: 'The order. Its page is /orders/{orderId}.',
});
export const sagaId = Type.String({
  pattern: '^order-[0-9a-f]{32}$',
  description: 'The ID of the order’s workflow in Temporal.',
});

const time = (description: string) => Type.String({ format: 'date-time', description });
const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()]);

const REASONS = Object.keys(OUTCOME_PROBLEMS) as readonly CancelReason[];

const intervention = Type.Object({
  action: oneOf(['retry', 'resolve'], 'What the operator did about a stuck undo.'),
  who: Type.String(),
  why: Type.String(),
  at: time('When the workflow heard of it.'),
});

const step = Type.Object({
  name: oneOf(STEP_NAMES, 'Steps are in the order in which they are made.'),
  key: Type.String({ description: 'The key of the forward call, as the service’s ledger has it.' }),
  state: oneOf(STEP_STATES, '`unknown`: asked for without a definite answer.'),
  compensationKey: Type.String({ description: 'The key of the undo.' }),
  compensationState: oneOf(COMPENSATION_STATES, '`stuck`: an operator has to look.'),
  attempts: Type.Optional(Type.Integer({ minimum: 0, description: 'Calls so far, where known.' })),
  interventions: Type.Optional(Type.Array(intervention)),
});

const order = Type.Object({
  orderId,
  sagaId,
  status: oneOf(ORDER_STATUSES, '`confirmed` and `cancelled` are final.'),
  userId: orNull(Type.String({ description: 'Null where the row was rebuilt from Temporal.' })),
  amount: Type.Integer({ minimum: 1, description: 'Minor units.' }),
  currency: Type.String({ description: 'ISO 4217.' }),
  items: Type.Array(Type.Object({ sku: Type.String(), quantity: Type.Integer({ minimum: 1 }) })),
  steps: Type.Array(step),
  reason: orNull(oneOf(REASONS, 'Why it was cancelled; null until then.')),
  createdAt: time('When the claim was made.'),
  updatedAt: time('When the row was last written.'),
  temporalUi: orNull(Type.String({ description: 'The workflow in the Temporal Web UI.' })),
});

/** What the API answers with, by the name that the document gives it. */
export const ANSWER_SCHEMAS = {
  ConfirmedOrder: Type.Object({ orderId, sagaId, status: oneOf(['confirmed'], 'It is done.') }),
  AcceptedOrder: Type.Object({
    orderId,
    sagaId,
    status: oneOf(['processing'], 'It goes on; read the order to see how far it is.'),
  }),
  AcceptedRequest: Type.Object({
    orderId,
    sagaId,
    status: oneOf(['processing', 'cancelled'], '`cancelled`: the order has ended already.'),
  }),
  Order: order,
  OrderList: Type.Object({
    orders: Type.Array(order),
    nextCursor: orNull(Type.String({ description: 'For the next page; null on the last one.' })),
  }),
  OrderEvent: Type.Object({
    id: Type.Optional(Type.String({ description: 'To be sent back as Last-Event-ID.' })),
    data: Type.String({ contentMediaType: 'application/json', description: 'An Order.' }),
  }),
  Health: Type.Object({ status: oneOf(['alive'], 'The process answers.') }),
  Readiness: Type.Object({
    status: oneOf(['ready', 'not-ready'], 'Whether all checks are met.'),
    checks: Type.Array(
      Type.Object({
        name: Type.String(),
        ok: Type.Boolean(),
        detail: Type.String({ description: 'What is there, or what is missing.' }),
      }),
    ),
  }),
  ProblemType: Type.Object({
    type: Type.String({ pattern: '^/problems/[a-z-]+$' }),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    title: Type.String(),
    detail: Type.String({ description: 'What to do next.' }),
  }),
  Document: Type.Object(
    { openapi: Type.String({ pattern: '^3\\.1\\.' }) },
    { additionalProperties: true, description: 'An OpenAPI 3.1 document.' },
  ),
} as const satisfies Record<string, TSchema>;

export type AnswerName = keyof typeof ANSWER_SCHEMAS;

const header = (description: string, schema: OpenAPIV3.SchemaObject) => ({
  description,
  schema,
});

/** The headers of answers. */
export const HEADERS = {
  'X-Request-Id': header('New for each answer, a replayed one too; quote it in a report.', {
    type: 'string',
    format: 'uuid',
  }),
  'Cache-Control': header('A cache must not answer a retry.', {
    type: 'string',
    enum: ['no-store'],
  }),
  Location: header('The order.', { type: 'string', pattern: '^/orders/ORD-[0-9a-f]{32}$' }),
  'Retry-After': header('Seconds to wait before the next request.', {
    type: 'string',
    pattern: '^[1-9][0-9]*$',
  }),
  'Idempotent-Replayed': header(
    'On a final answer to any request but the one that started the workflow.',
    { type: 'string', enum: ['true'] },
  ),
  'Preference-Applied': header('The preferences that were heeded, where there were any.', {
    type: 'string',
  }),
  'WWW-Authenticate': header('How to authenticate.', { type: 'string', enum: ['Bearer'] }),
  Allow: header('The methods that the address takes.', { type: 'string' }),
} as const;

export type HeaderName = keyof typeof HEADERS;

const KEY_CHARACTERS = '[\\x21\\x23-\\x7e]{1,255}';

/** The headers of requests, which the routes read by themselves: they are raw, and may come twice. */
export const REQUEST_HEADERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description:
      'New for each intent, the same for each retry. 1–255 visible ASCII characters but the double quote, which may enclose the whole; `"k"` and `k` are one key.',
    schema: { type: 'string', pattern: `^(${KEY_CHARACTERS}|"${KEY_CHARACTERS}")$` },
    example: '4b7c8a52-8e0f-4d8e-9f37-5d2f6a1c9e10',
  },
  IgnoredIdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'Taken and not needed: repeating the request changes nothing.',
    schema: { type: 'string' },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'The `id` of the last event that was had, where a stream was cut.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    description:
      'RFC 7240. `wait=N` waits N seconds for the final answer, at most 60; `respond-async` does not wait. What is malformed is ignored.',
    schema: { type: 'string' },
    examples: { wait: { value: 'wait=20' }, async: { value: 'respond-async' } },
  },
} as const satisfies Record<string, OpenAPIV3_1.ParameterObject>;
