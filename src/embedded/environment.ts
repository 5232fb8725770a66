import { resolve } from 'node:path';
import { parseConfig } from '../config.js';
import type { Config, Environment } from '../config.js';

/** What the embedded stack sets where the user doesn't: it is for one machine, and for trying things out. */
const DEFAULTS = {
  FAULTS: 'on',
  // Lets thousands of parallel posts through: whoever tries out a race must not be told to slow down.
  RATE_LIMIT_PER_MINUTE: '1000000',
};

/** Known to all the world, hence only for a stack that the world can't reach. */
const LOOPBACK_DEFAULTS = {
  API_KEYS: 'demo:demo-token',
  OPERATOR_KEYS: 'ops:ops-token',
};

/** Handed to the roles as they are set. Those that say where the servers are come from the launcher. */
const PASSED_ON = [
  'PAYMENT_TOKEN',
  'INVENTORY_TOKEN',
  'IDEMPOTENCY_TTL_SECONDS',
  'STEP_TIMEOUT_MS',
  'STEP_DEADLINE_MS',
  'WAIT_SECONDS',
  'RECONCILE_INTERVAL_SECONDS',
  'ATTENTION_AFTER_SECONDS',
  'PURGE_INTERVAL_SECONDS',
  'API_KEYS',
  'OPERATOR_KEYS',
  'RATE_LIMIT_PER_MINUTE',
  'TRUST_PROXY',
  'FAULTS',
  'METRICS_TOKEN',
];

export interface StackSettings {
  readonly config: Config;
  /** Absolute. */
  readonly dataDir: string;
  /** The host by which the roles are reached, ready for a URL. */
  readonly host: string;
  readonly env: Environment;
}

export interface ServerAddresses {
  readonly databaseUrl: string;
  readonly paymentDatabaseUrl: string;
  readonly inventoryDatabaseUrl: string;
  readonly temporalAddress: string;
  readonly temporalUiUrl: string | undefined;
  /** A file with an empty default profile. */
  readonly temporalConfigFile: string;
}

/** Reads the environment with the embedded stack's defaults. @throws ConfigError that names what is wrong. */
export function stackSettings(userEnv: Environment): StackSettings {
  // A variable set to nothing counts as unset, as everywhere.
  const set = Object.fromEntries(
    Object.entries(userEnv).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
  const local = isLoopback(set['HOST'] ?? '127.0.0.1');
  const env = { ...DEFAULTS, ...(local && LOOPBACK_DEFAULTS), ...set };
  const config = parseConfig(env);
  return { config, dataDir: resolve(config.dataDir), host: urlHost(config.host), env };
}

/**
 * What a further role needs to join the stack; also what the stack's own roles get.
 *
 * The Temporal variables outdo whatever the shell or a profile in the home folder says: an embedded stack must
 * not join a namespace that they happen to name.
 */
export function joiningEnvironment(
  { config, dataDir, host, env }: StackSettings,
  servers: ServerAddresses,
): Record<string, string> {
  const passed = Object.fromEntries(
    PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  ) as Record<string, string>;
  const port = (name: 'paymentPort' | 'inventoryPort'): string => `http://${host}:${config[name]}`;
  const uiUrl = config.temporalUiUrl ?? servers.temporalUiUrl;
  return {
    ...passed,
    ...temporalEnvironment(config, env),
    HOST: config.host,
    PORT: String(config.port),
    PAYMENT_PORT: String(config.paymentPort),
    INVENTORY_PORT: String(config.inventoryPort),
    DATA_DIR: dataDir,
    DATABASE_URL: servers.databaseUrl,
    PAYMENT_DATABASE_URL: servers.paymentDatabaseUrl,
    INVENTORY_DATABASE_URL: servers.inventoryDatabaseUrl,
    PAYMENT_URL: env['PAYMENT_URL'] ?? port('paymentPort'),
    INVENTORY_URL: env['INVENTORY_URL'] ?? port('inventoryPort'),
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TEMPORAL_NAMESPACE: config.temporalNamespace,
    TEMPORAL_CONFIG_FILE: servers.temporalConfigFile,
    TEMPORAL_PROFILE: 'default',
    TASK_QUEUE: config.taskQueue,
    LOG_LEVEL: config.logLevel,
    ...(uiUrl !== undefined && { TEMPORAL_UI_URL: uiUrl }),
  };
}

/** The whole environment of a role: the user's, without what it says of Temporal, and with what joins the stack. */
export function roleEnvironment(
  env: Environment,
  joining: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !entry[0].startsWith('TEMPORAL_'),
  );
  return { ...Object.fromEntries(kept), ...joining };
}

/** TLS and API key are for somebody else's server; the embedded one has neither. */
function temporalEnvironment(config: Config, env: Environment): Record<string, string> {
  if (config.temporalAddress === undefined) return { TEMPORAL_TLS: 'false' };
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[0].startsWith('TEMPORAL_') && entry[1] !== undefined,
    ),
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
