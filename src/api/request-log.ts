import type { FastifyRequest } from 'fastify';
import type { HttpApp } from '../http/app.js';
import { PROBES } from '../http/connections.js';
import { readIdempotencyKey } from '../http/idempotency-key.js';
import type { Authentication } from './auth.js';
import { digestOf } from './idempotency/key.js';
import { isOrderId } from './order-id.js';

/**
 * Logs a line a request: who, what, under which key, and what came of it. Of what the client sent it has
 * order ids and the digest of the key, as the claims have it; never the key, a token, a query or a body.
 */
export function logRequests(app: HttpApp, authentication: Authentication): void {
  const factsOf = (request: FastifyRequest) => ({
    method: request.method,
    // The route, not the address: that is the client's text.
    route: request.routeOptions.url,
    ...authentication.bearerOf(request),
    ...keyOf(request),
    ...orderOf(request),
  });
  app.addHook('onResponse', (request, reply, done) => {
    const durationMs = Math.round(reply.elapsedTime);
    const line = { ...factsOf(request), status: reply.statusCode, durationMs };
    if (PROBES.has(request.routeOptions.url ?? '')) request.log.debug(line, 'request');
    else request.log.info(line, 'request');
    done();
  });
  app.addHook('onRequestAbort', (request, done) => {
    request.log.info(factsOf(request), 'the client went away before its answer');
    done();
  });
}

function keyOf({ raw }: FastifyRequest) {
  try {
    return { keyDigest: digestOf(readIdempotencyKey(raw)) };
  } catch {
    // None, or not acceptable: the status says so.
    return {};
  }
}

function orderOf({ params }: FastifyRequest) {
  const { orderId } = (params ?? {}) as { readonly orderId?: unknown };
  return typeof orderId === 'string' && isOrderId(orderId) ? { orderId } : {};
}
