import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createClaims } from '../../../src/api/idempotency/claims.js';
import type { Claims, ClaimState, Companion, Intent } from '../../../src/api/idempotency/claims.js';
import { fingerprint } from '../../../src/api/idempotency/fingerprint.js';
import { digestOf, workflowIdFor } from '../../../src/api/idempotency/key.js';
import { createDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';

function intentFor(key: string, body: unknown = {}, tenant = 'tenant-a'): Intent {
  const scope = 'POST:/things';
  return {
    tenant,
    scope,
    key,
    keyDigest: digestOf(key),
    requestHash: fingerprint({ method: 'POST', route: '/things', query: {}, body }),
    workflowId: workflowIdFor('thing-', { tenant, scope, key }),
  };
}

/** Rows of a table made for this test: the claims must know nothing of orders. */
function thingsOf({ tenant, workflowId }: Intent): Companion {
  return {
    insert: (id) => ({
      sql: (first) =>
        `insert into things select $${first}, $${first + 1}, $${first + 2} from claim on conflict do nothing`,
      values: [id, tenant, workflowId],
    }),
    deleteUnused: (kept) => ({
      sql: (first) =>
        `delete from things where tenant = $${first} and workflow_id = $${first + 1} and id <> $${first + 2}
           and exists (select from claim)`,
      values: [tenant, workflowId, kept],
    }),
  };
}

describe('claims', () => {
  let database: TestDatabase;
  let claims: Claims;

  before(async () => {
    database = await createDatabase('orders');
    await database.pool.query(
      'create table things (id text primary key, tenant text, workflow_id text)',
    );
    claims = createClaims(database.pool);
  });
  after(() => database.drop());

  const take = (intent: Intent, id: string = randomUUID()): Promise<ClaimState> =>
    claims.take(intent, id, thingsOf(intent));

  const things = async (): Promise<string[]> => {
    const { rows } = await database.pool.query<{ id: string }>('select id from things');
    return rows.map(({ id }) => id);
  };

  const finish = async (intent: Intent, expires: string): Promise<void> => {
    const { rowCount } = await database.pool.query(
      `update claims set status = 'completed', answer_status = 201, answer_headers = '{"location":"/x"}',
         answer_body = 'saved', completed_at = now(), expires_at = now() + $2::interval
       where key_digest = $1`,
      [intent.keyDigest, expires],
    );
    assert.equal(rowCount, 1);
  };

  it('is new once, then unfinished, then answered; another body is told apart each time', async () => {
    const intent = intentFor(randomUUID());
    const other = { ...intent, requestHash: intentFor('x', { a: 1 }).requestHash };

    const states = [await take(intent, 'first'), await take(intent, 'second'), await take(other)];
    await finish(intent, '1 hour');
    states.push(await take(intent), await take(other));

    assert.deepEqual(states, [
      { kind: 'new', resourceId: 'first' },
      { kind: 'unfinished', resourceId: 'first' },
      { kind: 'other-body', finished: false },
      { kind: 'answered', answer: { status: 201, headers: { location: '/x' }, body: 'saved' } },
      { kind: 'other-body', finished: true },
    ]);
    const written = await things();
    assert.ok(written.includes('first') && !written.includes('second'));
  });

  it('lets one of fifty parallel takes win, with its companion row alone', async () => {
    const key = randomUUID();
    const ids = Array.from({ length: 50 }, (_, index) => `${key}-${index}`);

    const states = await Promise.all(
      ids.map((id, index) => take(intentFor(key, { body: index % 2 }), id)),
    );

    const won = states.filter(({ kind }) => kind === 'new');
    const count = (wanted: string): number => states.filter(({ kind }) => kind === wanted).length;
    assert.equal(won.length, 1);
    assert.equal(count('unfinished'), 24);
    assert.equal(count('other-body'), 25);
    assert.deepEqual(
      (await things()).filter((id) => id.startsWith(key)),
      won.map((state) => state.kind === 'new' && state.resourceId),
    );
  });

  it('gives two tenants and two scopes a claim each for one key', async () => {
    const key = randomUUID();
    const mine = intentFor(key);

    const states = [
      await take(mine),
      await take(intentFor(key, {}, 'tenant-b')),
      await take({ ...mine, scope: 'POST:/others' }),
    ];

    assert.deepEqual(
      states.map(({ kind }) => kind),
      ['new', 'new', 'new'],
    );
  });

  it('takes a finished claim anew once it has expired, and not before', async () => {
    const intent = intentFor(randomUUID());
    await take(intent, 'old');
    await finish(intent, '1 hour');
    assert.equal((await take(intent)).kind, 'answered');
    await finish(intent, '-1 second');

    const states = [await take(intent, 'newer'), await take(intent)];

    assert.deepEqual(states, [
      { kind: 'new', resourceId: 'newer' },
      { kind: 'unfinished', resourceId: 'newer' },
    ]);
  });

  it('never takes an unfinished claim for expired', async () => {
    const intent = intentFor(randomUUID());
    await take(intent, 'old');
    await database.pool.query(
      `update claims set created_at = now() - interval '1 year' where key_digest = $1`,
      [intent.keyDigest],
    );

    assert.deepEqual(await take(intent), { kind: 'unfinished', resourceId: 'old' });
  });

  it('reads an answer past its expiry for the request that waited for it', async () => {
    const intent = intentFor(randomUUID());
    await take(intent);
    await finish(intent, '-1 second');

    assert.equal((await claims.find(intent))?.kind, 'answered');
  });

  it('takes the claim itself where a purge takes the row it was about to read', async () => {
    const intent = intentFor(randomUUID());
    await take(intent);
    await finish(intent, '-1 second');
    const purging = new AbortController();
    const purge = async (): Promise<void> => {
      while (!purging.signal.aborted) {
        await database.pool.query('delete from claims where expires_at <= now()');
      }
    };
    const purged = purge();

    for (let round = 0; round < 50; round += 1) {
      const states = await Promise.all([take(intent), take(intent), take(intent)]);
      const kinds = states.map(({ kind }) => kind).sort();
      assert.deepEqual(kinds, ['new', 'unfinished', 'unfinished']);
      await finish(intent, '-1 second');
    }

    purging.abort();
    await purged;
  });

  it('turns an unfinished claim to the resource of its workflow and removes the unused one', async () => {
    const intent = intentFor(randomUUID());
    await take(intent, 'unused');

    await claims.adopt(intent, 'rightful', thingsOf(intent));
    await claims.adopt(intent, 'rightful', thingsOf(intent));

    assert.deepEqual(await take(intent), { kind: 'unfinished', resourceId: 'rightful' });
    const written = await things();
    assert.ok(written.includes('rightful') && !written.includes('unused'));
  });

  it('writes a lost claim anew for the resource of its workflow, and turns one of another body', async () => {
    const lost = intentFor(randomUUID());
    const taken = intentFor(randomUUID(), { body: 1 });
    const rightful = intentFor(taken.key, { body: 2 });
    await take(taken, 'wrong');

    await claims.adopt(lost, 'lost', thingsOf(lost));
    await claims.adopt(rightful, 'right', thingsOf(rightful));

    assert.deepEqual(await take(lost), { kind: 'unfinished', resourceId: 'lost' });
    assert.deepEqual(await take(rightful), { kind: 'unfinished', resourceId: 'right' });
    assert.equal((await take(taken)).kind, 'other-body');
    assert.ok(!(await things()).includes('wrong'));
  });

  it('neither turns nor releases a finished claim', async () => {
    const intent = intentFor(randomUUID());
    await take(intent, `kept-${intent.key}`);
    await finish(intent, '1 hour');

    await claims.adopt(intent, 'another', thingsOf(intent));
    await claims.release(intent, 'another', thingsOf(intent));

    assert.equal((await take(intent)).kind, 'answered');
    const written = await things();
    assert.ok(written.includes(`kept-${intent.key}`) && !written.includes('another'));
  });

  it('releases a claim without a right to its key, with its row, and only that', async () => {
    const key = randomUUID();
    const [wrong, right] = [intentFor(key, { body: 1 }), intentFor(key, { body: 2 })];
    await take(wrong, `wrong-${key}`);

    await claims.release(right, 'rightful', thingsOf(right));
    assert.equal((await take(wrong)).kind, 'unfinished');
    await claims.release(wrong, 'rightful', thingsOf(wrong));

    assert.equal(await claims.find(wrong), undefined);
    assert.ok(!(await things()).includes(`wrong-${key}`));
  });
});
