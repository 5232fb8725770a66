import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Environment } from '../config.js';
import { callsToEnd } from './time-limit.js';

/** 100 ms, then doubling to one second: a Temporal that is back must be used again at once, not in two minutes. */
const FIRST_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 1_000;

/**
 * The way to Temporal as `@temporalio/envconfig` defines it: address, namespace, TLS and API key from
 * `TEMPORAL_…` variables and a profile file. The embedded stack points `TEMPORAL_CONFIG_FILE` to an empty
 * file, so that nobody's own profile leads its roles elsewhere.
 */
export function temporalConfig(env: Environment): ClientConnectConfig {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return loadClientConnectConfig({ overrideEnvVars });
}

/** 5 s for calls that were given up, which end with their next retry; a drain must not last longer for them. */
const CLOSE_LIMIT_MS = 5_000;

export interface Temporal {
  readonly client: Client;
  readonly namespace: string;
  readonly close: () => Promise<void>;
}

/**
 * Makes a client that connects at its first call, and again after every loss.
 *
 * So a process starts, answers what it can and says "not ready" while Temporal is away.
 *
 * @param config what `temporalConfig` read.
 */
export function connectTemporal(config: ClientConnectConfig): Temporal {
  const connection = Connection.lazy({
    ...config.connectionOptions,
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': FIRST_RECONNECT_MS,
      'grpc.max_reconnect_backoff_ms': MAX_RECONNECT_MS,
    },
  });
  const namespace = config.namespace ?? 'default';
  return {
    client: new Client({ connection, namespace }),
    namespace,
    close: async () => {
      await callsToEnd(connection, CLOSE_LIMIT_MS);
      await connection.close();
    },
  };
}
