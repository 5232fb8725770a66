import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { ended } from '../support/money.js';
import { until } from '../support/until.js';
import { retried } from '../support/wire.js';
import { assertBoughtOnce, ASYNC, claimed, ORDER, WAIT } from './orders.js';
import type { Program } from './program.js';
import { sharedRig } from './rig.js';
import type { Rig } from './rig.js';

describe('faults: keys are raced, expire and are left alone', () => {
  let rig: Rig;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await sharedRig();
  });
  afterEach(() => rig.heal());

  it('F31 lets one body win where a hundred posts of one key come at once, ten of them with another', async () => {
    const second = await rig.another('api');
    await second.start();
    const key = randomUUID();
    const bodies = Array.from({ length: 100 }, (_, index) =>
      index % 10 === 5 ? { ...ORDER, amount: 2_000 } : ORDER,
    );

    const answers = await Promise.all(
      bodies.map((body, index) =>
        retried(() =>
          rig.post(body, { key, headers: WAIT, ...(index % 2 === 0 ? {} : { api: second.url }) }),
        ),
      ),
    );
    await second.kill();

    const won = answers.findIndex(({ status }) => status === 201);
    for (const [index, answer] of answers.entries()) {
      if (bodies[index]?.amount === bodies[won]?.amount) {
        assert.deepEqual([answer.status, answer.text], [201, answers[won]?.text]);
      } else {
        assert.deepEqual([answer.status, answer.json['type']], [409, REUSED]);
      }
    }
    await assertBoughtOnce(rig, String(answers[won]?.json['orderId']));
  }).timeout(240_000);

  describe('with a time to live of one second, purged each second,', () => {
    let api: Program & { readonly url: string };
    let worker: Program;

    before(async () => {
      const env = {
        TASK_QUEUE: 'short-lived',
        IDEMPOTENCY_TTL_SECONDS: '1',
        PURGE_INTERVAL_SECONDS: '1',
      };
      [api, worker] = await Promise.all([
        rig.another('api', { env }),
        rig.another('worker', { env }),
      ]);
      await Promise.all([api.start(), worker.start()]);
    });
    after(async () => {
      await Promise.all([api.kill(), worker.kill()]);
    });

    const purges = async (): Promise<number> => {
      const schedule = rig.temporal.schedule.getHandle('purgeClaims-short-lived');
      return (await schedule.describe()).info.numActionsTaken;
    };
    const untilPurged = async (times: number): Promise<void> => {
      const before = await purges();
      await until(async () => (await purges()) >= before + times);
    };

    it('F32 purges no key whose order is under way, and replays a purged one as long as Temporal knows it', async () => {
      const key = randomUUID();
      await rig.payment.faults([{ operation: 'charge', fault: 'hold' }]);
      await rig.post(ORDER, { key, api: api.url, headers: ASYNC });
      const { orderId } = await claimed(rig, key);
      await untilPurged(3);
      const meanwhile = await rig.post(ORDER, { key, api: api.url });
      const other = await rig.post({ ...ORDER, amount: 1 }, { key, api: api.url });
      await rig.payment.faults([]);
      await rig.payment.release();
      const first = await rig.post(ORDER, { key, api: api.url, headers: WAIT });
      await until(async () => (await claimRows(key)) === 0);

      const again = await rig.post(ORDER, { key, api: api.url });

      assert.deepEqual([meanwhile.status, other.status], [409, 409]);
      assert.equal(other.json['type'], REUSED);
      assert.deepEqual([first.status, first.json['orderId']], [201, orderId]);
      assert.deepEqual([again.status, again.text], [201, first.text]);
      await assertBoughtOnce(rig, orderId);
    }).timeout(240_000);

    it('F56 answers every request that races the purge of its key, with the same bytes', async () => {
      const keys = Array.from({ length: 4 }, () => randomUUID());
      const before = await purges();
      const texts = await Promise.all(
        keys.map(async (key) => {
          const seen = new Set<string>();
          const first = await rig.post(ORDER, { key, api: api.url, headers: WAIT });
          seen.add(`${first.status} ${first.text}`);
          while ((await purges()) < before + 5) {
            const pair = await Promise.all(
              [1, 2].map(() => rig.post(ORDER, { key, api: api.url, headers: WAIT })),
            );
            for (const { status, text } of pair) seen.add(`${status} ${text}`);
          }
          await assertBoughtOnce(rig, String(first.json['orderId']));
          return seen;
        }),
      );

      for (const seen of texts) assert.equal(seen.size, 1, [...seen].join('\n'));
    }).timeout(240_000);

    async function claimRows(key: string): Promise<number> {
      const { rowCount } = await rig.ordersPool.query(
        `select from claims where key_digest = encode(sha256($1::bytea), 'hex')`,
        [Buffer.from(key)],
      );
      return rowCount ?? 0;
    }
  });

  it('F53 leaves nothing of a request that broke off, and one order of one whose client went away', async () => {
    const whole = (key: string): string => {
      const body = JSON.stringify(ORDER);
      return [
        'POST /orders HTTP/1.1',
        'Host: localhost',
        'Authorization: Bearer demo-token',
        'Content-Type: application/json',
        `Idempotency-Key: ${key}`,
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n');
    };
    const broken = [];
    for (const part of [0.2, 0.8, 0.99]) {
      const key = randomUUID();
      broken.push(key);
      const text = whole(key);
      const socket = await dial();
      socket.write(text.slice(0, Math.floor(text.length * part)));
      socket.end();
      await closed(socket);
    }
    const key = randomUUID();
    const socket = await dial();
    socket.write(whole(key));
    const { orderId } = await claimed(rig, key);
    socket.destroy();

    assert.equal(await ended(rig, orderId), 'confirmed');
    const retry = await rig.post(ORDER, { key });
    assert.deepEqual([retry.status, retry.json['orderId']], [201, orderId]);
    await assertBoughtOnce(rig, orderId);
    for (const one of broken) {
      const first = await rig.post(ORDER, { key: one, headers: WAIT });
      assert.deepEqual([first.status, first.headers.get('idempotent-replayed')], [201, null]);
    }
  }).timeout(240_000);

  it('F54 holds neither a transaction nor a connection for clients that do not read', async () => {
    const order = await rig.post(ORDER, { headers: WAIT });
    const descriptors = async () => (await readdir(`/proc/${rig.roles.api.pid()}/fd`)).length;
    const before = await descriptors();
    const get = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer demo-token\r\n\r\n`;
    // An answer from the database, and a long one after it, so that what is not read fills every buffer.
    const pair = get(order.headers.get('location') ?? '') + get('/openapi.json');
    const sockets = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const socket = await dial();
        socket.pause();
        socket.write(pair.repeat(20));
        return socket;
      }),
    );

    const bought = await retried(() => rig.post(ORDER, { headers: WAIT }));
    const { rows } = await rig.ordersPool.query<{ state: string }>(
      `select state from pg_stat_activity
       where application_name = 'order-saga api' and state like 'idle in transaction%'`,
    );
    for (const socket of sockets) socket.destroy();

    assert.equal(bought.status, 201);
    assert.deepEqual(rows, []);
    await until(async () => (await descriptors()) <= before + 5);
  }).timeout(240_000);

  it('F55 starts each order once when clients and the reconciler start forty at the same moment', async () => {
    const keys = Array.from({ length: 40 }, () => randomUUID());
    await Promise.all([rig.links['api-temporal'].cut(), rig.links['worker-temporal'].cut()]);
    const refused = await Promise.all(keys.map((key) => rig.post(ORDER, { key })));
    assert.deepEqual(new Set(refused.map(({ status }) => status)), new Set([503]));
    await Promise.all([rig.links['api-temporal'].mend(), rig.links['worker-temporal'].mend()]);

    const answers = await Promise.all(
      keys.flatMap((key) =>
        [1, 2].map(() => retried(() => rig.post(ORDER, { key, headers: WAIT }))),
      ),
    );

    for (const [index, { status, json }] of answers.entries()) {
      const orderId = refused[Math.floor(index / 2)]?.json['orderId'];
      assert.deepEqual([status, json['orderId']], [201, orderId]);
    }
    for (const { json } of refused) await assertBoughtOnce(rig, String(json['orderId']));
  }).timeout(240_000);

  async function dial(): Promise<Socket> {
    const { hostname, port } = new URL(rig.apiUrl);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    return socket;
  }
});

const REUSED = '/problems/idempotency-key-reused';

/** Waits until the other side has closed it too, hence has seen how far the request went. */
function closed(socket: Socket): Promise<void> {
  socket.resume();
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
