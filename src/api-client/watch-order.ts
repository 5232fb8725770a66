import { CallError } from './http.js';
import { isFinal } from './order.js';
import type { OrderDocument } from './order.js';

/** 500 ms before the first new try, doubled up to 5 s: a restart is missed by little, an outage costs little. */
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;

/** 40 s: the API shows each 15 s that a stream lives, so one that is silent for longer is dead. */
const MAX_SILENCE_MS = 40_000;

export type Link = 'connecting' | 'live' | 'lost' | 'ended';

export interface WatchedOrder {
  readonly orderId: string;
  readonly token: string;
  /** Base address of the API; left out by a page that comes from it. */
  readonly base?: string;
}

export interface Watcher {
  readonly onDocument: (order: OrderDocument) => void;
  readonly onLink: (link: Link) => void;
}

/**
 * Follows an order to its end, over as many connections as that takes. (An `EventSource` can't send a token.)
 *
 * @throws CallError where the API refuses: there is no such order for this token.
 */
export async function watchOrder(
  order: WatchedOrder,
  { onDocument, onLink }: Watcher,
  signal: AbortSignal,
): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  let lastId: string | undefined;
  let retryMs = FIRST_RETRY_MS;
  while (!isOver()) {
    try {
      if (await followOnce()) {
        onLink('ended');
        return;
      }
    } catch (error) {
      if (error instanceof CallError) throw error;
    }
    if (isOver()) return;
    onLink('lost');
    await pause(retryMs, signal);
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  }

  /** One connection. @returns whether the order has ended. */
  async function followOnce(): Promise<boolean> {
    const response = await open(order, lastId, signal);
    if (response.status === 204) return true;
    onLink('live');
    for await (const { id, data } of eventsIn(response)) {
      retryMs = FIRST_RETRY_MS;
      lastId = id;
      const document = JSON.parse(data) as OrderDocument;
      onDocument(document);
      if (isFinal(document)) return true;
    }
    return false;
  }
}

async function open(
  { orderId, token, base = '' }: WatchedOrder,
  lastId: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const response = await fetch(`${base}/orders/${encodeURIComponent(orderId)}/events`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    },
    signal,
  });
  const isRefused = [401, 403, 404].includes(response.status);
  if (isRefused) throw new CallError(response.status, 'There is no such order for this token.');
  if (!response.ok) throw new Error(`answered ${response.status}`);
  return response;
}

async function* eventsIn(response: Response): AsyncGenerator<{ id: string; data: string }> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read());
      if (done) return;
      text += value;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const id = /^id: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (id !== undefined && data !== undefined) yield { id, data };
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** Ends sooner where the signal comes. */
function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal.addEventListener('abort', end);
  });
}

function withinSilence<T>(read: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('silent')), MAX_SILENCE_MS);
  });
  return Promise.race([read, silent]).finally(() => clearTimeout(timer));
}
