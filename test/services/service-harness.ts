import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import type { HttpApp } from '../../src/http/app.js';
import type { ServiceDeps } from '../../src/services/service-app.js';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';

/** An answer; `body` is what its JSON says, or undefined where it had none. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
}

export interface Line {
  readonly kind: string;
  readonly key: string;
  readonly orderId: string;
}

export interface CallRecord {
  readonly operation: string;
  readonly key: string;
  readonly orderId: string;
  readonly effect: boolean;
  readonly status: number | null;
  readonly at: string;
}

export type ServiceUnderTest = Awaited<ReturnType<typeof startService>>;

/** Repeats a call on 503, as every caller must: in a crowd not all get a connection to the database in time. */
export async function untilTaken(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await call();
    if (answer.status !== 503) return answer;
  }
}

/** One service on a database of its own, listening on a free port, with the calls a test makes to it. */
export async function startService(
  name: 'payment' | 'inventory',
  build: (deps: ServiceDeps) => HttpApp,
  options: { readonly token?: string; readonly faults?: boolean } = {},
) {
  const database: TestDatabase = await createDatabase(name);
  const logger = pino({ level: 'silent' });
  const app = build({
    logger,
    pool: database.pool,
    token: options.token,
    faults: options.faults ?? true,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;

  const send = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const payload = body === undefined ? {} : { payload: body as object };
    const response = await app.inject({ method, url, headers, ...payload });
    const parsed = response.body === '' ? {} : response.json<Record<string, unknown>>();
    return { status: response.statusCode, body: parsed, headers: response.headers };
  };
  const list = async <T>(path: string): Promise<readonly T[]> =>
    (await send('GET', path)).body as unknown as readonly T[];

  return {
    app,
    port,
    pool: database.pool,
    databaseUrl: database.url,
    send,
    post: (url: string, key: string, body: unknown) =>
      send('POST', url, body, { 'idempotency-key': key }),
    /** Over a real connection, where it matters that one can be cut. */
    postOnWire: (url: string, key: string, body: unknown, signal?: AbortSignal) =>
      fetch(`http://127.0.0.1:${port}${url}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    setFaults: (...faults: readonly object[]) => send('PUT', '/faults', faults),
    lines: (orderId: string) => list<Line>(`/ledger?orderId=${orderId}`),
    kinds: async (orderId: string) =>
      (await list<Line>(`/ledger?orderId=${orderId}`)).map(({ kind }) => kind),
    calls: (orderId: string) => list<CallRecord>(`/calls?orderId=${orderId}`),
    stop: async () => {
      await app.close();
      await database.drop();
    },
  };
}

/** Waits for a condition; the file's time limit ends a wait in vain. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

export const slugOf = ({ body }: Answer): string =>
  typeof body['type'] === 'string' ? body['type'].replace('/problems/', '') : '';
