import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseConfig } from '../config.js';
import type { Config, Credential, Environment } from '../config.js';
import { roleEnvironment } from '../embedded/environment.js';
import { readStack } from '../embedded/stack-file.js';
import { CommandFailure, EXIT } from './exit-codes.js';

/** Where the servers are that a command is about. */
export interface Surroundings {
  readonly config: Config;
  /** The environment of a role there, for libraries that read it themselves. */
  readonly env: Environment;
  /** Base address of the API. */
  readonly api: string;
  /** The data folder of the stack that was found; undefined where the environment says where all is. */
  readonly stackFolder: string | undefined;
}

/** Whoever sets one of these speaks of servers elsewhere: what a folder here says of its own is then no help. */
const SAYS_WHERE = ['ORDER_SAGA_URL', 'DATABASE_URL', 'TEMPORAL_ADDRESS'];

/**
 * Takes the environment as it is where it says where the servers are; else that of the stack on DATA_DIR.
 *
 * @throws ConfigError, CommandFailure where neither knows an API.
 */
export async function findSurroundings(env: Environment): Promise<Surroundings> {
  const config = parseConfig(env);
  if (SAYS_WHERE.some((name) => (env[name] ?? '').trim() !== '')) {
    const api = config.orderSagaUrl ?? `http://127.0.0.1:${config.port}`;
    return { config, env, api, stackFolder: undefined };
  }
  const folder = resolve(config.dataDir);
  const stack = await readStack(await realpath(folder).catch(() => folder));
  const api = stack?.roles.api?.url;
  if (stack === undefined || api === undefined) {
    throw new CommandFailure(EXIT.usage, `No stack runs on ${config.dataDir}.`, {
      todo: 'Start one here with "npm start", or set ORDER_SAGA_URL and ORDER_SAGA_TOKEN.',
    });
  }
  const joined = roleEnvironment(env, stack.env);
  return { config: parseConfig(joined), env: joined, api, stackFolder: stack.dataDir };
}

/** Whose token a call shows. */
export type Caller = 'tenant' | 'operator';

/**
 * The token for a call: the one that is set, or else the first of the stack on this machine.
 *
 * @throws CommandFailure where there is none.
 */
export function credentialOf({ config, stackFolder }: Surroundings, caller: Caller): Credential {
  const isTenant = caller === 'tenant';
  const token = isTenant ? config.orderSagaToken : config.orderSagaOperatorToken;
  const keys = isTenant ? config.apiKeys : config.operatorKeys;
  if (token !== undefined) {
    return { token, name: keys.find((key) => key.token === token)?.name ?? '' };
  }
  const [first] = stackFolder === undefined ? [] : keys;
  if (first !== undefined) return first;
  const variable = isTenant ? 'ORDER_SAGA_TOKEN' : 'ORDER_SAGA_OPERATOR_TOKEN';
  throw new CommandFailure(
    EXIT.usage,
    `No token of ${isTenant ? 'a tenant' : 'an operator'} is known.`,
    {
      todo: `Set ${variable}. An operator of the API makes tokens with "npm run clients -- add".`,
    },
  );
}
