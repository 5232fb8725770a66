import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newKey } from '../corpus/corpus.js';
import { DATABASES, query } from '../support/databases.js';
import { ended } from '../support/money.js';
import { sharedStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

/** A number of the form of a card's, which no network publishes: what is found of it comes from here. */
const CARD = '4539578763621486';
const SPACED_CARD = '4539 5787 6362 1486';

/** Marks that are put where a caller may write; a mark is found wherever its text is. */
const MARKS = {
  user: `ada-${newKey()}@example.com, Ada L.`,
  key: `key-${newKey()}`,
  sku: `sku-${newKey()}`,
  paymentMethod: `pm-${newKey()}`,
  who: `who-${newKey()}`,
  why: `why-${newKey()}`,
  refusedKey: `refused-key-${newKey()}`,
  refusedBody: `refused-body-${newKey()}`,
  refusedToken: `refused-token-${newKey()}`,
  header: `header-${newKey()}`,
  address: `address-${newKey()}`,
  cancelKey: `cancel-key-${newKey()}`,
  callKey: `call-key-${newKey()}`,
  refusedCall: `refused-call-${newKey()}`,
  card: CARD,
  spacedCard: SPACED_CARD,
  token: 'demo-token',
  operatorToken: 'ops-token',
} as const;
type Mark = keyof typeof MARKS;

/** The only places that a mark is meant for; what is in none of them is meant for none. */
const MEANT_FOR: Readonly<Partial<Record<Mark, readonly string[]>>> = {
  user: ['orders.orders.user_id'],
  key: ['orders.claims.idempotency_key'],
  sku: [
    'histories',
    'inventory.idempotency_keys.request',
    'inventory.reservations.items',
    'inventory.stock.sku',
    'orders.orders.items',
    'workflows',
  ],
  paymentMethod: ['histories', 'orders.orders.payment_method', 'payment.idempotency_keys.request'],
  who: ['histories', 'orders.orders.steps'],
  why: ['histories', 'orders.orders.steps'],
  callKey: ['payment.charges.charge_key', 'payment.idempotency_keys.key'],
};

describe('promise: nothing leaks', () => {
  let stack: RunningStack;
  let base: string;
  const refusals: string[] = [];

  before(async function () {
    this.timeout(120_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
    base = `http://127.0.0.1:${stack.env['PORT'] ?? ''}`;
  });

  const order = { userId: MARKS.user, amount: 1_000 };
  const headers = {
    'user-agent': MARKS.header,
    referer: `http://x/${MARKS.header}`,
    cookie: `a=${MARKS.header}`,
    traceparent: MARKS.header,
    'x-request-id': MARKS.header,
    'x-forwarded-for': MARKS.header,
    prefer: `${MARKS.header}; a=${MARKS.header}`,
    accept: `text/${MARKS.header}`,
  };

  const expectStatus = (answer: WireAnswer, ...statuses: readonly number[]): WireAnswer => {
    assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`);
    if (answer.status >= 400) refusals.push(JSON.stringify([...answer.headers]) + answer.text);
    return answer;
  };

  it('what callers write is found in the columns that are meant for it, and nowhere else', async () => {
    const orderId = await placeOrders();
    await sendRefused();
    await settleUndo();
    await callServices();

    const places = await everyPlace(stack, refusals);
    const found = findMarks(places);

    const wanted = Object.fromEntries(
      Object.keys(MARKS).map((mark) => [mark, MEANT_FOR[mark as Mark] ?? []]),
    );
    assert.deepEqual(found, wanted);
    // What is meant for the logs is found there, so the logs were searched.
    assert.ok(places.get('payment.log')?.includes(orderId));
  }).timeout(90_000);

  async function placeOrders(): Promise<string> {
    await stack.inventory.json(`/stock/${MARKS.sku}`, { method: 'PUT', body: '{"onHand":5}' });
    const items = [{ sku: MARKS.sku, quantity: 1 }];
    const key = MARKS.key;
    const placed = expectStatus(await stack.post({ ...order, items }, { key, headers }), 201);
    expectStatus(await stack.post({ ...order, items }, { key, headers }), 201);
    expectStatus(await stack.post({ ...order, amount: 2_000 }, { key, headers }), 409);
    expectStatus(await stack.post({ ...order, paymentMethod: MARKS.paymentMethod }), 402);
    const orderId = String(placed.json['orderId']);
    expectStatus(
      await fetchAs('demo-token', `/orders/${orderId}/cancel`, {
        'idempotency-key': MARKS.cancelKey,
      }),
      409,
    );
    return orderId;
  }

  /** Everything that is refused, with marks in all that it holds. */
  async function sendRefused(): Promise<void> {
    const key = MARKS.refusedKey;
    const marked = MARKS.refusedBody;
    const bodies = [
      `{"userId":"${marked}","amount":1`,
      `{"userId":"${marked}","amount":1.5}`,
      { ...order, userId: marked, [marked]: marked },
      { ...order, userId: marked.repeat(9) },
      { ...order, currency: marked },
      { ...order, items: [{ sku: marked, quantity: 0 }] },
      { ...order, items: [{ sku: marked, quantity: 1, [marked]: 1 }] },
      ...[CARD, SPACED_CARD].flatMap((card) => [
        { ...order, userId: card },
        { ...order, userId: `${card} 12/27` },
        { ...order, paymentMethod: `pm_${card}` },
        { ...order, currency: card },
        { ...order, note: card },
        { ...order, [card]: 1 },
        { ...order, items: [{ sku: 'DEFAULT', quantity: 1, note: { a: [card] } }] },
      ]),
    ];
    for (const body of bodies) expectStatus(await stack.post(body, { key, headers }), 400);
    expectStatus(await stack.post(order, { key: CARD }), 400);
    expectStatus(await stack.post(order, { key: CARD.replace(/(\d{4})(?=\d)/g, '$1-') }), 400);
    expectStatus(await stack.post(order, { key: `${key} ${key}` }), 400);
    expectStatus(await stack.post(order, { key, token: MARKS.refusedToken }), 401);
    expectStatus(await stack.post(order, { key, headers: { 'content-type': `a/${marked}` } }), 415);
    for (const path of [
      `/orders/${MARKS.address}`,
      `/orders/${MARKS.address}/cancel`,
      `/orders/${CARD}/cancel`,
      `/orders?status=${MARKS.address}`,
      `/orders?userId=${MARKS.address}&cursor=${MARKS.address}`,
      `/${MARKS.address}?a=${MARKS.address}`,
      `/problems/${MARKS.address}`,
      `/healthz/${MARKS.address}`,
    ])
      expectStatus(await fetchAs('demo-token', path, headers), 400, 404, 405);
  }

  async function settleUndo(): Promise<void> {
    await stack.payment.faults([{ operation: 'refund', fault: 'error-before', status: 400 }]);
    try {
      const items = [{ sku: 'SOLD-OUT', quantity: 1 }];
      const { json } = await stack.post(
        { ...order, items },
        { headers: { prefer: 'respond-async' } },
      );
      const path = `/orders/${String(json['orderId'])}`;
      await until(async () => (await stack.get(path)).json['status'] === 'needs_attention');
      const body = { step: 'payment', who: MARKS.who, why: MARKS.why };
      const resolve = (token: string, change: object): Promise<WireAnswer> =>
        stack.send(`${path}/undo/resolve`, { token, body: { ...body, ...change } });
      expectStatus(await resolve('ops-token', { why: `by card ${CARD}` }), 400);
      expectStatus(await resolve('ops-token', { who: SPACED_CARD }), 400);
      expectStatus(await resolve('ops-token', { note: MARKS.refusedBody }), 400);
      expectStatus(await resolve('demo-token', { why: MARKS.refusedBody }), 403);
      expectStatus(await resolve('ops-token', {}), 202);
      await ended(stack, String(json['orderId']));
    } finally {
      await stack.payment.faults([]);
    }
  }

  /** The services stand for other teams; what they are sent beside a call is not theirs to keep either. */
  async function callServices(): Promise<void> {
    const charge = (change: object, key: string): Promise<number> =>
      fetch(`http://127.0.0.1:${stack.env['PAYMENT_PORT'] ?? ''}/charges`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({
          orderId: `ORD-${randomUUID().replaceAll('-', '')}`,
          amount: 1,
          currency: 'JPY',
          paymentMethod: 'pm_ok',
          ...change,
        }),
      }).then(({ status }) => status);
    assert.equal(await charge({}, MARKS.callKey), 201);
    assert.equal(await charge({ amount: 0, paymentMethod: MARKS.refusedCall }, 'x'), 400);
    assert.equal(await charge({}, `${MARKS.refusedCall} x`), 400);
  }

  /** A POST with a body for the orders' addresses, a GET for others. */
  async function fetchAs(
    token: string,
    path: string,
    sent: Readonly<Record<string, string>>,
  ): Promise<WireAnswer> {
    const response = await fetch(base + path, {
      method: path.endsWith('/cancel') ? 'POST' : 'GET',
      headers: { ...sent, authorization: `Bearer ${token}` },
    });
    const text = await response.text();
    const json = JSON.parse(text) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, text, json };
  }
});

