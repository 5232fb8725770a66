import { createTokenCheck } from '../http/bearer-token.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import { PROBES } from '../http/connections.js';
import type { HttpApp } from '../http/app.js';

/** Demands a bearer token on every address but those of probes, unknown addresses included. */
export function demandToken(app: HttpApp, token: string): void {
  const isAllowed = createTokenCheck(token);
  app.addHook('onRequest', (request, _reply, done) => {
    // A probe has no token, and learns nothing from these.
    if (PROBES.has(request.routeOptions.url ?? '') || isAllowed(request)) {
      done();
      return;
    }
    const headers = { 'www-authenticate': 'Bearer' };
    done(new Problem(PROTOCOL_PROBLEMS.unauthorized, { headers }));
  });
}
