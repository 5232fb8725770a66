import { createHash, timingSafeEqual } from 'node:crypto';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import type { HttpApp } from '../http/app.js';

/** A probe has no token, and learns nothing from these. */
const OPEN_ROUTES = new Set(['/healthz', '/readyz']);

/** Demands a bearer token on every address but the two probes, unknown addresses included. */
export function demandToken(app: HttpApp, token: string): void {
  const expected = digest(token);
  app.addHook('onRequest', (request, _reply, done) => {
    const sent = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const isOpen = OPEN_ROUTES.has(request.routeOptions.url ?? '');
    if (isOpen || (sent !== undefined && timingSafeEqual(digest(sent), expected))) {
      done();
      return;
    }
    const headers = { 'www-authenticate': 'Bearer' };
    done(new Problem(PROTOCOL_PROBLEMS.unauthorized, { headers }));
  });
}

/** Of one length, whatever was sent: the comparison's time then tells nothing. */
const digest = (token: string): Buffer => createHash('sha256').update(token).digest();
