import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { digestOf } from '../../src/api/idempotency/key.js';
import { stackOf } from '../support/launched-stack.js';
import { sharedStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';

/** Counts that no machine changes: what an order costs in round trips. One that grows makes every order slower. */
describe('what a confirmed order costs', () => {
  let stack: RunningStack;
  let admin: pg.Client;
  let key: string;
  let orderId: string;
  let sagaId: string;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
    const { env } = await stackOf(stack.env['DATA_DIR'] ?? '');
    admin = new pg.Client({ connectionString: env['DATABASE_URL'] ?? '' });
    await admin.connect();
    await logStatements('all');
    key = randomUUID();
    const answer = await stack.post({ userId: 'u1', amount: 1_000 }, { key });
    assert.equal(answer.status, 201);
    [orderId, sagaId] = [String(answer.json['orderId']), String(answer.json['sagaId'])];
    await stack.temporal.workflow.getHandle(sagaId).result();
  });

  after(async () => {
    await logStatements('none');
    await admin.end();
  });

  it('nine events of history: started, one task, three local steps, status, summary and end', async () => {
    const { events } = await stack.temporal.workflow.getHandle(sagaId).fetchHistory();

    assert.equal(events?.length, 9);
  });

  it('one call to each service', async () => {
    const calls = await Promise.all([stack.payment.calls(orderId), stack.inventory.calls(orderId)]);

    assert.deepEqual(
      calls.flat().map(({ operation }) => operation),
      ['charge', 'reserve'],
    );
  });

  it('three statements that name it in our tables: claim, outcome, a look at the answer', async () => {
    const mark = `mark-${randomUUID()}`;
    await admin.query('select $1::text', [mark]);
    await until(async () => (await log()).includes(mark));

    // A statement names the order by its id, or its claim by the key's digest.
    const named = [orderId, digestOf(key)];
    const statements = (await log())
      .split('\n')
      .filter((line) => /DETAIL: +Parameters:/.test(line))
      .filter((line) => named.some((name) => line.includes(name)))
      .map((line) => /^\[([^\]]*)\]/.exec(line)?.[1]);

    assert.deepEqual(
      statements.filter((application) => /api|worker/.test(application ?? '')),
      ['order-saga api', 'order-saga worker', 'order-saga api'],
    );
    assert.deepEqual(countsOf(statements), {
      'order-saga api': 2,
      'order-saga worker': 1,
      'order-saga payment': 1,
      'order-saga inventory': 1,
    });
  });

  async function logStatements(which: 'all' | 'none'): Promise<void> {
    await admin.query(`alter system set log_statement = '${which}'`);
    await admin.query(`alter system set log_line_prefix = '[%a] '`);
    await admin.query('select pg_reload_conf()');
  }

  const log = (): Promise<string> =>
    readFile(join(stack.env['DATA_DIR'] ?? '', 'logs/postgres.log'), 'utf8');
});

function countsOf(names: readonly (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name ?? ''] = (counts[name ?? ''] ?? 0) + 1;
  return counts;
}
