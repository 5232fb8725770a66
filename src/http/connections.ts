import type { Socket } from 'node:net';
import type { HttpApp } from './app.js';
import type { Problem } from './problem.js';

/** 10,000 open connections, some 200 MB where all have sent a request. One more than these is told to come back. */
export const MAX_CONNECTIONS = 10_000;

/** 1,000 connections that are answered though they are too many; beyond them Node hangs up without a word. */
const ANSWERED_CONNECTIONS = 1_000;

/** They come at a fixed rate, and must be answered when all else is refused: an orchestrator would end us else. */
export const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Lets so many connections be open; one too many is refused and closed, but for probes. */
export function limitConnections(app: HttpApp, max: number, refusal: () => Problem): void {
  const tooMany = new WeakSet<Socket>();
  let open = 0;
  app.server.maxConnections = max + ANSWERED_CONNECTIONS;
  app.server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => (open -= 1));
    if (open > max) tooMany.add(socket);
  });
  app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    const isProbe = PROBES.has(routeOptions.url ?? '');
    done(tooMany.has(raw.socket) && !isProbe ? refusal() : undefined);
  });
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (tooMany.has(raw.socket)) void reply.header('connection', 'close');
    done(null, payload);
  });
}
