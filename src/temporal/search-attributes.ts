import { setTimeout } from 'node:timers/promises';
import { isGrpcServiceError } from '@temporalio/client';
import type { ConnectionLike } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { FastifyBaseLogger } from 'fastify';
import { ORDER_ID_ATTRIBUTE, ORDER_STATUS_ATTRIBUTE } from '../domain/place-order.js';
import { withinTimeLimit } from './time-limit.js';

/** All that we search for; a start that names one the server does not know is refused. */
export const SEARCH_ATTRIBUTES = [ORDER_ID_ATTRIBUTE, ORDER_STATUS_ATTRIBUTE] as const;

const { INDEXED_VALUE_TYPE_KEYWORD } = proto.temporal.api.enums.v1.IndexedValueType;

/** 5 s a call: the first call on a connection also makes it. */
const CALL_TIMEOUT_MS = 5_000;

/** gRPC's ALREADY_EXISTS: another process was first. */
const NOT_NEW: ReadonlySet<number> = new Set([6]);

/** What to run where a role may not register search attributes, such as on Temporal Cloud. */
export function registerCommand(namespace: string): string {
  const flags = SEARCH_ATTRIBUTES.map((name) => `--name ${name} --type Keyword`).join(' ');
  return `temporal operator search-attribute create --namespace ${namespace} ${flags}`;
}

/**
 * Lists our search attributes that the namespace lacks.
 *
 * @throws Error where one exists with another type: that can only be mended by hand.
 */
export async function missingSearchAttributes(
  connection: ConnectionLike,
  namespace: string,
): Promise<readonly string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  for (const name of SEARCH_ATTRIBUTES) {
    const type = customAttributes[name];
    if (type !== undefined && type !== INDEXED_VALUE_TYPE_KEYWORD) {
      throw new Error(`The search attribute ${name} exists, but not with the type Keyword.`);
    }
  }
  return SEARCH_ATTRIBUTES.filter((name) => customAttributes[name] === undefined);
}

/**
 * Registers our search attributes where they are missing. Safe when several processes start at once.
 *
 * A server that keeps them in Postgres caches them for up to a minute, so a start may still be refused
 * for a while after this has returned.
 */
export async function registerSearchAttributes(
  connection: ConnectionLike,
  namespace: string,
): Promise<void> {
  await withinTimeLimit(connection, CALL_TIMEOUT_MS, async () => {
    const missing = await missingSearchAttributes(connection, namespace);
    if (missing.length === 0) return;
    const searchAttributes = Object.fromEntries(
      missing.map((name) => [name, INDEXED_VALUE_TYPE_KEYWORD]),
    );
    try {
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    } catch (error) {
      if (!(isGrpcServiceError(error) && NOT_NEW.has(error.code))) throw error;
    }
  });
}

/** 2 s between attempts: a Temporal that starts beside us is there in seconds. */
const RETRY_MS = 2_000;

/** gRPC's PERMISSION_DENIED, UNIMPLEMENTED and UNAUTHENTICATED: this server will never let us. */
const NOT_FOR_US: ReadonlySet<number> = new Set([7, 12, 16]);

/**
 * Registers our search attributes however long it takes, for a process that starts meanwhile. Where it is
 * not allowed to, it says which command does it, and stops trying.
 */
export async function keepRegistering(
  connection: ConnectionLike,
  namespace: string,
  logger: Pick<FastifyBaseLogger, 'warn' | 'error'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await registerSearchAttributes(connection, namespace);
      return;
    } catch (err) {
      if (isGrpcServiceError(err) && NOT_FOR_US.has(err.code)) {
        const command = registerCommand(namespace);
        logger.error({ err }, `may not register the search attributes; run: ${command}`);
        return;
      }
      logger.warn({ err }, `can not register the search attributes: again in ${RETRY_MS} ms`);
      await setTimeout(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
