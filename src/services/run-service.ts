import type { FastifyBaseLogger } from 'fastify';
import { createPool } from '../postgres/pool.js';
import { serve } from '../http/serve.js';
import type { HttpApp } from '../http/app.js';
import type { ServiceDeps } from './service-app.js';

/** 20 connections: a call takes one for a few milliseconds, so that is thousands of calls a second. */
const POOL_SIZE = 20;

export interface ServiceProcess {
  readonly role: 'payment' | 'inventory';
  readonly logger: FastifyBaseLogger;
  readonly databaseUrl: string;
  readonly host: string;
  readonly port: number;
  readonly portVariable: string;
  readonly token: string | undefined;
  readonly metricsToken: string | undefined;
  readonly faults: boolean;
  readonly buildApp: (deps: ServiceDeps) => HttpApp;
}

/** Runs one service until a signal comes; then finishes what it has, but drops the calls that are held. */
export async function runService(service: ServiceProcess): Promise<void> {
  const { role, logger, token, metricsToken, faults, host, port, portVariable } = service;
  const pool = createPool({
    connectionString: service.databaseUrl,
    max: POOL_SIZE,
    applicationName: `order-saga ${role}`,
    onIdleError: (err) => logger.warn({ err }, 'an idle database connection was lost'),
  });
  const app = service.buildApp({ logger, pool, token, metricsToken, faults });
  await serve(app, { host, port, portVariable, close: () => pool.end() });
}
