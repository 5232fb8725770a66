import { createTokenCheck } from '../http/bearer-token.js';
import type { HttpApp } from '../http/app.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import { metricsText, registry } from './registry.js';

/** More metrics of this process, as text. */
export type MetricsSource = () => Promise<string>;

export interface MetricsRouteOptions {
  /** Demanded as a bearer token; undefined where everybody may look. */
  readonly token: string | undefined;
  readonly sources?: readonly MetricsSource[];
}

/**
 * `GET /metrics`: the metrics of this process in Prometheus' text format. A source that can't be had is left out and
 * logged: the others are needed most when something is away.
 */
export function addMetricsRoute(app: HttpApp, { token, sources = [] }: MetricsRouteOptions): void {
  const isAllowed = token === undefined ? () => true : createTokenCheck(token);
  app.get('/metrics', async (request, reply) => {
    if (!isAllowed(request)) {
      const headers = { 'www-authenticate': 'Bearer' };
      throw new Problem(PROTOCOL_PROBLEMS.unauthorized, { headers });
    }
    const texts = await Promise.all(
      [metricsText, ...sources].map((source) =>
        source().catch((err: unknown) => {
          request.log.warn({ err }, 'some metrics can not be had now');
          return '';
        }),
      ),
    );
    return reply
      .headers({ 'cache-control': 'no-store', 'content-type': registry.contentType })
      .send(
        texts
          .map((text) => text.trimEnd())
          .join('\n')
          .trim() + '\n',
      );
  });
}
