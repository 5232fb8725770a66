import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ServerResponse, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Claims, Intent } from '../../src/api/idempotency/claims.js';
import { createWaiting } from '../../src/api/waiting.js';
import { createPool } from '../../src/postgres/pool.js';
import { startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';

const CLIENTS = 200;

describe('more requests than connections to Postgres', () => {
  let api: ApiStack;

  before(async () => {
    api = await startApi({
      pool: ({ url }) =>
        Promise.resolve(
          createPool({
            connectionString: url,
            max: 5,
            applicationName: 'order-saga test',
            onIdleError: () => undefined,
            maxWaiting: CLIENTS / 2,
          }),
        ),
    });
    await api.startWorker();
  });
  after(() => api.stop());

  it('are answered, or told to come back, and nothing is stuck afterwards', async () => {
    const keys = Array.from({ length: CLIENTS }, () => randomUUID());

    const answers = await Promise.all(keys.map((key) => api.post({ key })));
    const refused = answers.filter(({ status }) => status === 503);

    assert.ok(refused.length > 0);
    for (const answer of answers) {
      if (answer.status === 503) assertOverloaded(answer);
      else assert.ok([201, 202].includes(answer.status), answer.body);
    }
    // Whoever was told to come back, and does, gets the one order of the key.
    const unfinished = keys.filter((_, index) => answers[index]?.status !== 201);
    const again: ApiAnswer[] = [];
    while (unfinished.length > 0) {
      const some = unfinished.splice(0, 40);
      const headers = { prefer: 'wait=60' };
      again.push(...(await Promise.all(some.map((key) => api.post({ key, headers })))));
    }
    assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([201]));
    assert.deepEqual(await api.rows(), { claims: CLIENTS, orders: CLIENTS });
  }).timeout(90_000);
});

describe('requests that wait for their orders', () => {
  const intent = { workflowId: 'w' } as Intent;
  const response = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

  /** Claims that count the looks at them, each of which lasts until it is told to end. */
  function world(maxWaits: number) {
    const state = { looks: 0, end: (): void => undefined };
    const held = new Promise<void>((resolve) => (state.end = resolve));
    const find = async () => {
      state.looks += 1;
      await held;
      return { kind: 'answered', answer: { status: 201, headers: {}, body: '{}' } } as const;
    };
    const wakes: (() => void)[] = [];
    const waiting = createWaiting(
      { find } as unknown as Claims,
      {
        onSaved: (_, wake) => {
          wakes.push(wake);
          return () => undefined;
        },
        close: () => Promise.resolve(),
      },
      new AbortController().signal,
      maxWaits,
    );
    return { state, wakes, waiting };
  }

  it('are answered at once where too many wait already', async () => {
    const { state, wakes, waiting } = world(1);

    const first = waiting.untilAnswered(intent, 60, response());
    assert.equal(await waiting.untilAnswered(intent, 60, response()), undefined);
    for (const wake of wakes) wake();
    state.end();

    assert.equal((await first)?.status, 201);
  });

  it('look at their rows a few at a time, and all get there', async () => {
    const { state, wakes, waiting } = world(1_000);

    const all = Array.from({ length: 500 }, () => waiting.untilAnswered(intent, 60, response()));
    for (const wake of wakes) wake();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(state.looks, 10);
    state.end();

    const answers = await Promise.all(all);
    assert.ok(answers.every((answer) => answer?.status === 201));
  });
});

function assertOverloaded(answer: ApiAnswer): void {
  assert.equal(answer.json['type'], '/problems/overloaded');
  assert.match(answer.headers['retry-after'] ?? '', /^[1-9][0-9]*$/);
}
