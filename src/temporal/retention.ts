import type { Client } from '@temporalio/client';
import type { FastifyBaseLogger } from 'fastify';
import { withinTimeLimit } from './time-limit.js';

/** 10 s: one call, at start. */
const CALL_TIMEOUT_MS = 10_000;

/**
 * Warns where an answer is kept longer than Temporal remembers the workflow that gave it: should the row be
 * lost in between, the same key would make a second order.
 */
export async function warnOfShortRetention(
  client: Client,
  namespace: string,
  ttlSeconds: number,
  logger: Pick<FastifyBaseLogger, 'warn'>,
): Promise<void> {
  try {
    const { config } = await withinTimeLimit(client.connection, CALL_TIMEOUT_MS, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
    const retentionSeconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    if (retentionSeconds >= ttlSeconds) return;
    logger.warn(
      { ttlSeconds, retentionSeconds },
      `IDEMPOTENCY_TTL_SECONDS is above the retention of the namespace; run: temporal operator namespace update --namespace ${namespace} --retention ${ttlSeconds}s`,
    );
  } catch (err) {
    logger.warn({ err }, 'could not compare IDEMPOTENCY_TTL_SECONDS with the retention');
  }
}
