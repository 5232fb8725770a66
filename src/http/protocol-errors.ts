import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ConnectionError } from 'fastify';
import { Problem, PROBLEM_CONTENT_TYPE, problemBody } from './problem.js';
import { PROTOCOL_PROBLEMS } from './protocol-problems.js';
import { refusalOf } from './well-formed.js';

/**
 * 2 s for a client to read why its connection ends. Closed at once, with bytes of its still unread, it would be
 * reset, and the client might never see the answer.
 */
const LINGER_MS = 2_000;

/** Errors of Node's HTTP parser, before there is a request to reply to; all others are malformed requests. */
const PARSER_PROBLEMS: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: new Problem(PROTOCOL_PROBLEMS['header-too-large']),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new Problem(PROTOCOL_PROBLEMS['body-too-large']),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem(PROTOCOL_PROBLEMS['request-timeout']),
};

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Answers what Node's parser refuses with a problem document, on the bare socket.
 *
 * Each request gets one answer, in the order of the requests: a client takes the first one it reads for that of
 * its first request, and a 400 in the wrong place for an order that goes through.
 */
export function createProtocolErrors() {
  const exchanges = new WeakMap<Duplex, Exchange[]>();
  const ending = new WeakSet<Duplex>();
  /** Connections that have had their last request, and the requests behind it. */
  const ended = new WeakSet<Duplex>();
  const behind = new WeakSet<IncomingMessage>();

  return {
    /** Makes every event of the server that Node would answer by itself, or not at all, one of ours. */
    attach(server: Server): void {
      // Node drops what is above its usual 2,000 without a word, and a second key with it; 16 KiB bound them.
      server.maxHeadersCount = 0;
      // A client that has sent all it wants to send may say so, and still read its answer.
      Object.assign(server, { httpAllowHalfOpen: true });
      server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
        const { socket } = request;
        const open = (exchanges.get(socket) ?? []).filter((exchange) => !isOver(exchange));
        exchanges.set(socket, [...open, { request, response }]);
        if (ended.has(socket)) behind.add(request);
        else if (!response.shouldKeepAlive || refusalOf(request) !== undefined) ended.add(socket);
      });
      // Node answers 417 by itself; as a request it is refused like others that are not well-formed.
      server.on('checkExpectation', (request, response) => {
        server.emit('request', request, response);
      });
      server.on('connect', (_request, socket) => {
        const allow = { headers: { allow: '' } };
        void end(socket, new Problem(PROTOCOL_PROBLEMS['method-not-allowed'], allow));
      });
    },

    /**
     * RFC 9112, 9.6: what follows a request that ends its connection is not to be processed. Node reads it, and
     * its answer would be lost.
     */
    isBehindTheLast: (request: IncomingMessage): boolean => behind.has(request),

    answer(error: ConnectionError, socket: Socket): void {
      if (error.code === 'ECONNRESET') socket.destroy();
      else void end(socket, PARSER_PROBLEMS[error.code] ?? malformed);
    },
  };

  /** Lets the requests before have their answers; then gives this one, and no more. */
  async function end(socket: Duplex, problem: Problem): Promise<void> {
    if (ending.has(socket)) return;
    ending.add(socket);
    const open = (exchanges.get(socket) ?? []).filter((exchange) => !isOver(exchange));
    const broken = open.find(({ request }) => !request.complete);
    const earlier = open.filter((exchange) => exchange !== broken);
    await Promise.allSettled(earlier.map(({ response }) => finished(response)));
    // What was refused before it had come in whole has its answer.
    const isAnswered = broken?.response.headersSent === true;
    if (socket.writable) socket.end(isAnswered ? '' : document(problem));
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }
}

const malformed = new Problem(PROTOCOL_PROBLEMS['malformed-request']);

const isOver = ({ request, response }: Exchange): boolean =>
  request.complete && response.writableFinished;

function document(problem: Problem): string {
  const { status } = problem.type;
  const requestId = randomUUID();
  const body = problemBody(problem, requestId);
  const headers = {
    'content-type': PROBLEM_CONTENT_TYPE,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-request-id': requestId,
    connection: 'close',
    ...problem.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', body].join('\r\n');
}
