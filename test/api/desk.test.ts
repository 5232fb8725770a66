import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from '../support/build.js';
import { startApi } from './stack.js';
import type { ApiStack } from './stack.js';

const FAULT = { operation: 'charge', fault: 'hold' };

describe('the order desk’s routes', () => {
  let payment: FakeService;
  let inventory: FakeService;
  let api: ApiStack;
  let without: ApiStack;

  before(async function () {
    this.timeout(120_000); // may have to build
    await build();
    [payment, inventory] = await Promise.all([startService(), startService()]);
    const services = { paymentUrl: payment.url, inventoryUrl: inventory.url };
    [api, without] = await Promise.all([
      startApi({ config: { waitSeconds: 0, faults: true, ...services } }),
      startApi({ config: services }),
    ]);
  });
  after(async () => {
    await Promise.all([api.stop(), without.stop()]);
    payment.server.close();
    inventory.server.close();
  });

  it('serve the page and all it needs, under a policy that lets in nothing else', async () => {
    const { statusCode, headers, body } = await without.app.inject('/');

    assert.equal(statusCode, 200);
    assert.match(String(headers['content-type']), /^text\/html/);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'none'; script-src 'self'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    const needed = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    assert.ok(needed.length >= 3);
    for (const path of needed) {
      const asset = await without.app.inject(path);
      assert.equal(asset.statusCode, 200, path);
      assert.equal(asset.headers['x-content-type-options'], 'nosniff');
      assert.doesNotMatch(asset.body, /(?:src|href|url)[=(]["']?https?:/);
    }
  });

  it('answer 304 to a browser that has the page, and know no other file or method', async () => {
    const { headers } = await api.app.inject('/desk/desk.js');
    const again = await api.app.inject({
      url: '/desk/desk.js',
      headers: { 'if-none-match': String(headers['etag']) },
    });

    assert.deepEqual([again.statusCode, again.body], [304, '']);
    for (const url of ['/desk/', '/desk/index.html', '/desk/..%2f..%2fpackage.json', '/desk']) {
      assert.equal((await api.app.inject(url)).statusCode, 404, url);
    }
    assert.equal((await api.app.inject({ method: 'POST', url: '/' })).statusCode, 405);
  });

  it('show a tenant the ledgers of its own orders, and nobody those of others', async () => {
    const { json } = await api.post();
    const path = `/desk/ledgers?orderId=${String(json['orderId'])}`;

    const own = await api.get(path);

    assert.equal(own.status, 200);
    const line = [{ kind: `/ledger?orderId=${String(json['orderId'])}` }];
    assert.deepEqual(own.json, { payment: line, inventory: line });
    assert.equal((await api.get(path, 'token-ops')).status, 200);
    assert.equal((await api.get(path, 'token-b')).status, 404);
    assert.equal((await api.get(path, 'no-token')).status, 401);
    assert.equal((await api.get('/desk/ledgers?orderId=%2e%2e%2ffaults')).status, 404);
    assert.equal((await api.get('/desk/ledgers')).status, 400);
  });

  it('let operators alone set faults, for both services at once', async () => {
    const put = (token: string) =>
      api.app.inject({
        method: 'PUT',
        url: '/desk/faults',
        headers: { authorization: `Bearer ${token}` },
        payload: [FAULT],
      });

    assert.equal((await put('token-a')).statusCode, 403);
    assert.equal((await put('token-ops')).statusCode, 200);

    assert.deepEqual([payment.faults, inventory.faults], [[FAULT], [FAULT]]);
    const { body } = await api.get('/desk/faults', 'token-ops');
    assert.deepEqual(JSON.parse(body), [FAULT], 'each fault once');
  });

  it('are not there where FAULTS is off, but for the page', async () => {
    for (const url of ['/desk/faults', '/desk/ledgers?orderId=x']) {
      assert.equal((await without.get(url, 'token-ops')).status, 404, url);
    }
  });

  it('say 503 where a service is away', async () => {
    const { json } = await api.post();
    payment.server.close();
    payment.server.closeAllConnections();

    const { status, headers } = await api.get(`/desk/ledgers?orderId=${String(json['orderId'])}`);

    assert.deepEqual([status, headers['retry-after']], [503, '1']);
  });
});

interface FakeService {
  readonly url: string;
  readonly server: Server;
  readonly faults: readonly unknown[];
}

/** Answers with what it was asked, and keeps the faults it was sent. */
async function startService(): Promise<FakeService> {
  let faults: readonly unknown[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      if (request.method === 'PUT') faults = JSON.parse(text) as unknown[];
      const answer = request.url === '/faults' ? faults : [{ kind: request.url }];
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    get faults() {
      return faults;
    },
  };
}
