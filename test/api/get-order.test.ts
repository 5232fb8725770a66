import assert from 'node:assert/strict';
import { until } from '../support/until.js';
import { A_BODY, startApi } from './stack.js';
import type { ApiStack } from './stack.js';

describe('GET /orders/{orderId}', () => {
  let api: ApiStack;
  let idle: ApiStack;

  before(async () => {
    [api, idle] = await Promise.all([
      startApi(),
      // Patient, so that a step stays under way for as long as a test looks at it.
      startApi({ config: { waitSeconds: 0, temporalUiUrl: undefined, stepDeadlineMs: 60_000 } }),
    ]);
    await api.startWorker();
  });
  after(() => Promise.all([api.stop(), idle.stop()]));

  it('shows a confirmed order', async () => {
    const items = [{ sku: 'a', quantity: 2 }];
    const placed = await api.post({ body: { ...A_BODY, currency: 'EUR', items } });
    const { orderId, sagaId } = placed.json;

    const { status, json, headers } = await api.get(placed.headers['location']!);

    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    const { createdAt, updatedAt, ...rest } = json;
    assert.deepEqual(rest, {
      orderId,
      sagaId,
      status: 'confirmed',
      userId: 'u1',
      amount: 1000,
      currency: 'EUR',
      items,
      steps: ['payment', 'inventory'].map((name) => ({
        name,
        key: `${String(orderId)}:${name === 'payment' ? 'pay' : 'inv'}`,
        compensationKey: `${String(orderId)}:comp:${name === 'payment' ? 'pay' : 'inv'}`,
        state: 'done',
        compensationState: 'none',
        attempts: 1,
      })),
      reason: null,
      temporalUi: `http://ui.example/namespaces/default/workflows/${String(sagaId)}`,
    });
    assert.match(String(createdAt), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.ok(String(updatedAt) >= String(createdAt));
  });

  it('shows why an order was cancelled, and its refund', async () => {
    const placed = await api.post({
      body: { ...A_BODY, items: [{ sku: 'SOLD-OUT', quantity: 1 }] },
    });

    const { json } = await api.get(placed.headers['location']!);

    assert.equal(json['status'], 'cancelled');
    assert.equal(json['reason'], 'out-of-stock');
    const steps = json['steps'] as Record<string, string>[];
    assert.deepEqual(
      steps.map(({ state, compensationState }) => [state, compensationState]),
      [
        ['done', 'done'],
        ['refused', 'none'],
      ],
    );
  });

  it('works after Temporal forgot the run', async () => {
    const placed = await api.post();
    const workflowId = String(placed.json['sagaId']);
    await api.client.workflowService.deleteWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
    });

    assert.equal((await api.get(placed.headers['location']!)).json['status'], 'confirmed');
  });

  it('answers from the row within two seconds when no worker is there', async () => {
    const placed = await idle.post({ body: A_BODY });
    const begin = Date.now();

    const { json } = await idle.get(placed.headers['location']!);

    assert.ok(Date.now() - begin < 2_000);
    assert.equal(json['status'], 'processing');
    assert.equal(json['temporalUi'], null);
    assert.equal(json['reason'], null);
    const steps = json['steps'] as Record<string, string>[];
    assert.deepEqual(
      steps.map(({ name, state, compensationState }) => [name, state, compensationState]),
      [
        ['payment', 'pending', 'none'],
        ['inventory', 'pending', 'none'],
      ],
    );
  });

  it('adds to an open order what its workflow knows', async () => {
    const placed = await idle.post({ body: { ...A_BODY, paymentMethod: 'pm_hold' } });
    await idle.startWorker();

    await until(async () => {
      const { json } = await idle.get(placed.headers['location']!);
      const [payment] = json['steps'] as Record<string, string>[];
      return json['status'] === 'processing' && payment?.['state'] === 'running';
    });

    await idle.client.workflow.getHandle(String(placed.json['sagaId'])).terminate();
  });

  it("answers for another tenant's order as for one that nobody has", async () => {
    const placed = await api.post();
    const answers = [
      await api.get(placed.headers['location']!, 'token-b'),
      await api.get('/orders/ORD-0123456789abcdef0123456789abcdef'),
      await api.get('/orders/ORD-1'),
      await api.get('/orders/%00'),
      await api.get(`/orders/${'x'.repeat(300)}`),
      await api.get('/orders/'),
    ];

    const bodies = answers.map(({ body, json }) => body.replace(String(json['requestId']), ''));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([404]));
    assert.equal(new Set(bodies).size, 1, bodies.join('\n'));
    const headers = answers.map(({ headers }) => Object.keys(headers).join());
    assert.equal(new Set(headers).size, 1);
  });

  it('needs a token, takes no parameters and no other method', async () => {
    const { headers } = await api.post();
    const location = headers['location']!;

    assert.equal((await api.get(location, 'no-token')).status, 401);
    // Operators see the orders of all tenants: they are asked when an undo is stuck.
    assert.equal((await api.get(location, 'token-ops')).status, 200);
    assert.equal((await api.get(`${location}?x=1`)).json['type'], '/problems/validation-failed');
    const deletion = await api.app.inject({ method: 'DELETE', url: location });
    assert.equal(deletion.statusCode, 405);
    assert.match(String(deletion.headers['allow']), /GET/);
  });
});

describe('health and problems', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  it('is ready once a worker polls, with no token', async () => {
    const before = await api.app.inject('/readyz');
    await api.startWorker();
    await until(async () => (await api.app.inject('/readyz')).statusCode === 200);

    assert.equal(before.statusCode, 503);
    const { checks } = before.json<{ checks: { name: string; ok: boolean; detail: string }[] }>();
    assert.deepEqual(
      checks.filter(({ ok }) => !ok).map(({ name }) => name),
      ['worker'],
    );
    assert.equal((await api.app.inject('/healthz')).statusCode, 200);
  });

  it('explains each problem, and knows no other', async () => {
    for (const slug of ['idempotency-key-reused', 'engine-unavailable', 'out-of-stock']) {
      const answer = await api.app.inject(`/problems/${slug}`);
      const { type, title, detail, status } = answer.json<Record<string, unknown>>();

      assert.equal(answer.statusCode, 200);
      assert.equal(type, `/problems/${slug}`);
      assert.ok(title !== '' && detail !== '' && typeof status === 'number');
    }
    for (const slug of ['no-such-problem', 'constructor', '']) {
      assert.equal((await api.app.inject(`/problems/${slug}`)).statusCode, 404, slug);
    }
  });
});
