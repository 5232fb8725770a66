import assert from 'node:assert/strict';
import { held } from '../support/money.js';
import { NOTHING, ORDER, SOLD_OUT, WAIT } from './orders.js';
import type { Program } from './program.js';
import { sharedRig } from './rig.js';
import type { Rig } from './rig.js';
import { createSpoiler } from './spoiler.js';
import type { HttpAnswer, HttpCall, Spoiler } from './spoiler.js';

/** What a service may answer to a call that it has taken, other than what it should. */
const LIES: Readonly<Record<string, (truth: HttpAnswer) => HttpAnswer>> = {
  'a page of HTML': () => ({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<html><body>Welcome to the proxy</body></html>',
  }),
  'cut JSON': ({ body, ...truth }) => ({ ...truth, body: body.slice(0, body.length / 2) }),
  nothing: (truth) => ({ ...truth, body: '' }),
  'another key': ({ body, ...truth }) => ({ ...truth, body: body.replaceAll('ORD-', 'ORD-0') }),
  'JSON of another shape': (truth) => ({ ...truth, body: '[true]' }),
};

describe('faults: a service takes a call and answers wrongly, or a call comes more than once', () => {
  let rig: Rig;
  let api: Program & { readonly url: string };
  let worker: Program;
  let payment: Spoiler;
  let inventory: Spoiler;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await sharedRig();
    payment = await createSpoiler(`http://127.0.0.1:${rig.environment('payment')['PAYMENT_PORT']}`);
    inventory = await createSpoiler(
      `http://127.0.0.1:${rig.environment('inventory')['INVENTORY_PORT']}`,
    );
    // On a task queue of their own: the worker of the rig calls the services themselves.
    const queue = { TASK_QUEUE: 'spoiled' };
    const urls = { PAYMENT_URL: payment.url, INVENTORY_URL: inventory.url };
    [api, worker] = await Promise.all([
      rig.another('api', { env: queue }),
      rig.another('worker', { env: { ...queue, ...urls } }),
    ]);
    await Promise.all([api.start(), worker.start()]);
  });
  afterEach(async () => {
    payment.spoil = undefined;
    inventory.spoil = undefined;
    await rig.heal();
  });
  after(async () => {
    await Promise.all([api.kill(), worker.kill()]);
    await Promise.all([payment.close(), inventory.close()]);
  });

  const place = (body: object) => rig.post(body, { api: api.url, headers: WAIT });

  /** Spoils the first `times` calls of a path, after they have taken effect. */
  const first =
    (times: number, path: string, lie: (truth: HttpAnswer) => HttpAnswer) =>
    async (call: HttpCall): Promise<HttpAnswer> => {
      const truth = await call.deliver();
      if (call.path !== path || times === 0) return truth;
      times -= 1;
      return lie(truth);
    };

  for (const [what, lie] of Object.entries(LIES)) {
    it(`F18 takes ${what} in place of the answer for no answer, and asks again under the same key`, async () => {
      payment.spoil = first(2, '/charges', lie);
      inventory.spoil = first(1, '/reservations', lie);
      const bought = await place(ORDER);
      payment.spoil = first(1, '/refunds', lie);
      const refunded = await place(SOLD_OUT);

      assert.deepEqual([bought.status, refunded.status], [201, 422]);
      const [orderId, other] = [bought, refunded].map(({ json }) => String(json['orderId']));
      assert.deepEqual(await rig.payment.kinds(orderId!), ['charge']);
      assert.deepEqual(await rig.inventory.kinds(orderId!), ['reserve']);
      assert.deepEqual(await rig.payment.kinds(other!), ['charge', 'refund']);
      assert.equal((await rig.payment.calls(orderId!)).length, 3);
    }).timeout(240_000);
  }

  it('F19 has one effect when a service answers 500 after its commit', async () => {
    const failed = (truth: HttpAnswer): HttpAnswer => ({ ...truth, status: 500 });
    payment.spoil = first(2, '/charges', failed);
    inventory.spoil = first(2, '/reservations', failed);

    const { status, json } = await place(ORDER);

    assert.equal(status, 201);
    const orderId = String(json['orderId']);
    assert.deepEqual(await rig.payment.kinds(orderId), ['charge']);
    assert.deepEqual(await rig.inventory.kinds(orderId), ['reserve']);
    for (const service of [rig.payment, rig.inventory]) {
      assert.equal((await service.calls(orderId)).length, 3);
    }
  }).timeout(240_000);

  for (const status of [429, 503]) {
    it(`F20 comes back no sooner than a ${status} asks for`, async () => {
      payment.spoil = first(2, '/charges', (truth) => ({
        ...truth,
        status,
        headers: { ...truth.headers, 'retry-after': '2' },
      }));

      const { json } = await place(ORDER);

      const calls = await rig.payment.calls(String(json['orderId']));
      const at = calls.map((call) => Date.parse(call.at));
      const gaps = at.slice(1).map((time, index) => time - at[index]!);
      assert.equal(gaps.length, 2);
      for (const gap of gaps) assert.ok(gap >= 2_000, `${gap} ms`);
    }).timeout(240_000);
  }

  it('F35 moves money and goods once when every call is delivered five times at once', async () => {
    const fiveTimes = async ({ deliver }: HttpCall): Promise<HttpAnswer> => {
      const answers = await Promise.all([deliver(), deliver(), deliver(), deliver(), deliver()]);
      return answers[2];
    };
    payment.spoil = fiveTimes;
    inventory.spoil = fiveTimes;

    const [bought, refunded] = await Promise.all([place(ORDER), place(SOLD_OUT)]);

    assert.deepEqual([bought.status, refunded.status], [201, 422]);
    const [orderId, other] = [bought, refunded].map(({ json }) => String(json['orderId']));
    assert.ok((await rig.payment.calls(orderId!)).length >= 5);
    assert.deepEqual(await rig.payment.kinds(orderId!), ['charge']);
    assert.deepEqual(await rig.inventory.kinds(orderId!), ['reserve']);
    assert.deepEqual(await rig.payment.kinds(other!), ['charge', 'refund']);
    assert.deepEqual(await held(rig, other!), NOTHING);
  }).timeout(240_000);
});
