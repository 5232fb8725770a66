import { keepFor, setFault } from './experiments.js';
import type { Experiment } from './experiments.js';
import { call, CallError, newKey, problemText } from '../api-client/http.js';

/** A request to place an order, to be sent once or more. */
export interface Placing {
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly experiment: Experiment;
}

/** What came of one or more posts; equal answers are one. */
export interface Answered {
  readonly id: string;
  readonly at: Date;
  readonly what: string;
  readonly results: readonly Result[];
  readonly tookMs: number;
}

export interface Result {
  readonly count: number;
  readonly status: number;
  readonly text: string;
  readonly isReplayed: boolean;
  /** Of the first of them; undefined where there is none. */
  readonly orderId: string | undefined;
  readonly isProblem: boolean;
}

/** Posts an order, with its experiment's fault set for it alone. */
export async function placeOrder(
  tokens: { readonly tenant: string; readonly operator: string },
  placing: Placing,
): Promise<Result> {
  const { fault } = placing.experiment;
  const lasts = fault !== undefined && fault.times === undefined;
  if (fault !== undefined) await setFault(tokens.operator, fault);
  // What does not end by itself is watched, not waited for.
  const result = await post(tokens.tenant, placing, lasts ? { prefer: 'respond-async' } : {});
  if (lasts && result.orderId !== undefined) {
    await keepFor(tokens.operator, fault, result.orderId);
  }
  return result;
}

/** Posts many at once; those that are answered alike are counted together. */
export async function postAll(token: string, placings: readonly Placing[]): Promise<Result[]> {
  const results = await Promise.all(placings.map((placing) => post(token, placing)));
  const groups = new Map<string, Result>();
  for (const result of results) {
    const kind = `${result.status} ${result.text} ${result.isReplayed}`;
    const group = groups.get(kind);
    groups.set(kind, { ...(group ?? result), count: (group?.count ?? 0) + 1 });
  }
  return [...groups.values()].sort((one, other) => one.status - other.status);
}

export const placingOf = (
  experiment: Experiment,
  order: Readonly<Record<string, unknown>>,
): Placing => ({ key: newKey(), body: { ...order, ...experiment.body }, experiment });

export async function post(
  token: string,
  { key, body }: Placing,
  headers: Readonly<Record<string, string>> = {},
): Promise<Result> {
  try {
    const answer = await call('/orders', {
      method: 'POST',
      token,
      body,
      headers: { 'idempotency-key': key, ...headers },
    });
    const { json, status } = answer;
    const isProblem = status >= 400;
    const orderId = json['orderId'] ?? answer.headers.get('location')?.split('/').at(-1);
    return {
      count: 1,
      status,
      text: isProblem ? `${slugOf(json)}: ${problemText(answer)}` : String(json['status']),
      isReplayed: answer.headers.get('idempotent-replayed') === 'true',
      orderId: typeof orderId === 'string' ? orderId : undefined,
      isProblem,
    };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const text = error.message;
    return { count: 1, status: 0, text, isReplayed: false, orderId: undefined, isProblem: true };
  }
}

const slugOf = ({ type }: Readonly<Record<string, unknown>>): string =>
  typeof type === 'string' ? type.replace('/problems/', '') : 'refused';
