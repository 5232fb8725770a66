import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { LogController } from 'fastify';
import type {
  FastifyBaseLogger,
  FastifyError,
  FastifyInstance,
  FastifyRequest,
  RawServerDefault,
} from 'fastify';
import { measureRequests } from '../metrics/http.js';
import { Overloaded } from '../overload.js';
import { isDatabaseUnavailable } from '../postgres/pool.js';
import { limitConnections, MAX_CONNECTIONS } from './connections.js';
import { acceptStrictJson } from './json-body.js';
import { Problem, sendProblem } from './problem.js';
import type { ProblemType } from './problem.js';
import { createProtocolErrors } from './protocol-errors.js';
import { PROTOCOL_PROBLEMS } from './protocol-problems.js';
import { refusalOf } from './well-formed.js';

export const BODY_LIMIT_BYTES = 65_536;

/**
 * 10 s for a whole request: our largest body fits a slow line; without it a dribbling client holds a socket
 * for ever.
 */
const REQUEST_TIMEOUT_MS = 10_000;
/** Idle keep-alive connections: longer than a load balancer's 60 s, so that it, not we, closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** The longest path parameter, counted as it is encoded: a key of 255 characters, each as `%XX`. */
const MAX_PARAM_LENGTH = 765;

/** What a client does while something of ours is away: come back soon, as the fault may pass in a second. */
export const RETRY_AFTER_SECONDS = 1;

export type HttpApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export interface HttpAppOptions {
  /** Addresses and subnets of proxies whose `X-Forwarded-For` is believed. */
  readonly trustProxy?: readonly string[];
  readonly maxConnections?: number;
}

/**
 * Builds a Fastify server whose every error, also of the protocol, is a problem document, and whose bodies
 * are read as sent: nothing coerced, nothing dropped, nothing rounded. It does not listen.
 *
 * @param addRoutes adds every route, plugin and hook; afterwards each address refuses its other methods.
 */
export function createHttpApp(
  logger: FastifyBaseLogger,
  addRoutes: (app: HttpApp) => void,
  { trustProxy = [], maxConnections = MAX_CONNECTIONS }: HttpAppOptions = {},
): HttpApp {
  const protocolErrors = createProtocolErrors();
  const app: HttpApp = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Off where none is named: anybody can send X-Forwarded-For, and be limited under another's address.
    trustProxy: trustProxy.length > 0 && [...trustProxy],
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    http: {
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      // Node's own refusal has no body; ours is in the first hook.
      requireHostHeader: false,
    },
    // A closing server still answers what arrives on open connections: a refusal here would be a lost answer.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    genReqId: () => randomUUID(),
    // A body stays as it was sent: it is fingerprinted.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    clientErrorHandler: (error, socket) => protocolErrors.answer(error, socket),
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these, so the header is set here.
      void reply.header('x-request-id', request.id);
      void sendProblem(reply, refusalOf(request.raw) ?? toProblem(error, request));
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  protocolErrors.attach(app.server);
  // Methods that Node knows and Fastify does not: an address that is there refuses them as it does others.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  acceptStrictJson(app);
  measureRequests(app);

  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id);
    if (protocolErrors.isBehindTheLast(request.raw)) return reply.hijack();
    const refusal = refusalOf(request.raw);
    if (refusal !== undefined) throw refusal;
  });
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    // Before a body is read: whatever it holds, there is nothing here. After limits and headers, which hold here too.
    done(request.is404 ? new Problem(PROTOCOL_PROBLEMS['not-found']) : null);
  });
  limitConnections(app, maxConnections, () => unavailable('overloaded'));
  endConnectionsWhenClosing(app);
  app.setErrorHandler((error, request, reply) => {
    // Fastify closes where it read a body in vain; what is left of it is dropped, as after any other refusal.
    void reply.removeHeader('connection');
    return sendProblem(reply, toProblem(error, request));
  });

  const urls = new Set<string>();
  app.addHook('onRoute', ({ url }) => void urls.add(url));
  addRoutes(app);
  // Registered last, hence loaded when every route is known.
  void app.register((scope, _options, done) => {
    for (const url of [...urls]) refuseOtherMethods(scope, url);
    done();
  });
  return app;
}

