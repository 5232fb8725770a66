import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';

export interface Wire {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What came of a request: an answer, surely nothing, or nobody knows. */
export type Sent =
  | { readonly kind: 'ok'; readonly wire: Wire }
  | { readonly kind: 'fail' | 'info'; readonly why: string };

export interface Sending {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The client goes away after this time. */
  readonly leaveAfterMs?: number;
}

/** 20 s: longer than any answer takes; a request to a process that stands still must end, too. */
const TIMEOUT_MS = 20_000;

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends one request and tells what is known of its fate. Never throws. */
export function send(url: string, sending: Sending = {}): Promise<Sent> {
  const { method = 'GET', headers = {}, body, leaveAfterMs } = sending;
  return new Promise((resolve) => {
    let answering = false;
    const outgoing = request(url, {
      method,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      // A connection that is cut on purpose must not be one that others are sent on.
      ...(leaveAfterMs === undefined ? { agent } : { agent: false }),
      timeout: TIMEOUT_MS,
    });
    const leaving =
      leaveAfterMs === undefined
        ? undefined
        : setTimeout(() => outgoing.destroy(new Error('the client left')), leaveAfterMs);
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer in ${TIMEOUT_MS} ms`)));
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(leaving);
      const refused = error.code === 'ECONNREFUSED' && !answering;
      resolve({ kind: refused ? 'fail' : 'info', why: error.code ?? error.message });
    });
    outgoing.on('response', (response) => {
      answering = true;
      void read(response).then((sent) => {
        clearTimeout(leaving);
        resolve(sent);
      });
    });
    outgoing.end(body);
  });
}

/** For the hammer's own questions: the parsed body of a 2xx, undefined for anything else. */
export async function ask<T>(url: string, sending: Sending = {}): Promise<T | undefined> {
  const sent = await send(url, sending);
  if (sent.kind !== 'ok' || sent.wire.status >= 300) return undefined;
  return JSON.parse(sent.wire.body) as T;
}

async function read(response: IncomingMessage): Promise<Sent> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    return { kind: 'info', why: `cut: ${String(error)}` };
  }
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  return {
    kind: 'ok',
    wire: {
      status: response.statusCode ?? 0,
      headers: Object.fromEntries(headers) as Record<string, string>,
      body: Buffer.concat(chunks).toString('utf8'),
    },
  };
}
