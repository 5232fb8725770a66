import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { countsInWords } from '../../src/cli/explain/counts.js';
import type { Counts } from '../../src/cli/explain/counts.js';
import { heal } from '../support/heal.js';
import { stackOf } from '../support/launched-stack.js';
import { ended } from '../support/money.js';
import { ask, place } from '../support/placed.js';
import { resetToStart } from '../support/reset.js';
import { sharedStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';
import { command, jsonOf } from './command.js';
import type { Ran } from './command.js';

const ORDER = { userId: 'cli', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };

const NONE = { charges: 0, refunds: 0, reservations: 0, releases: 0 };

interface Explained {
  readonly counts: Counts;
  readonly contradictions: readonly string[];
  readonly isSound: boolean;
}

describe('explain and doctor', function () {
  this.timeout(60_000);
  let stack: RunningStack;
  let env: Record<string, string>;
  const run = (...args: string[]): Promise<Ran> => command(env, args);

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
    env = { DATA_DIR: stack.env['DATA_DIR'] ?? '' };
  });
  afterEach(() => heal(stack));

  for (const [what, body, expected] of [
    ['confirmed', ORDER, { ...NONE, charges: 1, reservations: 1 }],
    ['declined', { ...ORDER, paymentMethod: 'pm_declined' }, NONE],
    ['sold out', SOLD_OUT, { ...NONE, charges: 1, refunds: 1 }],
  ] as const) {
    it(`proves an order that was ${what}`, async () => {
      const { json } = await stack.post(body);

      await agrees(String(json['orderId']), expected);
    });
  }

  it('proves an order that goes on, and then that it was cancelled', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const { orderId } = await place(stack, ORDER);
    await until(async () => (await stack.payment.calls(orderId)).length > 0);

    await agrees(orderId, NONE);
    await stack.send(`/orders/${orderId}/cancel`);
    await ended(stack, orderId);
    await heal(stack);

    await agrees(orderId, NONE);
    assert.match((await run('explain', orderId)).out, /calls? \(.*409.*\), 0 with effect\n/);
  });

  for (const action of ['retry', 'resolve'] as const) {
    it(`proves an order that needs a person, before and after ${action}`, async () => {
      await stack.payment.faults([
        { operation: 'refund', fault: 'error-before', status: 400, times: 1 },
      ]);
      const { orderId } = await place(stack, SOLD_OUT);
      await until(
        async () => (await stack.get(`/orders/${orderId}`)).json['status'] === 'needs_attention',
      );

      await agrees(orderId, { ...NONE, charges: 1 });
      await run('ops', action, orderId, 'payment', '--who', 'ada', '--why', 'by bank transfer');
      await ended(stack, orderId);

      await agrees(orderId, { ...NONE, charges: 1, refunds: action === 'retry' ? 1 : 0 });
      const { out } = await run('explain', orderId);
      assert.match(out, new RegExp(`ada says ${action} at .*: by bank transfer\n`));
    });
  }

  it('proves an order whose workflow was terminated, and that a repair has undone', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'drop-after' }]);
    const placed = await place(stack, ORDER);
    await until(async () => (await stack.payment.kinds(placed.orderId)).length > 0);
    await stack.temporal.workflow.getHandle(placed.sagaId).terminate('test');
    await heal(stack);
    await until(async () => (await ask(stack, placed, 'wait=20')).status === 422);

    await agrees(placed.orderId, { ...NONE, charges: 1, refunds: 1 });
    const { out } = await run('explain', placed.orderId);
    assert.match(out, new RegExp(`repair-${placed.orderId}  repairOrder completed, 1 run`));
  });

  it('proves an order whose workflow was reset after its end', async () => {
    const placed = await place(stack, ORDER);
    await ended(stack, placed.orderId);
    await resetToStart(stack.temporal, placed.sagaId);

    await agrees(placed.orderId, { ...NONE, charges: 1, reservations: 1 });
  });

  it('proves what was done under a key, whether its claim is there or purged', async () => {
    const key = randomUUID();
    const { json } = await stack.post(ORDER, { key });
    const orderId = String(json['orderId']);

    const claimed = await run('explain', key);
    await stack.ordersPool.query('delete from claims where resource_id = $1', [orderId]);
    const purged = await run('explain', key);

    for (const ran of [claimed, purged]) {
      assert.equal(ran.exitCode, 0);
      assert.match(ran.out, new RegExp(`${orderId}  confirmed`));
      assert.match(ran.out, /\n1 order, 1 charge, 0 refunds, 1 reservation, 0 releases\n$/);
    }
    assert.doesNotMatch(claimed.out, /purged/);
    assert.match(purged.out, /past its life and purged/);
  });

  it('tells the keys of tenants apart', async () => {
    const key = randomUUID();
    const { json } = await stack.post(ORDER, { key, token: 'other-token' });

    const demo = await run('explain', key);
    const other = await run('explain', key, '--tenant', 'other');

    assert.equal(demo.exitCode, 3);
    assert.match(demo.err, /tenant "demo" has used no such key/);
    assert.match(other.out, new RegExp(String(json['orderId'])));
  });

  it('names a contradiction and ends with 5', async () => {
    const { json } = await stack.post(ORDER);
    const orderId = String(json['orderId']);
    const change = (sql: string) => stack.ordersPool.query(sql, [orderId]);
    await change(
      `update claims set answer_status = 402 where tenant = 'demo' and resource_id = $1`,
    );

    const text = await run('explain', orderId);
    const asJson = await run('explain', orderId, '--json');
    await change(
      `update claims set answer_status = 201 where tenant = 'demo' and resource_id = $1`,
    );
    const mended = await run('explain', orderId);

    assert.deepEqual([text.exitCode, asJson.exitCode, mended.exitCode], [5, 5, 0]);
    assert.match(text.out, /CONTRADICTION: the saved answer, 402, is not that of .*, 201\.\n/);
    assert.match(text.out, /\n1 order, 1 charge, .*: 1 contradictions\n$/);
    const { isSound, contradictions } = jsonOf(asJson) as unknown as Explained;
    assert.deepEqual([isSound, contradictions.length], [false, 1]);
  });

  it('finds a stack that is whole in good health', async () => {
    const text = await run('doctor');
    const json = await run('doctor', '--json');

    assert.equal(text.exitCode, 0, text.out);
    assert.match(text.out, /\n14 ok, 0 to look at, 0 failed\n$/);
    const { isSound, checks } = jsonOf(json) as {
      isSound: boolean;
      checks: { name: string; state: string }[];
    };
    assert.equal(isSound, true);
    assert.deepEqual(
      checks.filter(({ state }) => state !== 'ok'),
      [],
    );
  });

  it('says of servers that do not fit what to do, and ends with 5', async () => {
    const { env: joined } = await stackOf(stack.env['DATA_DIR'] ?? '');

    const ran = await command(
      {
        ...joined,
        ORDER_SAGA_TOKEN: 'wrong',
        TASK_QUEUE: 'nobody-polls-this',
        IDEMPOTENCY_TTL_SECONDS: '31536000',
        PAYMENT_URL: 'http://127.0.0.1:9',
        DATABASE_URL: joined['PAYMENT_DATABASE_URL'] ?? '',
      },
      ['doctor'],
    );

    assert.equal(ran.exitCode, 5);
    for (const line of [
      /^fail +token +not known to the API\n +→ Make one with "npm run clients -- add"/m,
      /^fail +payment +http:\/\/127\.0\.0\.1:9\/readyz can not be reached/m,
      /^fail +schema of orders +at version 1 of [0-9]+\n +→ .*npm run migrate/m,
      /^warn +retention .*\n +→ temporal operator namespace update .*--retention 31536000s/m,
      /^fail +worker +none polled nobody-polls-this/m,
      /^fail +schedule purgeClaims +purgeClaims-nobody-polls-this is missing/m,
      /^ok +inventory /m,
    ]) {
      assert.match(ran.out, line);
    }
  });

  it('says which server a proof lacks: 4', async () => {
    const { env: joined } = await stackOf(stack.env['DATA_DIR'] ?? '');
    const { json } = await stack.post(ORDER);

    const ran = await command({ ...joined, PAYMENT_URL: 'http://127.0.0.1:9' }, [
      'explain',
      String(json['orderId']),
    ]);

    assert.deepEqual([ran.exitCode, ran.out], [4, '']);
    assert.match(ran.err, /There is no proof without payment/);
  });

  /** The proof of an order: sound, and its counts those of the ledgers, asked without it. */
  async function agrees(orderId: string, expected: Partial<Counts>): Promise<void> {
    const text = await run('explain', orderId);
    const json = jsonOf(await run('explain', orderId, '--json')) as unknown as Explained;

    assert.equal(text.exitCode, 0, text.out);
    assert.deepEqual([json.isSound, json.contradictions], [true, []]);
    const kinds = [
      ...(await stack.payment.kinds(orderId)),
      ...(await stack.inventory.kinds(orderId)),
    ];
    const count = (kind: string): number => kinds.filter((one) => one === kind).length;
    const { counts } = json;
    assert.deepEqual(
      { ...counts, chargesBarred: 0, reservationsBarred: 0 },
      {
        orders: 1,
        charges: count('charge'),
        refunds: count('refund'),
        reservations: count('reserve'),
        releases: count('release'),
        chargesBarred: 0,
        reservationsBarred: 0,
      },
    );
    assert.equal(counts.chargesBarred + counts.reservationsBarred, count('void'));
    assert.deepEqual({ ...counts, ...expected }, counts);
    assert.ok(text.out.endsWith(`\n${countsInWords(counts)}\n`), text.out);
  }
});
