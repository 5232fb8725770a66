import type { FastifyReply } from 'fastify';
import { replays } from '../../metrics/http.js';
import type { Answer } from './claims.js';

/**
 * Sends a saved answer byte for byte: its status, its body and the headers it was saved with; those of the
 * exchange, such as the request id, are new.
 *
 * @param replayed whether this request is another than the one that started the workflow.
 */
export function sendAnswer(reply: FastifyReply, answer: Answer, replayed: boolean): FastifyReply {
  if (replayed) {
    replays.inc();
    void reply.header('idempotent-replayed', 'true');
  }
  return reply.code(answer.status).headers(answer.headers).send(answer.body);
}