/**
 * Lets the last answer on each connection be the last. Node and Fastify close connections that are idle
 * when a close begins, but keep one that was busy then for the whole keep-alive time.
 */
function endConnectionsWhenClosing(app: HttpApp): void {
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) void reply.header('connection', 'close');
    done(null, payload);
  });
}

/** Asks the router what an address takes: not every route of a plugin is told to `onRoute`. */
function refuseOtherMethods(app: FastifyInstance, url: string): void {
  const allowed = app.supportedMethods.filter((method) => app.hasRoute({ url, method }));
  const others = app.supportedMethods.filter((method) => !allowed.includes(method));
  app.route({
    url,
    method: others,
    exposeHeadRoute: false,
    schema: { hide: true },
    // Thrown before a body is read: whatever it holds, the method is wrong.
    onRequest: (_request, _reply, done) => {
      done(
        new Problem(PROTOCOL_PROBLEMS['method-not-allowed'], {
          headers: { allow: allowed.join(', ') },
        }),
      );
    },
    handler: () => undefined,
  });
}

/** Fastify's own errors that have a problem type of their own; its other 4xx are malformed requests. */
const FASTIFY_PROBLEMS: Readonly<Record<string, ProblemType>> = {
  FST_ERR_VALIDATION: PROTOCOL_PROBLEMS['validation-failed'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: PROTOCOL_PROBLEMS['unsupported-media-type'],
  FST_ERR_CTP_BODY_TOO_LARGE: PROTOCOL_PROBLEMS['body-too-large'],
  FST_ERR_CTP_EMPTY_JSON_BODY: PROTOCOL_PROBLEMS['malformed-json'],
  FST_ERR_NOT_FOUND: PROTOCOL_PROBLEMS['not-found'],
  FST_ERR_MAX_PARAM_LENGTH: PROTOCOL_PROBLEMS['not-found'],
};

/** Sorts whatever a route threw into the problem it answers; what nobody expected is a bare 500 and logged. */
function toProblem(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof Problem) {
    if (error.type.status >= 500)
      request.log.warn({ err: error }, 'answered with a server problem');
    return error;
  }
  const { code, statusCode, validation, validationContext, message } = error as FastifyError;
  if (error instanceof Overloaded) {
    request.log.warn({ err: error }, 'there is too much to do');
    return unavailable('overloaded', error);
  }
  // What has a status is Fastify's: a client that goes away while it sends is an ECONNRESET too.
  if (statusCode === undefined && isDatabaseUnavailable(error)) {
    request.log.warn({ err: error }, 'the database can not be reached');
    return unavailable('store-unavailable', error);
  }
  if (validation !== undefined) {
    // Neither a body nor a type, where a body is needed: Fastify has parsed nothing.
    const isUntyped = request.body === undefined && request.headers['content-type'] === undefined;
    if (validationContext === 'body' && isUntyped)
      return new Problem(PROTOCOL_PROBLEMS['unsupported-media-type']);
    const detail = `${validationContext ?? 'request'}${validation[0]?.instancePath ?? ''} ${validation[0]?.message ?? ''}`;
    return new Problem(PROTOCOL_PROBLEMS['validation-failed'], { detail: detail.trim() });
  }
  const type = FASTIFY_PROBLEMS[code];
  if (type !== undefined) return new Problem(type, { cause: error });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    request.log.info({ code, message }, 'malformed request');
    return new Problem(PROTOCOL_PROBLEMS['malformed-request'], { cause: error });
  }
  request.log.error({ err: error }, 'unexpected error');
  return new Problem(PROTOCOL_PROBLEMS['internal-error'], { cause: error });
}

/** A 503 that says when to come back. */
export function unavailable(slug: 'store-unavailable' | 'overloaded', cause?: unknown): Problem {
  return new Problem(PROTOCOL_PROBLEMS[slug], {
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    cause,
  });
}
