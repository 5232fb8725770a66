import type { Contract } from './contract.js';

/** 30 s: slower than this, every attempt of a worker would count as unknown. */
const CALL_TIMEOUT_MS = 30_000;

/** Eight times, 250 ms apart: a service may ask for a little patience under a race, not for more. */
const MAX_REPEATS = 8;
const REPEAT_AFTER_MS = 250;

export interface Answer {
  readonly status: number;
  readonly document: Readonly<Record<string, unknown>>;
  readonly problem: string | undefined;
}

export interface ServiceAddress {
  readonly baseUrl: string;
  /** Sent as a bearer token. */
  readonly token: string | undefined;
}

export type ServiceUnderCheck = ReturnType<typeof callerOf>;

/** The calls that a saga makes, to one service. What may pass (409 in progress, 429, 5xx) is repeated. */
export function callerOf({ baseUrl, token }: ServiceAddress, contract: Contract) {
  const { forward, undo, ledgerPath } = contract;
  return {
    forward: (key: string, orderId: string, body: Contract['forward']['body'] = forward.body) =>
      untilDefinite(() => post(forward.path, key, { orderId, ...body })),
    undo: (key: string, orderId: string, forwardKey: string) =>
      untilDefinite(() => post(undo.path, key, { orderId, [undo.keyMember]: forwardKey })),
    /** One attempt, without a key. */
    forwardWithoutKey: (orderId: string) =>
      post(forward.path, undefined, { orderId, ...forward.body }),
    /** How many effects the ledger has for an order; undefined where there is no ledger to look at. */
    effects: async (orderId: string): Promise<number | undefined> => {
      if (ledgerPath === undefined) return undefined;
      const url = new URL(`${ledgerPath}?orderId=${encodeURIComponent(orderId)}`, baseUrl);
      const response = await fetch(url, { headers: authorization(), signal: timeout() });
      const lines: unknown = await response.json();
      if (!Array.isArray(lines)) throw new Error(`${ledgerPath} is no list`);
      return lines.length;
    },
  };

  async function post(path: string, key: string | undefined, body: object): Promise<Answer> {
    const response = await fetch(new URL(path, baseUrl), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...authorization(),
      },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: timeout(),
    });
    const document = objectOf(await response.text());
    const type = document['type'];
    const isProblem = typeof type === 'string' && type.startsWith('/problems/');
    return {
      status: response.status,
      document,
      problem: isProblem ? type.slice('/problems/'.length) : undefined,
    };
  }

  function authorization(): Record<string, string> {
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }
}

async function untilDefinite(call: () => Promise<Answer>): Promise<Answer> {
  for (let repeats = 0; ; repeats += 1) {
    const answer = await call();
    if (!mayPass(answer) || repeats === MAX_REPEATS) return answer;
    await new Promise((resolve) => setTimeout(resolve, REPEAT_AFTER_MS));
  }
}

function mayPass({ status, problem }: Answer): boolean {
  if (status === 409) {
    return problem !== 'idempotency-key-reused' && problem?.endsWith('-voided') !== true;
  }
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const timeout = (): AbortSignal => AbortSignal.timeout(CALL_TIMEOUT_MS);
