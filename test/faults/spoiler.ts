import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer on its way back. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HttpCall {
  readonly path: string;
  /** Delivers the call to the service, as often as it is called. */
  readonly deliver: () => Promise<HttpAnswer>;
}

/** A server in front of a service that a test can make repeat what it is asked and lie about what it is told. */
export interface Spoiler {
  readonly url: string;
  /** Undefined lets everything through as it is. */
  spoil: ((call: HttpCall) => Promise<HttpAnswer>) | undefined;
  readonly close: () => Promise<void>;
}

export async function createSpoiler(target: string): Promise<Spoiler> {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const body = await textOf(request);
      const { url: path = '/', method = 'GET', headers } = request;
      const call: HttpCall = {
        path,
        deliver: async () => {
          const answered = await fetch(`${target}${path}`, {
            method,
            headers: {
              'content-type': String(headers['content-type']),
              'idempotency-key': String(headers['idempotency-key']),
            },
            body,
          });
          return {
            status: answered.status,
            headers: { 'content-type': String(answered.headers.get('content-type')) },
            body: await answered.text(),
          };
        },
      };
      const spoiled = await (spoiler.spoil ?? (({ deliver }) => deliver()))(call);
      response.writeHead(spoiled.status, spoiled.headers).end(spoiled.body);
    };
    answer().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const spoiler: Spoiler = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spoil: undefined,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return spoiler;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
