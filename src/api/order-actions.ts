import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OrderRow } from '../store/order-rows.js';
import { RESOLVE_UNDO, RETRY_UNDO } from '../domain/place-order.js';
import type { OperatorCommand } from '../domain/place-order.js';
import { RETRY_AFTER_SECONDS } from '../http/app.js';
import type { HttpApp } from '../http/app.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import type { Healer } from '../orders/heal-order.js';
import type { OpenOrderStore } from '../store/open-orders.js';
import { boundedCall } from '../temporal/bounded-call.js';
import type { Authentication } from './auth.js';
import { refuseCardData } from './refuse-card-data.js';
import { isEngineUnavailable } from './idempotency/start-once.js';
import { isOrderId } from './order-id.js';
import { API_PROBLEMS } from './problems.js';
import { NoBody, NoQuery, OrderParams, UndoBody } from './schemas.js';

/** 5 s for a signal: an operator hears soon that it did not get through. */
const SIGNAL_TIMEOUT_MS = 5_000;

export interface OrderActionDependencies {
  readonly authentication: Authentication;
  readonly client: Client;
  readonly openOrders: OpenOrderStore;
  readonly healer: Healer;
}

/** `POST /orders/{orderId}/cancel` for clients, `…/undo/retry` and `…/undo/resolve` for operators. */
export function addOrderActionRoutes(app: HttpApp, dependencies: OrderActionDependencies): void {
  const { authentication } = dependencies;

  app.post(
    '/orders/:orderId/cancel',
    {
      schema: { params: OrderParams, querystring: NoQuery, body: NoBody },
      onRequest: [authentication.requireTenant, forgetTypeOfNoBody],
    },
    (request, reply) => cancel(dependencies, request, request.params.orderId, reply),
  );

  for (const [action, signal] of [
    ['retry', RETRY_UNDO],
    ['resolve', RESOLVE_UNDO],
  ] as const) {
    app.post(
      `/orders/:orderId/undo/${action}`,
      {
        schema: { params: OrderParams, querystring: NoQuery, body: UndoBody },
        onRequest: authentication.requireOperator,
        preValidation: refuseCardData(),
      },
      async (request, reply) => {
        const { step, why, who = authentication.operatorOf(request) ?? '' } = request.body;
        const row = await tellUndo(dependencies, request.params.orderId, signal, {
          step,
          who,
          why,
        });
        return reply.code(202).send(stateOf(row));
      },
    );
  }
}

/** Written down first, then sent: whatever is lost on the way, the reconciler sends it again. */
async function cancel(
  { authentication, openOrders, healer }: OrderActionDependencies,
  request: FastifyRequest,
  orderId: string,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const tenant = authentication.tenantOf(request);
  const known = isOrderId(orderId) ? await openOrders.requestCancel(tenant, orderId) : undefined;
  if (known === undefined) throw new Problem(PROTOCOL_PROBLEMS['not-found']);
  const order = await openOrders.read(tenant, orderId);
  if (order !== undefined) {
    await healer.heal(order).catch((err: unknown) => {
      if (!isEngineUnavailable(err)) throw err;
      request.log.warn({ err, orderId }, 'a cancel is written down and will be sent later');
    });
  }
  const row = await openOrders.read(tenant, orderId);
  if (row === undefined) throw new Problem(PROTOCOL_PROBLEMS['not-found']);
  if (row.status === 'confirmed') {
    throw new Problem(API_PROBLEMS['order-not-cancellable'], { members: { orderId } });
  }
  return reply
    .code(202)
    .headers({ location: `/orders/${orderId}`, 'retry-after': String(RETRY_AFTER_SECONDS) })
    .send(stateOf(row));
}

/** Sends an operator's word to the workflow that undoes the order, where the undo waits for it. */
async function tellUndo(
  { client, openOrders }: OrderActionDependencies,
  orderId: string,
  signal: string,
  command: OperatorCommand,
): Promise<OrderRow> {
  const row = isOrderId(orderId) ? await openOrders.readOfAnyTenant(orderId) : undefined;
  if (row === undefined) throw new Problem(PROTOCOL_PROBLEMS['not-found']);
  const record = row.steps?.find(({ name }) => name === command.step);
  if (row.status !== 'needs_attention' || record?.compensationState !== 'stuck') {
    throw new Problem(API_PROBLEMS['undo-not-stuck'], { members: { orderId } });
  }
  const handle = client.workflow.getHandle(row.undoneBy ?? row.workflowId);
  try {
    await boundedCall(client.connection, SIGNAL_TIMEOUT_MS, () => handle.signal(signal, command));
  } catch (cause) {
    // Its workflow was cut short since: a repair will get stuck in its turn, and can be told then.
    const isGone = cause instanceof WorkflowNotFoundError;
    if (!isGone && !isEngineUnavailable(cause)) throw cause;
    throw new Problem(API_PROBLEMS['engine-unavailable'], {
      detail: 'The operator’s word did not get through. Repeat it after the time in Retry-After.',
      members: { orderId },
      headers: { location: `/orders/${orderId}`, 'retry-after': String(RETRY_AFTER_SECONDS) },
      cause,
    });
  }
  return row;
}

/** Many clients name a media type though they send no body; without one there is nothing to parse. */
// eslint-disable-next-line @typescript-eslint/require-await -- a promise, as the hooks beside it
async function forgetTypeOfNoBody({ headers }: FastifyRequest): Promise<void> {
  const isEmpty = (headers['content-length'] ?? '0') === '0';
  if (isEmpty && headers['transfer-encoding'] === undefined) delete headers['content-type'];
}

/** As every 202 does, it says no more than that it goes on; an order that has ended is said to have. */
function stateOf({ order, workflowId, status }: OrderRow) {
  const shown = status === 'cancelled' ? status : 'processing';
  return { orderId: order.orderId, sagaId: workflowId, status: shown };
}
