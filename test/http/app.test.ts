import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Agent, request as httpRequest } from 'node:http';
import { Type } from 'typebox';
import { pino } from 'pino';
import { createHttpApp } from '../../src/http/app.js';
import type { HttpApp } from '../../src/http/app.js';
import { readIdempotencyKey } from '../../src/http/idempotency-key.js';
import { Problem } from '../../src/http/problem.js';

const Body = Type.Object(
  { amount: Type.Optional(Type.Integer({ minimum: 1 })) },
  { additionalProperties: false },
);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('HTTP app', () => {
  let app: HttpApp;
  let port: number;
  const gates: (() => void)[] = [];

  const buildApp = (): HttpApp =>
    createHttpApp(pino({ level: 'silent' }), (routes) => {
      routes.post('/things', { schema: { body: Body } }, (request) => request.body);
      routes.get('/things/:id', ({ params }) => params);
      routes.post('/keyed', (request) => ({ key: readIdempotencyKey(request.raw) }));
      routes.get('/slow', () => new Promise((resolve) => gates.push(() => resolve({ ok: true }))));
      routes.get('/broken', () => {
        throw new Error('secret detail');
      });
      routes.get('/refused', () => {
        throw new Problem(
          { slug: 'refused', status: 402, title: 'Refused', detail: 'No.' },
          { members: { orderId: 'o' }, headers: { location: '/orders/o' } },
        );
      });
      routes.get('/database-away', () => {
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      });
    });

  before(async () => {
    app = buildApp();
    await app.listen({ host: '127.0.0.1', port: 0 });
    port = (app.server.address() as AddressInfo).port;
  });
  after(() => app.close());

  const inject = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD' | 'OPTIONS',
    url: string,
    payload?: string | Buffer,
    headers: Record<string, string> = {},
  ) => {
    const sent = payload === undefined ? {} : { payload };
    const answer = await app.inject({ method, url, headers, ...sent });
    assert.match(String(answer.headers['x-request-id']), UUID);
    return answer;
  };
  const isProblem = (
    answer: Awaited<ReturnType<typeof inject>>,
    status: number,
    slug: string,
  ): void => {
    const document = answer.json<Record<string, unknown>>();
    assert.deepEqual([answer.statusCode, document['type']], [status, `/problems/${slug}`]);
    assert.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8');
    assert.equal(document['status'], status);
    assert.equal(document['requestId'], answer.headers['x-request-id']);
    assert.ok(document['title'] !== '' && document['detail'] !== '');
  };
  const json = { 'content-type': 'application/json' };

  describe('an address', () => {
    it('that is unknown is 404, whatever is sent to it', async () => {
      isProblem(await inject('GET', '/nothing'), 404, 'not-found');
      isProblem(await inject('POST', '/nothing', '{}', json), 404, 'not-found');
    });

    it('names the methods it takes when it gets another, before it reads a body', async () => {
      const answers = [
        await inject('GET', '/things'),
        await inject('DELETE', '/things'),
        await inject('PUT', '/things', '{"broken', json),
        await inject('OPTIONS', '/things'),
      ];

      for (const answer of answers) {
        isProblem(answer, 405, 'method-not-allowed');
        assert.equal(answer.headers['allow'], 'POST');
      }
      const onItem = await inject('POST', '/things/1', '{}', json);
      isProblem(onItem, 405, 'method-not-allowed');
      assert.deepEqual(String(onItem.headers['allow']).split(', ').sort(), ['GET', 'HEAD']);
    });

    it('that can not be decoded is malformed', async () => {
      isProblem(await inject('GET', '/things/%zz'), 400, 'malformed-request');
    });

    it('may hold a key of 255 characters that all need escaping', async () => {
      const answer = await inject('GET', `/things/${encodeURIComponent('/'.repeat(255))}`);

      assert.deepEqual([answer.statusCode, answer.json()], [200, { id: '/'.repeat(255) }]);
    });
  });

  describe('a body', () => {
    it('is read when it is JSON in UTF-8, with or without saying so', async () => {
      for (const type of [
        'application/json',
        'application/json; charset=utf-8',
        'Application/JSON;charset="UTF-8"',
      ]) {
        const answer = await inject('POST', '/things', '{"amount":1}', { 'content-type': type });
        assert.deepEqual([answer.statusCode, answer.json()], [200, { amount: 1 }], type);
      }
    });

    for (const [what, headers] of Object.entries({
      'another media type': { 'content-type': 'text/plain' },
      'a media type that only begins like JSON': { 'content-type': 'application/json-seq' },
      'a form': { 'content-type': 'application/x-www-form-urlencoded' },
      'another charset': { 'content-type': 'application/json; charset=latin1' },
      'a content encoding': { ...json, 'content-encoding': 'gzip' },
      'the content encoding "identity"': { ...json, 'content-encoding': 'identity' },
    })) {
      it(`is 415 with ${what}`, async () => {
        const answer = await inject('POST', '/things', '{"amount":1}', headers);
        isProblem(answer, 415, 'unsupported-media-type');
      });
    }

    it('is 415 without a media type', async () => {
      const answer = await exchange(
        'POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}',
      );

      assert.match(answer, /^HTTP\/1\.1 415 /);
      assert.match(answer, /unsupported-media-type/);
    });

    it('is 413 above 64 KiB, and read at 64 KiB', async () => {
      const padded = (size: number) => `{"amount":1${' '.repeat(size - 12)}}`;

      const atLimit = await inject('POST', '/things', padded(65_536), json);
      const above = await inject('POST', '/things', padded(65_537), json);

      assert.equal(atLimit.statusCode, 200);
      isProblem(above, 413, 'body-too-large');
    });

    it('is malformed when it is empty, and not valid when nothing is coerced', async () => {
      isProblem(await inject('POST', '/things', '', json), 400, 'malformed-json');
      for (const body of [
        '{"amount":"1"}',
        '{"amount":true}',
        '{"amount":0}',
        '{"paid":1}',
        '[]',
      ]) {
        isProblem(await inject('POST', '/things', body, json), 400, 'validation-failed');
      }
    });
  });

  describe('an error', () => {
    it('that nobody expected is a bare 500', async () => {
      const answer = await inject('GET', '/broken');

      isProblem(answer, 500, 'internal-error');
      assert.ok(!answer.body.includes('secret'));
    });

    it('of a route carries its members and headers', async () => {
      const answer = await inject('GET', '/refused');

      isProblem(answer, 402, 'refused');
      assert.equal(answer.json<{ orderId: string }>().orderId, 'o');
      assert.equal(answer.headers['location'], '/orders/o');
    });

    it('of a database that is away is a 503 that says when to come back', async () => {
      const answer = await inject('GET', '/database-away');

      isProblem(answer, 503, 'store-unavailable');
      assert.equal(answer.headers['retry-after'], '1');
    });

    it('of the key is a problem, and the key itself is never in it', async () => {
      isProblem(await inject('POST', '/keyed'), 400, 'idempotency-key-missing');
      const invalid = await inject('POST', '/keyed', undefined, { 'idempotency-key': 'my key' });
      isProblem(invalid, 400, 'idempotency-key-invalid');
      assert.ok(!invalid.body.includes('my key'));
    });
  });

  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    socket.on('error', () => undefined);
    return socket;
  };
  /** Sends the bytes as they are. @returns what came back until the server closed. */
  const exchange = (bytes: string, socket: Socket = open()): Promise<string> =>
    new Promise((resolve) => {
      let answer = '';
      socket.on('data', (text) => {
        answer += String(text);
        // Answers on a connection that is kept open end here.
        if (/^HTTP[^]*\r\n\r\n[^]*}$/.test(answer)) socket.end();
      });
      socket.on('close', () => resolve(answer));
      socket.write(bytes, 'latin1');
    });
  const isRawProblem = (answer: string, status: number, slug: string): void => {
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(head, /^content-type: application\/problem\+json/im);
    assert.match(head, new RegExp(`^content-length: ${body.length}$`, 'im'));
    const document = JSON.parse(body) as Record<string, unknown>;
    assert.deepEqual([document['type'], document['status']], [`/problems/${slug}`, status]);
    assert.match(head, new RegExp(`^x-request-id: ${String(document['requestId'])}$`, 'im'));
  };

  describe('on the wire', () => {
    for (const [what, bytes] of Object.entries({
      'no HTTP at all': 'hello\r\n\r\n',
      'no Host': 'GET /things/1 HTTP/1.1\r\n\r\n',
      'a control character in a header': 'GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n',
      'U+0000 in a header': 'GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n',
      'a folded header': 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n',
      'a bare line feed in a header': 'GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n',
      'two lengths':
        'POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      'a length and chunks':
        'POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n',
    })) {
      it(`${what} is a malformed request`, async () => {
        isRawProblem(await exchange(bytes), 400, 'malformed-request');
      });
    }

    it('headers above 16 KiB are 431', async () => {
      const answer = await exchange(
        `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
      );

      isRawProblem(answer, 431, 'header-too-large');
    });

    describe('a request that does not arrive in time is 408,', () => {
      const limits = { requestTimeout: 0, headersTimeout: 0 };
      before(() => {
        limits.requestTimeout = app.server.requestTimeout;
        limits.headersTimeout = app.server.headersTimeout;
        app.server.requestTimeout = 200;
        app.server.headersTimeout = 200;
      });
      after(() => Object.assign(app.server, limits));

      it('in its headers', async () => {
        isRawProblem(await exchange('GET / HTTP/1.1\r\nHost: x\r\nA:'), 408, 'request-timeout');
      });

      it('or in its body', async () => {
        const head = 'POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
        const answer = await exchange(`${head}Content-Length: 20\r\n\r\n{"amount"`);

        isRawProblem(answer, 408, 'request-timeout');
      });
    });

    it('what is malformed behind a request that waits is refused once that has its answer', async () => {
      const socket = open();
      const answer = exchange('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n', socket);
      while (gates.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));

      socket.write('garbage\r\n\r\n');
      gates.pop()?.();

      const [, first = '', second = ''] = (await answer).split('HTTP/1.1 ');
      assert.match(first, /^200 OK\r\n[^]*{"ok":true}$/);
      isRawProblem(`HTTP/1.1 ${second}`, 400, 'malformed-request');
    });

    it('a client that has ended its side is answered', async () => {
      const heardOf = new Promise((resolve) => {
        app.server.once('connection', (connection) => connection.once('end', resolve));
      });
      const socket = open();
      const answer = exchange('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n', socket);
      socket.end();
      await heardOf;
      gates.pop()?.();

      assert.match(await answer, /^HTTP\/1\.1 200 OK\r\n[^]*{"ok":true}$/);
    });

    it('two headers of one key are seen as two', async () => {
      const answer = await exchange(
        'POST /keyed HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n',
      );

      isRawProblem(answer, 400, 'idempotency-key-invalid');
    });

    it('a key with a no-break space is not the key without', async () => {
      const answer = await exchange(
        'POST /keyed HTTP/1.1\r\nHost: x\r\nIdempotency-Key: \xa0k\r\n\r\n',
      );

      isRawProblem(answer, 400, 'idempotency-key-invalid');
    });
  });

  it('closes as soon as its last request is answered, though the client keeps its connection', async () => {
    const closing = buildApp();
    await closing.listen({ host: '127.0.0.1', port: 0 });
    const agent = new Agent({ keepAlive: true });
    const { port: closingPort } = closing.server.address() as AddressInfo;
    const answered = new Promise<string | undefined>((resolve) => {
      const options = { host: '127.0.0.1', port: closingPort, path: '/slow', agent };
      httpRequest(options, (response) => {
        response.resume().on('end', () => resolve(response.headers.connection));
      }).end();
    });
    while (gates.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));

    const closed = closing.close();
    while (closing.server.listening) await new Promise((resolve) => setImmediate(resolve));
    gates.pop()?.();

    assert.equal(await answered, 'close');
    await closed;
    agent.destroy();
  });
});
