import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import { Problem, PROBLEM_CONTENT_TYPE, problemBody } from './problem.js';
import type { ProblemType } from './problem.js';
import { PROTOCOL_PROBLEMS } from './protocol-problems.js';

/** Errors of Node's HTTP parser, before there is a request to reply to. */
const PARSER_PROBLEMS: Readonly<Record<string, ProblemType>> = {
  HPE_HEADER_OVERFLOW: PROTOCOL_PROBLEMS['header-too-large'],
  ERR_HTTP_REQUEST_TIMEOUT: PROTOCOL_PROBLEMS['request-timeout'],
};

/**
 * Answers what Node's parser refuses with a problem document, on the bare socket.
 *
 * Not while an earlier request on the same connection waits for its answer: the client would take ours for
 * that one, and a 400 for an order that goes through. The connection is cut then.
 */
export function createProtocolErrors() {
  const openAnswers = new WeakMap<Socket, Set<ServerResponse>>();
  return {
    /** To be told of each request that has got as far as having an answer. */
    track(socket: Socket, answer: ServerResponse): void {
      const open = openAnswers.get(socket) ?? new Set();
      openAnswers.set(socket, open.add(answer));
      answer.once('close', () => open.delete(answer));
    },

    answer(error: ConnectionError, socket: Socket): void {
      const open = [...(openAnswers.get(socket) ?? [])];
      // Of a request that is still coming in, such as one that timed out, the answer is ours to give.
      const isForAnother = open.some((answer) => answer.headersSent || answer.req.complete);
      if (error.code === 'ECONNRESET' || !socket.writable || isForAnother) {
        socket.destroy();
        return;
      }
      socket.end(document(PARSER_PROBLEMS[error.code] ?? PROTOCOL_PROBLEMS['malformed-request']));
    },
  };
}

function document(type: ProblemType): string {
  const requestId = randomUUID();
  const body = problemBody(new Problem(type), requestId);
  return [
    `HTTP/1.1 ${type.status} ${STATUS_CODES[type.status] ?? ''}`,
    `content-type: ${PROBLEM_CONTENT_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