/** Every place that outlives a request, by name, with all that is in it. */
async function everyPlace(
  stack: RunningStack,
  refusals: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const places = new Map([['refusals', refusals.join('\n')]]);
  for (const database of Object.keys(DATABASES) as (keyof typeof DATABASES)[]) {
    for (const [column, text] of await columnsOf(stack, database)) places.set(column, text);
  }
  const { histories, workflows } = await workflowsOf(stack);
  places.set('histories', histories).set('workflows', workflows);
  const folder = join(stack.env['DATA_DIR'] ?? '', 'logs');
  const logs = await readdir(folder);
  assert.ok(logs.length >= 4, logs.join());
  for (const log of logs) places.set(log, await readFile(join(folder, log), 'utf8'));
  for (const port of ['PORT', 'PAYMENT_PORT', 'INVENTORY_PORT']) {
    const answer = await fetch(`http://127.0.0.1:${stack.env[port] ?? ''}/metrics`);
    if (answer.status === 200) places.set(`metrics of ${port}`, await answer.text());
  }
  return places;
}

/** Every column of a database, as text. */
async function columnsOf(
  stack: RunningStack,
  database: keyof typeof DATABASES,
): Promise<readonly (readonly [string, string])[]> {
  const columns = await query<{ table: string; column: string }>(
    stack,
    database,
    `select table_name as table, column_name as column from information_schema.columns
     where table_schema = 'public'`,
  );
  assert.ok(columns.length > 10);
  return Promise.all(
    columns.map(async ({ table, column }) => {
      const rows = await query<{ text: string | null }>(
        stack,
        database,
        `select string_agg("${column}"::text, ' ') as text from "${table}"`,
      );
      return [`${database}.${table}.${column}`, rows[0]?.text ?? ''] as const;
    }),
  );
}

