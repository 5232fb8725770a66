import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { heal } from '../support/heal.js';
import { ended, held } from '../support/money.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const OTHER_BODY = { ...ORDER, amount: 2_000 };
const ASYNC = { prefer: 'respond-async' };
const WAIT = { prefer: 'wait=30' };
const ALL = { money: 1_000, reservations: 1 };

describe('promise: a key lives for its time, and an unfinished order for ever', () => {
  let stack: RunningStack;
  /** Keeps answers for a second only. */
  let api: string;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
    api = await stack.startApi({ IDEMPOTENCY_TTL_SECONDS: '1' });
  });
  afterEach(() => heal(stack));

  const post = (body: object, key: string, headers: Record<string, string> = WAIT) =>
    stack.post(body, { key, headers, api });

  it('purges finished, expired keys only, and keeps every order', async () => {
    const [finished, kept, unfinished] = [randomUUID(), randomUUID(), randomUUID()];
    const first = await post(ORDER, finished);
    const long = await stack.post(ORDER, { key: kept });
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const open = await post(ORDER, unfinished, ASYNC);
    assert.deepEqual([first.status, long.status, open.status], [201, 201, 202]);

    await purged([finished]);

    assert.deepEqual(await claimed([finished, kept, unfinished]), new Set([kept, unfinished]));
    for (const { json } of [first, long, open]) {
      assert.equal((await stack.get(`/orders/${String(json['orderId'])}`)).status, 200);
    }
    await stack.payment.faults([]);
    await stack.payment.release();
    const { status, json } = await post(ORDER, unfinished);
    assert.deepEqual([status, json['orderId']], [201, open.json['orderId']]);
  });

  it('replays a purged key, and refuses another body, as long as Temporal remembers the order', async () => {
    const key = randomUUID();
    const first = await post(ORDER, key);
    await purged([key]);

    const other = await post(OTHER_BODY, key);
    const again = await post(ORDER, key);

    assert.deepEqual([other.status, other.json['type']], [409, '/problems/idempotency-key-reused']);
    assert.deepEqual(bytesOf(again), bytesOf(first));
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await held(stack, String(first.json['orderId'])), ALL);
  });

  it('replays a purged key of an order that was terminated and repaired', async () => {
    const key = randomUUID();
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const accepted = await post(ORDER, key, ASYNC);
    await stack.temporal.workflow.getHandle(String(accepted.json['sagaId'])).terminate('a test');
    await ended(stack, String(accepted.json['orderId']));
    const first = await post(ORDER, key);
    assert.equal(first.status, 422);
    // A repair keeps its answer for as long as the worker that started it is set to.
    await stack.ordersPool.query(
      'update claims set expires_at = now() where idempotency_key = $1',
      [key],
    );
    await purged([key]);

    const again = await post(ORDER, key);

    assert.deepEqual(bytesOf(again), bytesOf(first));
  });

  it('says at start where Temporal forgets orders sooner than keys expire, and what to run', async () => {
    const said = await stack.startWorker(
      { IDEMPOTENCY_TTL_SECONDS: '31536000' },
      'IDEMPOTENCY_TTL_SECONDS is above the retention',
    );

    const { namespace } = stack.temporal.options;
    assert.match(
      said,
      new RegExp(
        `run: temporal operator namespace update --namespace ${namespace} --retention 31536000s`,
      ),
    );
  });

  /** Has the purge's Schedule run until it has taken these keys. */
  async function purged(keys: readonly string[]): Promise<void> {
    await until(async () => (await expired(keys)) === keys.length);
    await stack.temporal.schedule.getHandle('purgeClaims-orders').trigger();
    await until(async () => (await claimed(keys)).size === 0);
  }

  /** Which of these keys have a claim; only the database knows. */
  async function claimed(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await stack.ordersPool.query<{ key: string }>(
      'select idempotency_key as key from claims where idempotency_key = any($1)',
      [keys],
    );
    return new Set(rows.map(({ key }) => key));
  }

  async function expired(keys: readonly string[]): Promise<number> {
    const { rows } = await stack.ordersPool.query(
      'select from claims where idempotency_key = any($1) and expires_at <= now()',
      [keys],
    );
    return rows.length;
  }
});

const bytesOf = ({ status, text, headers }: WireAnswer) => [
  status,
  text,
  headers.get('location'),
  headers.get('content-type'),
];
