import { isIP } from 'node:net';
import type { Limits } from './domain/place-order.js';

/** A bearer token and whose it is. */
export interface Credential {
  /** 1–64 of `[A-Za-z0-9._-]`: a tenant, or an operator's name. */
  readonly name: string;
  readonly token: string;
}

/** Everything the environment can set. `.env.example` explains each variable. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly paymentPort: number;
  readonly inventoryPort: number;
  /** Of a worker alone; 0 is any free port. */
  readonly workerPort: number;
  readonly dataDir: string;
  readonly temporalPort: number;
  readonly temporalUiPort: number;
  readonly postgresPort: number;
  readonly databaseUrl: string | undefined;
  readonly paymentDatabaseUrl: string | undefined;
  readonly inventoryDatabaseUrl: string | undefined;
  readonly paymentUrl: string;
  readonly inventoryUrl: string;
  readonly paymentToken: string | undefined;
  readonly inventoryToken: string | undefined;
  /** Set when somebody runs the Temporal server for us. */
  readonly temporalAddress: string | undefined;
  readonly temporalNamespace: string;
  /** A `temporal` binary to start the embedded server from. */
  readonly temporalCliPath: string | undefined;
  /** Which build a worker says that it is; undefined leaves it unversioned. */
  readonly workerVersion: { readonly deploymentName: string; readonly buildId: string } | undefined;
  /** Base address of the Temporal Web UI for links. */
  readonly temporalUiUrl: string | undefined;
  readonly taskQueue: string;
  readonly idempotencyTtlSeconds: number;
  readonly stepTimeoutMs: number;
  readonly stepDeadlineMs: number;
  readonly waitSeconds: number;
  readonly reconcileIntervalSeconds: number;
  readonly attentionAfterSeconds: number;
  readonly purgeIntervalSeconds: number;
  readonly apiKeys: readonly Credential[];
  readonly operatorKeys: readonly Credential[];
  readonly rateLimitPerMinute: number;
  /** Addresses and subnets of proxies whose `X-Forwarded-For` is believed; none unless set. */
  readonly trustProxy: readonly string[];
  /** Whether the embedded stack runs API and worker as two processes instead of one. */
  readonly splitRoles: boolean;
  /** Whether the downstream services open their fault endpoints. */
  readonly faults: boolean;
  /** Demanded as a bearer token at `/metrics`; undefined where everybody may look. */
  readonly metricsToken: string | undefined;
  readonly logLevel: string;
  /** What the command line calls, and the tokens that it shows there. */
  readonly orderSagaUrl: string | undefined;
  readonly orderSagaToken: string | undefined;
  readonly orderSagaOperatorToken: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Thrown with one line for each variable that is wrong. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`The environment is not usable:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const MAX_PORT = 65_535;
/** The longest delay a Node timer takes, some 24 days. */
const MAX_TIMER_MS = 2_147_483_647;
const YEAR_SECONDS = 31_536_000;

/**
 * Reads and checks the whole environment, once, at start. The only reader of it.
 *
 * @throws ConfigError that names every wrong variable, its value and what it may be.
 */
export function parseConfig(env: Environment): Config {
  const problems: string[] = [];
  const text = (name: string): string | undefined => {
    const value = env[name]?.trim();
    return value === '' ? undefined : value;
  };
  const integer = (name: string, fallback: number, min: number, max: number): number => {
    const value = text(name);
    if (value === undefined) return fallback;
    const number = Number(value);
    if (/^[0-9]+$/.test(value) && number >= min && number <= max) return number;
    problems.push(`${name} must be an integer from ${min} to ${max}, not "${value}".`);
    return fallback;
  };
  const url = (name: string, protocols: readonly string[]): string | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    // The value may hold a password, so it is not repeated.
    problems.push(`${name} must be a URL that begins with ${protocols.join(' or ')}//.`);
    return undefined;
  };
  const oneOf = (name: string, fallback: string, allowed: readonly string[]): string => {
    const value = text(name) ?? fallback;
    if (!allowed.includes(value)) {
      problems.push(`${name} must be one of ${allowed.join(', ')}, not "${value}".`);
    }
    return value;
  };
  const credentials = (name: string): readonly Credential[] =>
    (text(name) ?? '')
      .split(',')
      .map((pair) => pair.trim())
      .filter((pair) => pair !== '')
      .flatMap((pair, index) => {
        const match = /^([A-Za-z0-9._-]{1,64}):([\x21-\x7e]+)$/.exec(pair);
        if (match?.[1] !== undefined && match[2] !== undefined) {
          return [{ name: match[1], token: match[2] }];
        }
        // The pair may hold a token, so it is not repeated.
        problems.push(
          `${name}: pair ${index + 1} must be name:token, the name 1–64 of A–Z a–z 0–9 . _ -`,
        );
        return [];
      });
  const addresses = (name: string): readonly string[] => {
    const values = (text(name) ?? '').split(',').flatMap((value) => value.trim() || []);
    const wrong = values.find((value) => !isAddressOrSubnet(value));
    if (wrong !== undefined) {
      problems.push(`${name} must be addresses or subnets such as 10.0.0.0/8, not "${wrong}".`);
    }
    return values;
  };
  const workerVersion = (): Config['workerVersion'] => {
    const deploymentName = text('TEMPORAL_DEPLOYMENT_NAME');
    const buildId = text('TEMPORAL_WORKER_BUILD_ID');
    if (deploymentName !== undefined && buildId !== undefined) return { deploymentName, buildId };
    if (deploymentName !== buildId) {
      problems.push('TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID go together: set both.');
    }
    return undefined;
  };
  const http = ['http:', 'https:'];
  const postgres = ['postgres:', 'postgresql:'];
  const port = (name: string, fallback: number): number => integer(name, fallback, 1, MAX_PORT);
  const host = text('HOST') ?? '127.0.0.1';
  const paymentPort = port('PAYMENT_PORT', 3001);
  const inventoryPort = port('INVENTORY_PORT', 3002);

  const config: Config = {
    host,
    port: port('PORT', 3000),
    paymentPort,
    inventoryPort,
    workerPort: integer('WORKER_PORT', 0, 0, MAX_PORT),
    dataDir: text('DATA_DIR') ?? '.data',
    temporalPort: port('TEMPORAL_PORT', 7233),
    temporalUiPort: port('TEMPORAL_UI_PORT', 8233),
    postgresPort: port('POSTGRES_PORT', 54_329),
    databaseUrl: url('DATABASE_URL', postgres),
    paymentDatabaseUrl: url('PAYMENT_DATABASE_URL', postgres),
    inventoryDatabaseUrl: url('INVENTORY_DATABASE_URL', postgres),
    paymentUrl: url('PAYMENT_URL', http) ?? `http://127.0.0.1:${paymentPort}`,
    inventoryUrl: url('INVENTORY_URL', http) ?? `http://127.0.0.1:${inventoryPort}`,
    paymentToken: text('PAYMENT_TOKEN'),
    inventoryToken: text('INVENTORY_TOKEN'),
    temporalAddress: text('TEMPORAL_ADDRESS'),
    temporalNamespace: text('TEMPORAL_NAMESPACE') ?? 'default',
    temporalCliPath: text('TEMPORAL_CLI_PATH'),
    workerVersion: workerVersion(),
    temporalUiUrl: url('TEMPORAL_UI_URL', http),
    taskQueue: text('TASK_QUEUE') ?? 'orders',
    idempotencyTtlSeconds: integer('IDEMPOTENCY_TTL_SECONDS', 86_400, 1, YEAR_SECONDS),
    stepTimeoutMs: integer('STEP_TIMEOUT_MS', 10_000, 1, MAX_TIMER_MS),
    stepDeadlineMs: integer('STEP_DEADLINE_MS', 300_000, 1, MAX_TIMER_MS),
    waitSeconds: integer('WAIT_SECONDS', 10, 0, 60),
    reconcileIntervalSeconds: integer('RECONCILE_INTERVAL_SECONDS', 20, 1, YEAR_SECONDS),
    attentionAfterSeconds: integer('ATTENTION_AFTER_SECONDS', 900, 1, YEAR_SECONDS),
    purgeIntervalSeconds: integer('PURGE_INTERVAL_SECONDS', 3_600, 1, YEAR_SECONDS),
    apiKeys: credentials('API_KEYS'),
    operatorKeys: credentials('OPERATOR_KEYS'),
    rateLimitPerMinute: integer('RATE_LIMIT_PER_MINUTE', 600, 1, 1_000_000_000),
    trustProxy: addresses('TRUST_PROXY'),
    splitRoles: oneOf('SPLIT_ROLES', 'off', ['on', 'off']) === 'on',
    faults: oneOf('FAULTS', 'off', ['on', 'off']) === 'on',
    metricsToken: text('METRICS_TOKEN'),
    logLevel: oneOf('LOG_LEVEL', 'info', LOG_LEVELS),
    orderSagaUrl: url('ORDER_SAGA_URL', http)?.replace(/\/+$/, ''),
    orderSagaToken: text('ORDER_SAGA_TOKEN'),
    orderSagaOperatorToken: text('ORDER_SAGA_OPERATOR_TOKEN'),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function isAddressOrSubnet(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (prefix === undefined) return bits > 0;
  return rest.length === 0 && /^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= bits;
}

/** Reads the process's own environment. On a mistake it says so on standard error and ends the process. */
export function configOfProcess(): Config {
  try {
    return parseConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

/** The limits that every order takes along in its workflow's input. */
export function limitsOf(
  config: Pick<
    Config,
    'stepTimeoutMs' | 'stepDeadlineMs' | 'attentionAfterSeconds' | 'idempotencyTtlSeconds'
  >,
): Limits {
  return {
    stepTimeoutMs: config.stepTimeoutMs,
    stepDeadlineMs: config.stepDeadlineMs,
    attentionAfterSeconds: config.attentionAfterSeconds,
    claimTtlSeconds: config.idempotencyTtlSeconds,
  };
}

/** For libraries that read variables of their own; ours are all in `Config`. */
export const processEnvironment = (): Environment => process.env;

/** A variable a role can't do without. @throws ConfigError that names it. */
export function required(name: string, value: string | undefined): string {
  if (value === undefined) throw new ConfigError([`${name} must be set for this role.`]);
  return value;
}
