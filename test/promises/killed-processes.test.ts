import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { takeFaultsBack } from '../support/heal.js';
import { ended, held } from '../support/money.js';
import { impatientStack, startStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';
import { retried } from '../support/wire.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const WAIT = { prefer: 'wait=60' };

describe('promise: a process may be killed at any line', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    // As `npm start` runs it: API and worker are one process and die together.
    stack = await startStack({ SPLIT_ROLES: 'off' });
  });
  after(() => stack.stop());
  afterEach(() => takeFaultsBack(stack));

  it('charges once when the worker dies while a charge is answered late', async () => {
    await stack.payment.faults([
      { operation: 'charge', fault: 'delay-after', times: 1, delayMs: 3_000 },
    ]);
    const key = randomUUID();
    const answer = retried(() => stack.post(ORDER, { key, headers: WAIT }));
    await until(async () => (await chargesUnderWay()) === 1);

    await stack.kill('worker');

    const { status, json } = await answer;
    assert.equal(status, 201);
    const orderId = String(json['orderId']);
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
    assert.deepEqual(await stack.inventory.kinds(orderId), ['reserve']);
    assert.ok((await stack.payment.calls(orderId)).length >= 2, 'the charge was asked for again');
  }).timeout(60_000);

  it('answers the retry like a first request when the API died right after it claimed', async () => {
    const key = randomUUID();
    const temporal = await stack.pid('temporal');
    // Temporal stands still, so the claim is written and the start hangs.
    process.kill(temporal, 'SIGSTOP');
    const lost = stack.post(ORDER, { key }).catch(() => undefined);
    await until(() => isClaimed(stack, key));

    await stack.kill('api');
    process.kill(temporal, 'SIGCONT');

    await lost;
    const retry = await retried(() => stack.post(ORDER, { key, headers: WAIT }));
    assert.equal(retry.status, 201);
    assert.deepEqual(await stack.payment.kinds(String(retry.json['orderId'])), ['charge']);
  }).timeout(60_000);

  it('answers 503 while Temporal stands, and starts the claim on the next request', async () => {
    await answersUnavailableThenStarts(stack);
  }).timeout(60_000);

  it('finds the order again when the API died while the client waited', async () => {
    await stack.payment.faults([
      { operation: 'charge', fault: 'delay-after', times: 1, delayMs: 2_000 },
    ]);
    const key = randomUUID();
    const lost = stack.post(ORDER, { key }).catch(() => undefined);
    await until(async () => (await chargesUnderWay()) === 1);

    await stack.kill('api');

    await lost;
    const retry = await retried(() => stack.post(ORDER, { key, headers: WAIT }));
    assert.equal(retry.status, 201);
    assert.equal(retry.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await stack.payment.kinds(String(retry.json['orderId'])), ['charge']);
  }).timeout(60_000);

  for (const role of ['payment', 'inventory'] as const) {
    it(`has one effect when ${role} dies between its commit and its answer`, async () => {
      const operation = role === 'payment' ? 'charge' : 'reserve';
      await stack[role].faults([{ operation, fault: 'delay-after', times: 1, delayMs: 60_000 }]);
      const answer = stack.post(ORDER, { headers: WAIT });
      await until(async () => (await callsUnderWay(role)) === 1);

      await stack.kill(role);

      const { status, json } = await answer;
      assert.equal(status, 201);
      const orderId = String(json['orderId']);
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
      assert.deepEqual(await stack.inventory.kinds(orderId), ['reserve']);
    }).timeout(60_000);
  }

  it('ends the order when the whole stack is killed in the middle of it and started again', async () => {
    await stack.inventory.faults([{ operation: 'reserve', fault: 'hold' }]);
    const key = randomUUID();
    const accepted = await stack.post(ORDER, { key, headers: { prefer: 'respond-async' } });
    const orderId = String(accepted.json['orderId']);
    await until(async () => (await stack.inventory.calls(orderId)).length > 0);

    await stack.killAll();
    await stack.startAgain();

    const retry = await stack.post(ORDER, { key, headers: WAIT });
    assert.deepEqual([retry.status, retry.json['orderId']], [201, orderId]);
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
    assert.deepEqual(await stack.inventory.kinds(orderId), ['reserve']);
  }).timeout(120_000);

  it('keeps the goods and the money together while everything is killed in turn', async () => {
    const keys = Array.from({ length: 30 }, () => randomUUID());
    const placing = Promise.all(
      keys.map((key) => retried(() => stack.post(ORDER, { key, headers: WAIT }))),
    );

    for (const role of ['worker', 'payment', 'api', 'inventory', 'worker'] as const) {
      await stack.kill(role);
    }

    const answers = await placing;
    for (const { status, json } of answers) {
      assert.equal(status, 201);
      const orderId = String(json['orderId']);
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
      assert.deepEqual(await stack.inventory.kinds(orderId), ['reserve']);
    }
    assert.equal(new Set(answers.map(({ json }) => json['orderId'])).size, keys.length);
  }).timeout(120_000);

  /** Charges that took effect and are not answered yet. */
  const chargesUnderWay = (): Promise<number> => callsUnderWay('payment');

  async function callsUnderWay(role: 'payment' | 'inventory'): Promise<number> {
    const calls = (await stack[role].json('/calls')) as unknown as {
      readonly effect: boolean;
      readonly status: number | null;
    }[];
    return calls.filter(({ effect, status }) => effect && status === null).length;
  }
});

