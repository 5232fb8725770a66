import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { pino } from 'pino';
import { createHttpApp } from '../../src/http/app.js';
import type { HttpApp } from '../../src/http/app.js';
import { Overloaded } from '../../src/overload.js';
import { until } from '../support/until.js';

const MAX = 3;

describe('an HTTP server with too much to do', () => {
  let app: HttpApp;
  let port: number;
  let handled: number;

  beforeEach(async () => {
    handled = 0;
    const addRoutes = (one: HttpApp): void => {
      one.get('/healthz', () => ({ status: 'ok' }));
      one.post('/work', () => {
        handled += 1;
        return {};
      });
      one.get('/busy', () => Promise.reject(new Overloaded('work')));
    };
    app = createHttpApp(pino({ level: 'silent' }), addRoutes, { maxConnections: MAX });
    await app.listen({ host: '127.0.0.1', port: 0 });
    ({ port } = app.server.address() as AddressInfo);
  });
  afterEach(() => app.close());

  /** Connections that send nothing. */
  const idle = async (count: number): Promise<Socket[]> => {
    const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    return sockets;
  };
  /** A request over a connection of its own, which the client would like to keep. */
  const send = async (method: string, path: string) => {
    const agent = new Agent({ keepAlive: true });
    const call = request({ host: '127.0.0.1', port, method, path, agent });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
    agent.destroy();
    return { status: response.statusCode, headers: response.headers, text };
  };

  it('tells a connection too many to come back, does nothing for it, and closes it', async () => {
    const sockets = await idle(MAX);

    const { status, headers, text } = await send('POST', '/work');

    assert.equal(status, 503);
    assert.equal((JSON.parse(text) as { type: string }).type, '/problems/overloaded');
    assert.match(headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
    assert.equal(headers['content-type'], 'application/problem+json; charset=utf-8');
    assert.equal(headers.connection, 'close');
    assert.equal(handled, 0);
    for (const socket of sockets) socket.destroy();
  });

  it('answers probes over such a connection all the same', async () => {
    const sockets = await idle(MAX);

    assert.equal((await send('GET', '/healthz')).status, 200);

    for (const socket of sockets) socket.destroy();
  });

  it('serves again when connections are closed', async () => {
    const sockets = await idle(MAX);
    for (const socket of sockets) socket.destroy();

    await until(async () => (await send('POST', '/work')).status === 200);

    assert.equal(handled, 1);
  });

  it('says 503 for what had to be turned away further down', async () => {
    const { status, headers, text } = await send('GET', '/busy');

    assert.equal(status, 503);
    assert.equal((JSON.parse(text) as { type: string }).type, '/problems/overloaded');
    assert.match(headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
  });
});