/** The histories of all workflows, and what lists and descriptions tell of them. */
async function workflowsOf(
  stack: RunningStack,
): Promise<{ readonly histories: string; readonly workflows: string }> {
  const { workflow, workflowService, options } = stack.temporal;
  const histories: string[] = [];
  const workflows: string[] = [];
  for await (const { workflowId, runId, raw } of workflow.list({
    query: "WorkflowType in ('placeOrder', 'repairOrder')",
  })) {
    const execution = { workflowId, runId };
    histories.push(textOf(await workflow.getHandle(workflowId, runId).fetchHistory()));
    const described = await workflowService.describeWorkflowExecution({
      namespace: options.namespace,
      execution,
    });
    workflows.push(textOf(raw), textOf(described));
  }
  return { histories: histories.join('\n'), workflows: workflows.join('\n') };
}

/** Every text in a message, however deep. Payloads are bytes, and their JSON is text; `toJSON` would hide it. */
function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([name, part]) => `${name} ${textOf(part)}`)
    .join('\n');
}

/** Where each mark is found, in order. */
function findMarks(
  places: ReadonlyMap<string, string>,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(MARKS).map(([mark, text]) => [
      mark,
      [...places]
        .filter(([, content]) => content.includes(text))
        .map(([place]) => place)
        .sort(),
    ]),
  );
}