describe('promise: what a killed worker has called is undone, whatever comes of the order instead', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000);
    stack = await impatientStack();
  });
  afterEach(() => takeFaultsBack(stack));

  /** What happens between the death of the worker and the next look at the order. */
  const otherWays = {
    'is cancelled': async (orderId: string) => {
      await retried(() => stack.send(`/orders/${orderId}/cancel`));
    },
    'can not be charged any more': async (orderId: string) => {
      await stack.payment.faults([{ operation: 'charge', orderId, fault: 'error-before' }]);
    },
  };
  for (const [what, happen] of Object.entries(otherWays)) {
    it(`undoes the steps that a killed worker has made when the order ${what}`, async () => {
      // Both steps are made in one workflow task; what it has done is in no history when its worker dies.
      await stack.inventory.faults([
        { operation: 'reserve', fault: 'delay-after', times: 1, delayMs: 60_000 },
      ]);
      const accepted = await stack.post(ORDER, { headers: { prefer: 'respond-async' } });
      const orderId = String(accepted.json['orderId']);
      await until(async () => (await stack.inventory.calls(orderId)).some(({ effect }) => effect));

      await stack.kill('worker');
      await happen(orderId);

      assert.equal(await ended(stack, orderId), 'cancelled');
      assert.deepEqual(await held(stack, orderId), { money: 0, reservations: 0 });
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
      assert.deepEqual(await stack.inventory.kinds(orderId), ['reserve', 'release']);
    }).timeout(60_000);
  }
});

describe('promise: nothing is answered 2xx that is not started', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000);
    stack = await impatientStack();
  });

  it('answers 503 while Temporal is away, keeps the claim, and starts it on the next request', async () => {
    await answersUnavailableThenStarts(stack);
  }).timeout(60_000);

  it('answers 503 while Postgres is away, and takes the order when it is back', async () => {
    process.kill(await stack.pid('postgres'), 'SIGKILL');

    // Its last backends may answer for some milliseconds more. Not waited for: the outage would pass meanwhile.
    let key: string;
    let refused: WireAnswer;
    do {
      key = randomUUID();
      refused = await stack.post(ORDER, { key, headers: { prefer: 'respond-async' } });
    } while (refused.status === 202);
    const afterwards = await retried(() => stack.post(ORDER, { key, headers: WAIT }));

    assert.equal(refused.status, 503);
    assert.equal(refused.json['type'], '/problems/store-unavailable');
    assert.ok(refused.headers.has('retry-after'));
    assert.equal(afterwards.status, 201);
    assert.deepEqual(await stack.payment.kinds(String(afterwards.json['orderId'])), ['charge']);
  }).timeout(60_000);
});

async function answersUnavailableThenStarts(stack: RunningStack): Promise<void> {
  const key = randomUUID();
  const refused = await stack.whileTemporalStands(() => stack.post(ORDER, { key }));

  assert.equal(refused.status, 503);
  assert.equal(refused.json['type'], '/problems/engine-unavailable');
  assert.ok(refused.headers.has('retry-after'));
  const retry = await retried(() => stack.post(ORDER, { key, headers: WAIT }));
  assert.equal(retry.status, 201);
  assert.equal(retry.json['orderId'], refused.json['orderId']);
  assert.equal(refused.headers.get('location'), retry.headers.get('location'));
}

/** Whether the key has an order already; read from the database, as no answer tells while Temporal stands still. */
async function isClaimed(stack: RunningStack, key: string): Promise<boolean> {
  const { rows } = await stack.ordersPool.query('select from claims where idempotency_key = $1', [
    key,
  ]);
  return rows.length === 1;
}
