import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** Makes what tells whether a request has this bearer token. */
export function createTokenCheck(token: string): (request: FastifyRequest) => boolean {
  const expected = digest(token);
  return ({ headers }) => {
    const sent = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    return sent !== undefined && timingSafeEqual(digest(sent), expected);
  };
}

/** Of one length, whatever was sent: the comparison's time then tells nothing. */
const digest = (token: string): Buffer => createHash('sha256').update(token).digest();
