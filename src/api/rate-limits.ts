import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import type { HttpApp } from '../http/app.js';
import { PROBES } from '../http/connections.js';
import { Problem } from '../http/problem.js';
import { API_PROBLEMS } from './problems.js';

const MINUTE_MS = 60_000;

/** 20,000 callers are counted at a time; beyond that the one seen longest ago begins anew. */
const MAX_COUNTED = 20_000;

/** Counts requests in this process. Every method throws a Problem `rate-limited` where there were too many. */
export interface RateLimits {
  /** Counts a request of a client that is known, by client and address. */
  readonly countKnown: (request: FastifyRequest, client: string) => Promise<void>;
  /** Counts a request of nobody that is known, by address. */
  readonly countUnknown: (request: FastifyRequest) => Promise<void>;
  /** Refuses where there were too many of those, and counts nothing. */
  readonly refuseUnknown: (request: FastifyRequest) => Promise<void>;
}

/**
 * Limits what needs no token, addresses that are not there included, but for the probes; and counts for
 * those who know whose request it is.
 *
 * @param perMinute requests a client and address, and a stranger's address.
 */
export function addRateLimits(app: HttpApp, perMinute: number): RateLimits {
  const clients = new WeakMap<FastifyRequest, string>();
  const options = { max: perMinute, timeWindow: MINUTE_MS, cache: MAX_COUNTED };
  void app.register(rateLimit, { global: false, ...options });

  const limiter = (keyGenerator: (request: FastifyRequest) => string) => {
    // The plugin's functions are there once it is loaded, hence with the first request.
    let count: ReturnType<HttpApp['createRateLimit']> | undefined;
    return async (request: FastifyRequest, increment: boolean): Promise<void> => {
      count ??= app.createRateLimit({ ...options, keyGenerator });
      const counted = await count(request, { increment });
      if (!counted.isAllowed && counted.isExceeded) throw rateLimited(counted.ttlInSeconds);
    };
  };
  const known = limiter((request) => `${clients.get(request) ?? ''} ${normalizeIP(request.ip)}`);
  const unknown = limiter((request) => normalizeIP(request.ip));

  app.addHook('onRequest', async (request) => {
    const { url = '' } = request.routeOptions;
    // These need a token, hence count for themselves.
    if (!PROBES.has(url) && !url.startsWith('/orders')) await unknown(request, true);
  });
  return {
    countKnown: (request, client) => {
      clients.set(request, client);
      return known(request, true);
    },
    countUnknown: (request) => unknown(request, true),
    refuseUnknown: (request) => unknown(request, false),
  };
}

const rateLimited = (seconds: number): Problem =>
  new Problem(API_PROBLEMS['rate-limited'], {
    headers: { 'retry-after': String(Math.max(1, seconds)) },
  });
