import type { FastifyReply, FastifyRequest } from 'fastify';
import { RETRY_AFTER_SECONDS } from '../http/app.js';
import type { HttpApp } from '../http/app.js';
import { readIdempotencyKey } from '../http/idempotency-key.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import type { Healed, Healer } from '../orders/heal-order.js';
import type { OpenOrderStore } from '../store/open-orders.js';
import type { Authentication } from './auth.js';
import { refuseCardData } from './refuse-card-data.js';
import type { Intent } from './idempotency/claims.js';
import type { Entered, Entry, Operation } from './idempotency/enter.js';
import { fingerprint } from './idempotency/fingerprint.js';
import { digestOf, workflowIdFor } from './idempotency/key.js';
import { sendAnswer } from './idempotency/replay.js';
import { isEngineUnavailable } from './idempotency/start-once.js';
import { orderDocument } from './order-document.js';
import type { OrderDocuments } from './order-document.js';
import { placeOrderOperation } from './place-order.js';
import type { PlaceOrderDependencies } from './place-order.js';
import { readPreference } from './prefer.js';
import type { Preference } from './prefer.js';
import { API_PROBLEMS } from './problems.js';
import type { ReadOrder } from './read-order.js';
import { NoQuery, OrderParams, PlaceOrderBody } from './schemas.js';
import type { Waiting } from './waiting.js';

const ROUTE = '/orders';
const SCOPE = `POST:${ROUTE}`;

/** A SKU is made by a shop for its goods; some are numbers of the form of a card's. */
const IS_SKU = (path: string): boolean => path === '.items[].sku';

export interface OrderRouteDependencies {
  readonly authentication: Authentication;
  readonly entry: Entry;
  readonly readOrder: ReadOrder;
  readonly openOrders: OpenOrderStore;
  readonly healer: Healer;
  readonly placeOrder: PlaceOrderDependencies;
  readonly documents: OrderDocuments;
  readonly waiting: Waiting;
  /** How long a request waits for its order's end when it does not say. */
  readonly waitSeconds: number;
}

/** A request to place an order, with all that its answer depends on. */
interface Placing {
  readonly intent: Intent;
  readonly operation: Operation;
  readonly preference: Preference | undefined;
}

/** `POST /orders` and `GET /orders/{orderId}`. */
export function addOrderRoutes(app: HttpApp, dependencies: OrderRouteDependencies): void {
  const { authentication, entry, readOrder, documents } = dependencies;

  app.post(
    ROUTE,
    {
      schema: { body: PlaceOrderBody, querystring: NoQuery },
      onRequest: [authentication.requireTenant, requireKey],
      preValidation: refuseCardData(({ raw }) => readIdempotencyKey(raw), IS_SKU),
    },
    async (request, reply) => {
      const placing = placingOf(dependencies, request, request.body);
      let entered = await entry.enter(placing.intent, placing.operation);
      if (entered.kind === 'abandoned') {
        const healed = await driveOn(dependencies, placing, entered.resourceId);
        // An order that has ended is answered by now: here, or by a run of its workflow that went on meanwhile.
        if (healed === 'saved' || healed === 'ended')
          entered = await entry.enter(placing.intent, placing.operation);
      }
      return answer(dependencies, placing, entered, reply);
    },
  );

  app.get(
    `${ROUTE}/:orderId`,
    {
      schema: { params: OrderParams, querystring: NoQuery },
      onRequest: authentication.requireAnyone,
    },
    async (request) => orderDocument(documents, await readOrder(request, request.params.orderId)),
  );
}

/** Does at once what the reconciler would do in its next round. */
async function driveOn(
  { openOrders, healer }: OrderRouteDependencies,
  { intent }: Placing,
  orderId: string,
): Promise<Healed | undefined> {
  const order = await openOrders.read(intent.tenant, orderId);
  if (order === undefined) return undefined;
  try {
    return await healer.heal(order);
  } catch (cause) {
    if (isEngineUnavailable(cause)) throw engineUnavailable(orderId, cause);
    throw cause;
  }
}

/** Before the body is read: it does not matter what a request without a key holds. */
// eslint-disable-next-line @typescript-eslint/require-await -- a promise, so that a refusal goes the way of every error
async function requireKey(request: FastifyRequest): Promise<void> {
  readIdempotencyKey(request.raw);
}

function placingOf(
  { authentication, placeOrder }: OrderRouteDependencies,
  request: FastifyRequest,
  body: PlaceOrderBody,
): Placing {
  const key = readIdempotencyKey(request.raw);
  const skus = body.items?.map(({ sku }) => sku) ?? [];
  if (new Set(skus).size < skus.length) {
    throw new Problem(PROTOCOL_PROBLEMS['validation-failed'], {
      detail: 'body/items has a SKU twice: add up its quantities.',
    });
  }
  const tenant = authentication.tenantOf(request);
  const intent: Intent = {
    tenant,
    scope: SCOPE,
    key,
    keyDigest: digestOf(key),
    requestHash: fingerprint({ method: 'POST', route: ROUTE, query: {}, body }),
    workflowId: workflowIdFor('order-', { tenant, scope: SCOPE, key }),
  };
  return {
    intent,
    operation: placeOrderOperation(placeOrder, intent, body),
    preference: readPreference([request.headers.prefer ?? []].flat().join(', ')),
  };
}

/** Sends what has become of an order so far; waits for its end where it was started or a client wants to. */
async function answer(
  dependencies: OrderRouteDependencies,
  placing: Placing,
  entered: Entered,
  reply: FastifyReply,
): Promise<FastifyReply> {
  switch (entered.kind) {
    case 'answered':
      return sendAnswer(reply, entered.answer, true);
    case 'other-body':
      throw new Problem(PROTOCOL_PROBLEMS['idempotency-key-reused']);
    case 'engine-unavailable':
      throw engineUnavailable(entered.resourceId, entered.cause);
    case 'started':
      return waitAndAnswer(dependencies, placing, entered, reply);
    case 'running':
    case 'abandoned':
      if (placing.preference !== undefined) {
        return waitAndAnswer(dependencies, placing, entered, reply);
      }
      throw new Problem(API_PROBLEMS['request-in-progress'], {
        headers: comeBack(entered.resourceId),
      });
  }
}

async function waitAndAnswer(
  { waiting, waitSeconds }: OrderRouteDependencies,
  { intent, preference }: Placing,
  { kind, resourceId }: Extract<Entered, { kind: 'started' | 'running' | 'abandoned' }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (preference !== undefined) void reply.header('preference-applied', preference.applied);
  const seconds = preference?.waitSeconds ?? waitSeconds;
  const saved = await waiting.untilAnswered(intent, seconds, reply.raw);
  if (saved !== undefined) return sendAnswer(reply, saved, kind !== 'started');
  return reply
    .code(202)
    .headers(comeBack(resourceId))
    .send({ orderId: resourceId, sagaId: intent.workflowId, status: 'processing' });
}

const engineUnavailable = (orderId: string, cause: unknown): Problem =>
  new Problem(API_PROBLEMS['engine-unavailable'], {
    members: { orderId },
    headers: comeBack(orderId),
    cause,
  });

const comeBack = (orderId: string): Record<string, string> => ({
  location: `${ROUTE}/${orderId}`,
  'retry-after': String(RETRY_AFTER_SECONDS),
});
