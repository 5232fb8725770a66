import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { RoleName, Stack } from '../../src/embedded/stack-file.js';
import {
  folderOf,
  launchStack,
  living,
  pidsOf,
  removeFolders,
  stackEnvironment,
  stackOf,
  until,
} from '../support/launched-stack.js';
import type { Launcher } from '../support/launched-stack.js';

const READY = 'Ctrl-c drains and stops everything';

// One stack through its life, as starting one takes seconds: each test finds it as the one before left it.
describe('the embedded stack', function () {
  this.timeout(60_000);
  let env: Awaited<ReturnType<typeof stackEnvironment>>;
  let launcher: Launcher;

  before(async () => {
    env = await stackEnvironment();
    launcher = launchStack(env);
    await launcher.says(READY);
  });

  after(async () => {
    // The last test stops it; a failed one may have left it.
    if ((await living([launcher.pid])).length > 0) process.kill(launcher.pid, 'SIGTERM');
    await launcher.exitCode;
    await removeFolders(env);
  });

  it('says where everything is, with an order to paste', () => {
    const output = launcher.output();

    for (const name of ['PORT', 'PAYMENT_PORT', 'INVENTORY_PORT', 'TEMPORAL_UI_PORT']) {
      assert.ok(output.includes(`http://127.0.0.1:${env[name]}`), name);
    }
    assert.match(output, /curl -i \S+\/orders -H 'Authorization: Bearer demo-token'/);
    assert.ok(output.includes('Temporal CLI'));
  });

  it('tells in stack.json of living processes and of how to join', async () => {
    const stack = await stackOf(env.DATA_DIR);

    assert.deepEqual(Object.keys(stack.roles).sort(), [
      ...['api', 'inventory', 'payment', 'postgres', 'temporal', 'worker'],
    ]);
    assert.deepEqual(await living(pidsOf(stack)), pidsOf(stack));
    assert.equal(stack.env['TEMPORAL_ADDRESS'], `127.0.0.1:${env['TEMPORAL_PORT']}`);
    assert.deepEqual(await stockOf(stack), { DEFAULT: 1_000_000, LOW: 1, 'SOLD-OUT': 0 });
  });

  it('is named and left alone by a second start', async () => {
    const before = await readFile(join(env.DATA_DIR, 'stack.json'), 'utf8');

    const second = launchStack(env);

    assert.equal(await second.exitCode, 1);
    assert.ok(second.output().includes(`launcher pid ${launcher.pid}`), second.output());
    assert.equal(await readFile(join(env.DATA_DIR, 'stack.json'), 'utf8'), before);
    assert.equal((await living(pidsOf(await stackOf(env.DATA_DIR)))).length, 6);
  });

  it('keeps its ports: another folder is told which variables to set, and is not made', async () => {
    const DATA_DIR = join(folderOf(env), 'other');

    const other = launchStack({ ...env, DATA_DIR });

    assert.equal(await other.exitCode, 1);
    const lines = other.output().split('\n');
    for (const name of Object.keys(env).filter((key) => key.endsWith('PORT'))) {
      const line = `  Port ${env[name]} is in use: set ${name} to a free port.`;
      assert.equal(lines.filter((one) => one === line).length, 1, other.output());
    }
    await assert.rejects(access(DATA_DIR));
  });

  for (const role of ['payment', 'temporal', 'postgres'] as const) {
    it(`starts ${role} again when it is killed`, async () => {
      const killed = (await stackOf(env.DATA_DIR)).roles[role]!.pid;

      process.kill(killed, 'SIGKILL');

      await launcher.says(`${role} was ended by SIGKILL`);
      await launcher.says(`${role} runs again`);
      const fresh = (await stackOf(env.DATA_DIR)).roles[role]!.pid;
      assert.notEqual(fresh, killed);
      assert.deepEqual(await living([fresh]), [fresh]);
    });
  }

  it('stops the orphans of a killed launcher, and keeps the data', async () => {
    const orphans = await stackOf(env.DATA_DIR);
    await query(orphans, "update stock set on_hand = 7 where sku = 'LOW'");
    process.kill(launcher.pid, 'SIGKILL');
    await launcher.exitCode;
    assert.equal((await living(pidsOf(orphans))).length, 6);

    launcher = launchStack(env);
    await launcher.says(READY);

    assert.deepEqual(await living(pidsOf(orphans)), []);
    const stack = await stackOf(env.DATA_DIR);
    assert.equal((await living(pidsOf(stack))).length, 6);
    assert.deepEqual(await stockOf(stack), { DEFAULT: 1_000_000, LOW: 7, 'SOLD-OUT': 0 });
  });

  it('drains and leaves nothing running on ctrl-c, however often it comes', async () => {
    const stack = await stackOf(env.DATA_DIR);

    // A terminal's ctrl-c goes to the whole group.
    process.kill(-launcher.pid, 'SIGINT');
    process.kill(-launcher.pid, 'SIGINT');

    assert.equal(await launcher.exitCode, 0);
    assert.deepEqual(await living(pidsOf(stack)), []);
    for (const role of ['app', 'payment', 'inventory'] as const) {
      assert.match(await logOf(role), /got SIGTERM\ndrained\n$/);
      assert.doesNotMatch(await logOf(role), /SIGINT/);
    }
    await assert.rejects(access(join(env.DATA_DIR, 'stack.json')));
    assert.match(await logOf('postgres'), /database system is shut down\n$/);
  });

  function logOf(role: RoleName | 'app'): Promise<string> {
    return readFile(join(env.DATA_DIR, 'logs', `${role}.log`), 'utf8');
  }
});

describe('a start of the embedded stack', function () {
  this.timeout(60_000);

  it('leaves nothing running when ctrl-c comes in the middle of it', async () => {
    const env = await stackEnvironment();
    const launcher = launchStack(env);
    let stack: Stack | undefined;
    await until('Postgres is being started', async () => {
      stack = await stackOf(env.DATA_DIR).catch(() => undefined);
      return stack?.roles.postgres !== undefined;
    });

    process.kill(launcher.pid, 'SIGINT');

    assert.equal(await launcher.exitCode, 0);
    assert.deepEqual(await living(pidsOf(stack!)), []);
    await assert.rejects(access(join(env.DATA_DIR, 'stack.json')));
    await removeFolders(env);
  });
});

async function query(stack: Stack, text: string): Promise<{ sku: string; on_hand: number }[]> {
  const client = new pg.Client({ connectionString: stack.env['INVENTORY_DATABASE_URL'] });
  await client.connect();
  const { rows } = await client.query<{ sku: string; on_hand: number }>(text);
  await client.end();
  return rows;
}

async function stockOf(stack: Stack): Promise<Record<string, number>> {
  const rows = await query(stack, 'select sku, on_hand from stock order by sku');
  return Object.fromEntries(rows.map((row) => [row.sku, row.on_hand]));
}
