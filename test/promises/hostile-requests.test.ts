import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import {
  answerOf,
  BODY_CASES,
  bytesOf,
  KEY_CASES,
  newKey,
  REQUEST_CASES,
  requestOf,
} from '../corpus/corpus.js';
import type { RequestCase } from '../corpus/corpus.js';
import { query } from '../support/databases.js';
import { exchange } from '../support/raw-http.js';
import type { RawAnswer } from '../support/raw-http.js';
import { sharedStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const WAITING = { headers: { prefer: 'wait=60' } };
/** A tenant for what is refused: it must have nothing at the end. */
const HOSTILE = 'hostile-token';

const CONNECTIONS_AT_ONCE = 40;
/** 64 MiB: far below what is sent, and above what a garbage collector leaves lying about. */
const MAX_GROWTH_KIB = 64 * 1_024;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** One exchange of the corpus: what is sent, and all that is answered. */
interface Exchange {
  readonly what: string;
  readonly request: Buffer;
  readonly key: string;
  readonly answers: readonly string[];
  readonly options: Pick<RequestCase, 'end' | 'slow' | 'drip' | 'unfinished'>;
}

describe('promise: hostile requests', () => {
  let stack: RunningStack;
  let port: number;
  const keysSent = new Map<string, string>();

  before(async function () {
    this.timeout(120_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
    port = Number(stack.env['PORT']);
  });

  const exchangeOf = (
    what: string,
    answers: readonly string[],
    request: Omit<Parameters<typeof requestOf>[0], 'what' | 'answers'>,
    token = HOSTILE,
  ): Exchange => {
    const key = newKey();
    return { what, key, answers, options: request, request: requestOf(request, { key, token }) };
  };

  /** Sends all, many at once. @returns what went otherwise than the corpus says. */
  const sendAll = async (exchanges: readonly Exchange[]): Promise<readonly string[]> => {
    const wrong: string[] = [];
    const queue = [...exchanges];
    const sendNext = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        keysSent.set(next.key, next.what);
        wrong.push(...(await complaintsAbout(next)));
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS_AT_ONCE }, sendNext));
    return wrong.sort();
  };

  const complaintsAbout = async (sent: Exchange): Promise<readonly string[]> => {
    const { end, drip, unfinished, slow } = sent.options;
    const { answers, stayedOpen, closed } = await exchange(port, sent.request, {
      answers: sent.answers.length,
      ...(end === undefined ? {} : { end }),
      ...(drip === undefined ? {} : { drip }),
      untilClosed: unfinished === true || slow === true,
    });
    // A 202 of an order that takes long on a busy machine is as good.
    const got = answers.map(nameOf).map((name) => (name === '202' ? '201' : name));
    if (!closed) return [`${sent.what}: ${got.join(', ')}, and left open`];
    const wanted = stayedOpen ? [...sent.answers, '200'] : sent.answers;
    if (got.join() !== wanted.join())
      return [`${sent.what}: ${got.join(', ')}, not ${wanted.join(', ')}`];
    return answers.flatMap((answer) =>
      answer.body.includes(sent.key) ? [`${sent.what}: the key is in the answer`] : [],
    );
  };

  /** Each request that places an order: its key, exactly as it is read, has one claim and one order. */
  const ordersOf = async (keys: readonly string[]): Promise<number> => {
    const rows = await query<{ resource_id: string }>(
      stack,
      'orders',
      `select distinct resource_id from claims join orders on order_id = resource_id
       where idempotency_key = any($1)`,
      [keys],
    );
    return rows.length;
  };

  it('are each answered as the contract says, in step, while good orders go through', async () => {
    const started = new Date();
    const memoryBefore = await residentKib(stack);
    const keyCases = KEY_CASES.flatMap(({ what, values, refused, onTheWire }) =>
      refused === undefined
        ? []
        : [
            exchangeOf(`key: ${what}`, [onTheWire ?? answerOf(refused)], {
              headers: { 'idempotency-key': null },
              more: values.map((value) => `Idempotency-Key: ${value}`),
            }),
          ],
    );
    const bodyCases = BODY_CASES.flatMap((body) =>
      body.refused === undefined
        ? []
        : [exchangeOf(`body: ${body.what}`, [answerOf(body.refused)], { body: bytesOf(body) })],
    );
    const requestCases = REQUEST_CASES.filter(({ accepted }) => accepted !== true).map((request) =>
      exchangeOf(request.what, request.answers, request),
    );
    const slow = requestCases.filter(({ options }) => options.slow === true);
    const fast = requestCases.filter(({ options }) => options.slow !== true);
    const all = [...keyCases, ...bodyCases, ...fast];
    assert.ok(all.length > 500);

    let isOver = false;
    const goodOrders = async (): Promise<readonly number[]> => {
      const statuses: number[] = [];
      while (!isOver) statuses.push((await stack.post(ORDER, WAITING)).status);
      return statuses;
    };
    const [good, wrongFast, wrongSlow] = await Promise.all([
      goodOrders(),
      sendAll(all).finally(() => (isOver = true)),
      Promise.all(slow.map(complaintsAbout)),
    ]);

    assert.deepEqual([...wrongFast, ...wrongSlow.flat()], []);
    assert.deepEqual(new Set(good), new Set([201]));
    assert.equal((await stack.post(ORDER, WAITING)).status, 201);
    await assertNothingOf(stack, 'hostile', started, keysSent);
    const growth = (await residentKib(stack)) - memoryBefore;
    assert.ok(growth < MAX_GROWTH_KIB, `${growth} KiB more than before`);
  }).timeout(120_000);

  it('that are odd, but mean one thing, place one order each', async () => {
    const token = 'demo-token';
    const requests = REQUEST_CASES.filter(({ accepted }) => accepted === true);
    const exchanges = requests.map((request) =>
      exchangeOf(request.what, request.answers, request, token),
    );
    const keyCases = KEY_CASES.flatMap(({ what, values, refused, reads }) =>
      refused !== undefined || reads === undefined
        ? []
        : [
            exchangeOf(
              `key: ${what}`,
              ['201'],
              {
                headers: { 'idempotency-key': null },
                more: values.map((value) => `Idempotency-Key: ${value}`),
              },
              token,
            ),
          ],
    );

    assert.deepEqual(await sendAll([...exchanges, ...keyCases]), []);
    assert.equal(await ordersOf(exchanges.map(({ key }) => key)), exchanges.length);
  }).timeout(60_000);

  it('bodies that are odd, but mean one thing, place one order each', async () => {
    const bodies = BODY_CASES.filter(({ refused }) => refused === undefined);
    const keys = bodies.map(newKey);

    const statuses = await Promise.all(
      bodies.map(async (body, index) => {
        const names = { key: keys[index] ?? '', token: 'demo-token' };
        const request = requestOf({ body: bytesOf(body) }, names);
        const { answers } = await exchange(port, request, { answers: 1 });
        return `${body.what}: ${answers[0]?.status ?? 'nothing'}`;
      }),
    );

    // Some ask for goods that are not there.
    assert.deepEqual(
      statuses.filter((status) => !/: (?:201|202|422)$/.test(status)),
      [],
    );
    assert.equal(await ordersOf(keys), bodies.length);
  }).timeout(60_000);
});

