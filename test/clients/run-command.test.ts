import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { parseCommand } from '../../src/clients/command-line.js';
import { runCommand } from '../../src/clients/run-command.js';
import { digestOfToken } from '../../src/clients/token.js';
import { createClientStore } from '../../src/store/clients.js';
import type { ClientStore } from '../../src/store/clients.js';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

describe('clients in Postgres', () => {
  let database: TestDatabase;
  let store: ClientStore;
  const run = (...args: string[]) => runCommand(parseCommand(args), store);
  const whoHas = (token: string) => store.find(digestOfToken(token.trim()));
  const aName = (): string => `t-${randomUUID()}`;

  before(async () => {
    database = await createDatabase('orders');
    store = createClientStore(database.pool);
  });
  after(() => database.drop());

  it('are found by the token that is shown once', async () => {
    const name = aName();

    const { exitCode, out } = await run('add', name);

    assert.equal(exitCode, 0);
    assert.match(out, /^osaga_[A-Za-z0-9_-]{43}\n$/);
    assert.deepEqual(await whoHas(out), { kind: 'tenant', name });
    assert.equal(await whoHas(`${out.trim().slice(0, -1)}!`), undefined);
  });

  it('keep no token at rest, nor show one again', async () => {
    const { out } = await run('add', aName(), '--operator');

    const { rows } = await database.pool.query('select * from client_tokens');
    const list = await run('list', '--all', '--json');

    const secret = out.trim().slice('osaga_'.length);
    assert.doesNotMatch(JSON.stringify(rows) + list.out, new RegExp(secret));
  });

  it('are added once', async () => {
    const name = aName();
    await run('add', name);

    const again = await run('add', name);
    const operator = await run('add', name, '--operator');

    assert.deepEqual([again.exitCode, again.out, operator.exitCode], [1, '', 0]);
    assert.match(again.err, /is there already/);
  });

  it('lose the old token at once when they are rotated', async () => {
    const name = aName();
    const old = await run('add', name);

    const fresh = await run('rotate', name);

    assert.equal(await whoHas(old.out), undefined);
    assert.deepEqual(await whoHas(fresh.out), { kind: 'tenant', name });
  });

  it('have both tokens for the overlap, and then the new one only', async () => {
    const name = aName();
    const old = await run('add', name);

    const fresh = await run('rotate', name, '--overlap=1');

    assert.deepEqual(await whoHas(old.out), { kind: 'tenant', name });
    await until(async () => (await whoHas(old.out)) === undefined);
    assert.deepEqual(await whoHas(fresh.out), { kind: 'tenant', name });
  });

  it('never get a longer life by a rotation', async () => {
    const name = aName();
    const old = await run('add', name);
    await run('rotate', name, '--overlap=1');

    await run('rotate', name, '--overlap=1000');

    await until(async () => (await whoHas(old.out)) === undefined);
  });

  it('lose all tokens when they are revoked, and can be added again', async () => {
    const name = aName();
    const first = await run('add', name);
    const second = await run('rotate', name, '--overlap=1000');

    const { exitCode } = await run('revoke', name);

    assert.equal(exitCode, 0);
    assert.deepEqual([await whoHas(first.out), await whoHas(second.out)], [undefined, undefined]);
    assert.equal((await run('add', name)).exitCode, 0);
  });

  it('lose one token when it is named', async () => {
    const name = aName();
    const first = await run('add', name);
    const second = await run('rotate', name, '--overlap=1000');
    const id = digestOfToken(first.out.trim()).slice(0, 12);

    await run('revoke', name, `--token=${id}`);

    assert.equal(await whoHas(first.out), undefined);
    assert.deepEqual(await whoHas(second.out), { kind: 'tenant', name });
    assert.equal((await run('revoke', name, `--token=${id}`)).exitCode, 1);
  });

  it('are left alone when another is rotated or revoked, of the same name too', async () => {
    const name = aName();
    const tenant = await run('add', name);
    const operator = await run('add', name, '--operator');

    assert.equal((await run('rotate', aName())).exitCode, 1);
    assert.equal((await run('revoke', aName())).exitCode, 1);
    await run('revoke', name, '--operator');

    assert.deepEqual(await whoHas(tenant.out), { kind: 'tenant', name });
    assert.equal(await whoHas(operator.out), undefined);
  });

  it('are listed by name, those that are revoked on demand', async () => {
    const [good, gone] = [aName(), aName()];
    await run('add', good);
    await run('add', gone);
    await run('revoke', gone);

    const [list, all, json] = [
      await run('list'),
      await run('list', '--all'),
      await run('list', '--json'),
    ];

    assert.match(list.out, new RegExp(`^tenant +${good} +[0-9a-f]{12} +\\S+Z +-$`, 'm'));
    assert.ok(!list.out.includes(gone));
    assert.ok(all.out.includes(gone));
    const tokens = JSON.parse(json.out) as { name: string; kind: string; id: string }[];
    assert.ok(tokens.some(({ name, kind }) => name === good && kind === 'tenant'));
  });

  it('are written as JSON on demand', async () => {
    const name = aName();

    const added = JSON.parse((await run('add', name, '--json')).out) as Record<string, string>;
    const revoked = JSON.parse((await run('revoke', name, '--json')).out) as object;

    assert.deepEqual(Object.keys(added), ['kind', 'name', 'tokenId', 'token']);
    assert.equal(digestOfToken(added['token']!).slice(0, 12), added['tokenId']);
    assert.deepEqual(revoked, { kind: 'tenant', name, revoked: 1 });
  });

  it('know whether there is a tenant', async () => {
    const own = await createDatabase('orders');
    const empty = createClientStore(own.pool);
    try {
      const operator = { kind: 'operator', name: 'ada' } as const;
      const tenant = { kind: 'tenant', name: 'acme' } as const;

      assert.equal(await empty.hasTenants(), false);
      await empty.add(operator, digestOfToken('1'));
      assert.equal(await empty.hasTenants(), false);
      await empty.add(tenant, digestOfToken('2'));
      assert.equal(await empty.hasTenants(), true);
      await empty.revoke(tenant, undefined);
      assert.equal(await empty.hasTenants(), false);
    } finally {
      await own.drop();
    }
  });
});
