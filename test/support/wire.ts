import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { OpenAPIV3_1 } from 'openapi-types';
import { conformanceTo } from './conformance.js';
import type { Conformance } from './conformance.js';

/** An answer as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface PostOptions {
  readonly key?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Base address of another API process. */
  readonly api?: string;
}

export interface LedgerLine {
  readonly kind: string;
  readonly key: string;
  readonly orderId: string;
  readonly amount: number;
}

export interface SeenCall {
  readonly operation: string;
  readonly key: string;
  readonly effect: boolean;
  readonly status: number | null;
  /** When it arrived, ISO 8601. */
  readonly at: string;
}

/** A downstream service as a test sees it: over HTTP, like anybody. */
export interface ServiceProbe {
  readonly ledger: (orderId: string) => Promise<readonly LedgerLine[]>;
  readonly kinds: (orderId: string) => Promise<readonly string[]>;
  readonly calls: (orderId: string) => Promise<readonly SeenCall[]>;
  /** Replaces the faults; held calls stay held. */
  readonly faults: (faults: readonly object[]) => Promise<void>;
  /** Lets held calls take effect. */
  readonly release: () => Promise<number>;
  readonly json: (path: string, init?: RequestInit) => Promise<Record<string, unknown>>;
}

export interface SendOptions {
  readonly token?: string;
  readonly body?: object;
}

/** `POST /orders`; a new key unless one is given. */
export async function post(
  api: string,
  body: object | string,
  options: PostOptions,
): Promise<WireAnswer> {
  const { key = randomUUID(), token = 'demo-token', headers = {} } = options;
  const response = await fetch(`${api}/orders`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(key === '' ? {} : { 'idempotency-key': key }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return toWireAnswer('POST', response);
}

/** Any other request, with a JSON body where one is given. */
export async function send(
  api: string,
  path: string,
  { token = 'demo-token', body }: SendOptions = {},
): Promise<WireAnswer> {
  const response = await fetch(`${api}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return toWireAnswer('POST', response);
}

export async function get(api: string, path: string, token = 'demo-token'): Promise<WireAnswer> {
  return toWireAnswer(
    'GET',
    await fetch(`${api}${path}`, { headers: { authorization: `Bearer ${token}` } }),
  );
}

/** Repeats a request as a client should: on 503 and on a lost connection, with the same key. */
export async function retried(request: () => Promise<WireAnswer>): Promise<WireAnswer> {
  for (;;) {
    const answer = await request().catch(() => undefined);
    if (answer !== undefined && answer.status !== 503) return answer;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function toWireAnswer(method: string, response: Response): Promise<WireAnswer> {
  const text = await response.text();
  const { origin, pathname, search } = new URL(response.url);
  (await conformance(origin))?.({
    method,
    path: pathname + search,
    status: response.status,
    header: (name) => response.headers.get(name),
    body: text,
  });
  const json = JSON.parse(text) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, text, json };
}

let holding: Promise<Conformance | undefined> | undefined;

/** Every answer of any test is held against the document; undefined while no API is there to give it. */
async function conformance(origin: string): Promise<Conformance | undefined> {
  holding ??= fetch(`${origin}/openapi.json`).then(
    async (response) => conformanceTo((await response.json()) as OpenAPIV3_1.Document),
    () => undefined,
  );
  const held = await holding;
  if (held === undefined) holding = undefined;
  return held;
}

/** A service's test side, at its base address. */
export function probe(url: string): ServiceProbe {
  const json = async (path: string, init?: RequestInit): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json' },
    });
    const text = await response.text();
    assert.ok(response.ok, `${path} answered ${response.status}: ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  const list = async <T>(path: string): Promise<readonly T[]> =>
    (await json(path)) as unknown as readonly T[];
  return {
    json,
    ledger: (orderId) => list(`/ledger?orderId=${orderId}`),
    kinds: async (orderId) =>
      (await list<LedgerLine>(`/ledger?orderId=${orderId}`)).map(({ kind }) => kind),
    calls: (orderId) => list(`/calls?orderId=${orderId}`),
    faults: async (faults) => {
      await json('/faults', { method: 'PUT', body: JSON.stringify(faults) });
    },
    release: async () => {
      const { released } = await json('/faults/release', { method: 'POST', body: '{}' });
      return Number(released);
    },
  };
}