/** Status, and slug where it is a problem that is in order; otherwise what is wrong with it. */
function nameOf({ status, headers, body }: RawAnswer): string {
  if (status < 400) return String(status);
  if (!UUID.test(headers['x-request-id'] ?? '')) return `${status} without X-Request-Id`;
  if (!/^application\/problem\+json(?:;|$)/.test(headers['content-type'] ?? ''))
    return `${status} of ${headers['content-type'] ?? 'no type'}`;
  const problem = JSON.parse(body) as Record<string, unknown>;
  const isWhole = problem['status'] === status && problem['requestId'] === headers['x-request-id'];
  if (!isWhole || !problem['title'] || !problem['detail']) return `${status} ${body}`;
  return `${status} ${String(problem['type']).replace('/problems/', '')}`;
}

/** No row, no workflow and no line of a ledger of this tenant, or of nobody, since `started`. */
async function assertNothingOf(
  stack: RunningStack,
  tenant: string,
  started: Date,
  keysSent: ReadonlyMap<string, string>,
): Promise<void> {
  const claims = await query<{ idempotency_key: string }>(
    stack,
    'orders',
    'select idempotency_key from claims where tenant = $1',
    [tenant],
  );
  const kept = claims.map(({ idempotency_key: key }) => keysSent.get(key) ?? key);
  assert.deepEqual(kept, [], 'claims');
  const orders = await query(stack, 'orders', 'select from orders where tenant = $1', [tenant]);
  assert.equal(orders.length, 0, 'orders');

  // The list of workflows lags: one that was started later is in it first.
  const last = await stack.post(ORDER);
  const orderIds = new Set<string>();
  await until(async () => {
    const since = `StartTime >= '${started.toISOString()}' and WorkflowType = 'placeOrder'`;
    for await (const { memo } of stack.temporal.workflow.list({ query: since })) {
      assert.notEqual(memo?.['tenant'], tenant, 'workflows');
      orderIds.add(String(memo?.['resourceId']));
    }
    return orderIds.has(String(last.json['orderId']));
  });

  const known = new Set(
    (await query<{ order_id: string }>(stack, 'orders', 'select order_id from orders')).map(
      ({ order_id: id }) => id,
    ),
  );
  for (const [database, table] of [
    ['payment', 'charges'],
    ['payment', 'refunds'],
    ['inventory', 'reservations'],
    ['inventory', 'releases'],
  ] as const) {
    const lines = await query<{ order_id: string }>(
      stack,
      database,
      `select distinct order_id from ${table} where created_at >= $1`,
      [started],
    );
    const ofNobody = lines.filter(({ order_id: id }) => !known.has(id));
    assert.deepEqual(ofNobody, [], table);
  }
}

async function residentKib(stack: RunningStack): Promise<number> {
  const status = await readFile(`/proc/${await stack.pid('api')}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}
