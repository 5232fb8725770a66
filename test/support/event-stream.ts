import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';

export interface ReceivedEvent {
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A stream of server-sent events as its reader sees it. */
export interface ReceivedStream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly response: IncomingMessage;
  /** All so far. */
  readonly events: readonly ReceivedEvent[];
  /** Comes when the server has ended the stream as it should; fails where the stream was cut. */
  readonly ended: Promise<void>;
  readonly close: () => void;
}

/** Opens a stream on a connection of its own. */
export async function openEvents(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<ReceivedStream> {
  const outgoing = request(url, { agent: false, headers });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const events: ReceivedEvent[] = [];
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const id = /^id: (.+)$/m.exec(block)?.[1];
      const data = /^data: (.+)$/m.exec(block)?.[1];
      if (id !== undefined && data !== undefined) {
        events.push({ id, data: JSON.parse(data) as ReceivedEvent['data'] });
      }
    }
  });
  const ended = once(response, 'end').then(() => {
    assert.ok(response.complete, 'the stream was cut');
  });
  // Whoever never asks for the end must not be told of it by a crash.
  ended.catch(() => undefined);
  response.on('error', () => undefined);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    response,
    events,
    ended,
    close: () => outgoing.destroy(),
  };
}
