import { call, CallError } from '../api-client/http.js';
import type { Answer, Call } from '../api-client/http.js';
import type { Environment } from '../config.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { credentialOf, findSurroundings } from './surroundings.js';
import type { Caller } from './surroundings.js';
import type { Terminal } from './terminal.js';

/** What a command needs of the world. */
export interface Context {
  readonly env: Environment;
  readonly terminal: Terminal;
  /** Comes with ctrl-c. */
  readonly interrupted: AbortSignal;
}

/** The API as one caller has it. */
export interface Api {
  readonly base: string;
  readonly token: string;
  readonly interrupted: AbortSignal;
}

/** 15 s beyond what the API was asked to wait: it bounds all its own waits, and answers 503 within ten. */
const ANSWER_LIMIT_MS = 15_000;

/** Finds the API and the caller's token, and says so where it is a stack that nobody named. */
export async function apiFor(
  { env, terminal, interrupted }: Context,
  caller: Caller,
): Promise<Api> {
  const surroundings = await findSurroundings(env);
  const { name, token } = credentialOf(surroundings, caller);
  const { api: base, stackFolder } = surroundings;
  if (stackFolder !== undefined) {
    terminal.note(
      `Using the stack on ${stackFolder}: ${base}, ${caller} ${name || 'of the token'}.`,
    );
  }
  return { base, token, interrupted };
}

/** Calls the API. @throws CommandFailure where no answer comes. */
export async function ask(
  { base, token, interrupted }: Api,
  path: string,
  options: Omit<Call, 'base' | 'token' | 'signal'> & { readonly waitSeconds?: number } = {},
): Promise<Answer> {
  const { waitSeconds = 0, ...rest } = options;
  const late = AbortSignal.timeout(ANSWER_LIMIT_MS + waitSeconds * 1_000);
  try {
    const signal = AbortSignal.any([interrupted, late]);
    return await call(path, { ...rest, base, token, signal });
  } catch (error) {
    if (interrupted.aborted) throw new CommandFailure(EXIT.interrupted, 'Ended by ctrl-c.');
    if (!late.aborted && !(error instanceof CallError)) throw error;
    const why = late.aborted ? 'gives no answer' : 'can not be reached';
    throw new CommandFailure(EXIT.unreachable, `The API at ${base} ${why}.`, {
      todo: 'Nothing is lost: see "order-saga doctor", then send it again, an order with the same key.',
    });
  }
}

/** The same, and takes nothing but success. @throws CommandFailure with the problem's words. */
export async function demand(...args: Parameters<typeof ask>): Promise<Answer['json']> {
  const answer = await ask(...args);
  if (answer.status >= 400) throw refused(args[0], answer);
  return answer.json;
}

/** A problem of the API, for people: its title, then what to do. */
export function refused({ base }: Pick<Api, 'base'>, { status, json }: Answer): CommandFailure {
  const { title, detail, type } = json;
  const slug = slugOf(json);
  const named = typeof title === 'string' ? title : 'The API refused';
  const hint =
    status === 401 ? ' The token is in ORDER_SAGA_TOKEN or ORDER_SAGA_OPERATOR_TOKEN.' : '';
  const more = typeof type === 'string' && type.startsWith('/') ? ` More: ${base}${type}` : '';
  const todo = `${typeof detail === 'string' ? detail : ''}${hint}${more}`.trim();
  return new CommandFailure(
    status === 503 ? EXIT.unreachable : EXIT.refused,
    `${named} (${status}${slug === '' ? '' : ` ${slug}`}).`,
    { ...(todo !== '' && { todo }), problem: json },
  );
}

export const slugOf = ({ type }: Answer['json']): string =>
  typeof type === 'string' ? type.replace(/^\/problems\//, '') : '';
