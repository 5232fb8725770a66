import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type pg from 'pg';
import type { HttpApp } from '../http/app.js';
import { missingSearchAttributes } from '../temporal/search-attributes.js';
import { withinTimeLimit } from '../temporal/time-limit.js';

/** 2 s a check, all at once: an orchestrator's probe gives up after a few seconds itself. */
const CHECK_TIMEOUT_MS = 2_000;

/** 75 s: a worker polls again after a minute at most, while Temporal lists a dead one for five. */
const POLLER_AGE_MS = 75_000;

export interface HealthDependencies {
  readonly pool: pg.Pool;
  readonly client: Client;
  readonly namespace: string;
  readonly taskQueue: string;
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What is there, or what is missing. */
  readonly detail: string;
}

/** `GET /healthz`: the process answers. `GET /readyz`: so does all that an order needs. */
export function addHealthRoutes(app: HttpApp, dependencies: HealthDependencies): void {
  const isRecent = createRecency(POLLER_AGE_MS);
  app.get('/healthz', (_request, reply) => reply.send({ status: 'alive' }));

  app.get('/readyz', async (_request, reply) => {
    const checks = await Promise.all([
      check('postgres', () => checkPostgres(dependencies)),
      check('temporal', () => checkTemporal(dependencies)),
      check('search-attributes', () => checkSearchAttributes(dependencies)),
      check('worker', () => checkWorker(dependencies, isRecent)),
    ]);
    const ready = checks.every(({ ok }) => ok);
    return reply
      .code(ready ? 200 : 503)
      .headers({ 'cache-control': 'no-store', ...(ready ? {} : { 'retry-after': '1' }) })
      .send({ status: ready ? 'ready' : 'not-ready', checks });
  });
}

/** The message of a check that is not met; it is made by us, hence fit to be shown. */
class NotMet extends Error {}

async function check(name: string, look: () => Promise<string>): Promise<Check> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new NotMet(`no answer within ${CHECK_TIMEOUT_MS} ms`)),
      CHECK_TIMEOUT_MS,
    );
  });
  try {
    return { name, ok: true, detail: await Promise.race([look(), tooLate]) };
  } catch (error) {
    // Texts of drivers name hosts and users: they are not for everyone who can reach this address.
    return { name, ok: false, detail: error instanceof NotMet ? error.message : 'not reachable' };
  } finally {
    clearTimeout(timer);
  }
}

async function checkPostgres({ pool }: HealthDependencies): Promise<string> {
  // Tables of the first and of the newest migration: a database that is not migrated serves nobody.
  await pool.query('select from claims, client_tokens limit 1');
  return 'reachable and migrated';
}

async function checkTemporal({ client, namespace }: HealthDependencies): Promise<string> {
  await ask(client, () => client.workflowService.describeNamespace({ namespace }));
  return `namespace ${namespace} is reachable`;
}

async function checkSearchAttributes({ client, namespace }: HealthDependencies): Promise<string> {
  const missing = await ask(client, () => missingSearchAttributes(client.connection, namespace));
  if (missing.length > 0) throw new NotMet(`not registered: ${missing.join(', ')}`);
  return 'registered';
}

async function checkWorker(
  { client, namespace, taskQueue }: HealthDependencies,
  isRecent: (stampMs: number) => boolean,
): Promise<string> {
  const { pollers } = await ask(client, () =>
    client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    }),
  );
  const newest = Math.max(
    ...pollers.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000),
  );
  if (!isRecent(newest)) {
    throw new NotMet(`no worker has polled ${taskQueue} within ${POLLER_AGE_MS / 1_000} s`);
  }
  return `a worker polls ${taskQueue}`;
}

/**
 * Makes what tells whether the newest stamp of another machine's clock is recent.
 *
 * The age of a stamp is measured by when we saw it change: clocks of two machines may be hours apart, and
 * one that is set must not take a service out of its balancer. Only where we did not look for a while, as at
 * the start, the two clocks are compared.
 */
function createRecency(maxAgeMs: number): (stampMs: number) => boolean {
  let seen: { stampMs: number; since: number; lookedAt: number } | undefined;
  return (stampMs) => {
    const now = performance.now();
    if (seen === undefined || now - seen.lookedAt > maxAgeMs) {
      seen = { stampMs, since: now - (Date.now() - stampMs), lookedAt: now };
    }
    seen.lookedAt = now;
    if (stampMs > seen.stampMs) seen.since = now;
    // A lower one is no sign of life: that clock was set back, or whoever had the newest is forgotten.
    seen.stampMs = stampMs;
    return now - seen.since <= maxAgeMs;
  };
}

const ask = <T>(client: Client, call: () => Promise<T>): Promise<T> =>
  withinTimeLimit(client.connection, CHECK_TIMEOUT_MS, call);
