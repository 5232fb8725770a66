import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { heal } from '../support/heal.js';
import { ended } from '../support/money.js';
import { place } from '../support/placed.js';
import { sharedStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';
import { command, jsonOf } from './command.js';
import type { Ran, Terminal } from './command.js';

const ORDER = { userId: 'cli', amount: 1_000 };
const SUBMIT = ['submit', '--user', 'cli', '--amount', '1000'];

// eslint-disable-next-line no-control-regex -- that is what a colour is
const COLOUR = /\u001b\[/;

describe('the command line', function () {
  this.timeout(60_000);
  let stack: RunningStack;
  /** A shell that says nothing but where the stack's folder is. */
  let env: Record<string, string>;

  const run = (args: readonly string[], terminal?: Terminal): Promise<Ran> =>
    command(env, args, terminal);
  const orderIdOf = ({ out }: Ran): string => /ORD-[0-9a-f]{32}/.exec(out)?.[0] ?? '';

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
    env = { DATA_DIR: stack.env['DATA_DIR'] ?? '' };
  });
  afterEach(() => heal(stack));

  it('places an order under a key that it makes and shows', async () => {
    const ran = await run(SUBMIT);

    assert.equal(ran.exitCode, 0);
    const key = /^Idempotency-Key: (\S+)$/m.exec(ran.err)?.[1] ?? '';
    assert.match(ran.out, new RegExp(`confirmed\\n  key       ${key}\\n`));
    const again = await stack.post(ORDER, { key });
    assert.equal(again.json['orderId'], orderIdOf(ran));
  });

  it('sends every field of an order', async () => {
    const args = ['-u', 'u7', '-a', '1999', '-c', 'EUR', '-i', 'DEFAULT=2', '-p', 'pm_ok'];

    const ran = await run(['submit', ...args, '--json']);

    const { answer } = jsonOf(ran) as { answer: { orderId: string } };
    const { json } = await stack.get(`/orders/${answer.orderId}`);
    assert.deepEqual(
      [json['userId'], json['amount'], json['currency'], json['items']],
      ['u7', 1_999, 'EUR', [{ sku: 'DEFAULT', quantity: 2 }]],
    );
  });

  it('replays the answer of a key, and says so', async () => {
    const key = randomUUID();
    const first = await run([...SUBMIT, '--key', key]);

    const again = await run([...SUBMIT, '--key', key]);
    const json = await run([...SUBMIT, '--key', key, '--json']);

    assert.deepEqual([again.exitCode, orderIdOf(again)], [0, orderIdOf(first)]);
    assert.match(again.out, /^ {2}replayed/m);
    assert.doesNotMatch(first.out, /replayed/);
    assert.deepEqual(jsonOf(json), {
      key,
      httpStatus: 201,
      replayed: true,
      answer: jsonOf(json)['answer'],
    });
  });

  it('shows a problem with what to do: 3 for a key that is used for another order', async () => {
    const key = randomUUID();
    await run([...SUBMIT, '--key', key]);

    const other = ['submit', '-u', 'cli', '-a', '2000', '--key', key];
    const [refused, json] = [await run(other), await run([...other, '--json'])];

    assert.deepEqual([refused.exitCode, refused.out], [3, '']);
    assert.match(refused.err, /\(409 idempotency-key-reused\)\.\n.*For a new intent use a new key/);
    const { error } = jsonOf(json) as { error: { type: string } };
    assert.deepEqual([json.exitCode, error.type], [3, '/problems/idempotency-key-reused']);
  });

  for (const [what, args, slug] of [
    ['sold out', ['--item', 'SOLD-OUT'], 'out-of-stock'],
    ['declined', ['--payment-method', 'pm_declined'], 'payment-declined'],
  ] as const) {
    it(`ends with 1 where the order is ${what}`, async () => {
      const ran = await run([...SUBMIT, ...args]);

      assert.equal(ran.exitCode, 1);
      assert.match(ran.out, new RegExp(`cancelled, ${slug}\n`));
    });
  }

  it('waits as long as it is told to: 0 where it is not to wait, 6 where the time is over', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);

    const sent = await run([...SUBMIT, '--wait', '0']);
    const waited = await run([...SUBMIT, '--wait', '1']);

    assert.deepEqual([sent.exitCode, waited.exitCode], [0, 6]);
    for (const ran of [sent, waited]) assert.match(ran.out, /processing/);
    await heal(stack);
    for (const ran of [sent, waited]) assert.equal(await ended(stack, orderIdOf(ran)), 'confirmed');
  });

  it('shows where an order stands, in words and as the API’s document', async () => {
    const { orderId } = (await stack.post(ORDER)).json as { orderId: string };

    const text = await run(['status', orderId]);
    const json = await run(['status', orderId, '--json']);
    const asOperator = await run(['status', orderId, '--operator', '--json']);

    assert.match(text.out, new RegExp(`^${orderId}  confirmed\n`));
    assert.match(text.out, new RegExp(`payment +done +${orderId}:pay`));
    const document = (await stack.get(`/orders/${orderId}`)).json;
    assert.deepEqual([jsonOf(json), jsonOf(asOperator)], [document, document]);
  });

  it('says of an unknown order that there is none', async () => {
    for (const args of [['status'], ['watch'], ['cancel'], ['explain']]) {
      const ran = await run([...args, 'ORD-00000000000000000000000000000000']);

      assert.equal(ran.exitCode, 3, args[0]);
      assert.match(ran.err, /\(404 not-found\)|There is no order/);
    }
  });

  it('cancels an order and watches it to its end', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const { orderId } = await place(stack, ORDER);
    let seen = '';
    const watching = run(['watch', orderId], { onOut: (text) => (seen += text) });
    await until(() => seen.includes('processing'));

    const cancelled = await run(['cancel', orderId]);
    const ran = await watching;

    assert.equal(cancelled.exitCode, 0);
    assert.match(cancelled.out, /the cancel is taken/);
    assert.equal(ran.exitCode, 1);
    assert.match(ran.out, /Refund done, key .*:comp:pay\n/);
    assert.match(ran.out, /Order cancelled, order-cancelled\n$/);
    assert.match((await run(['cancel', orderId])).out, /is cancelled/);
  });

  it('watches in JSON, a document a line, to a confirmed end', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const { orderId } = await place(stack, ORDER);
    let seen = '';
    const watching = run(['watch', orderId, '--json'], { onOut: (text) => (seen += text) });
    await until(() => seen !== '');
    await heal(stack);

    const ran = await watching;

    const documents = ran.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { status: string });
    assert.equal(ran.exitCode, 0);
    assert.ok(documents.length >= 2);
    assert.deepEqual([documents[0]?.status, documents.at(-1)?.status], ['processing', 'confirmed']);
  });

  it('stops watching at ctrl-c, and leaves the order alone', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const { orderId } = await place(stack, ORDER);
    const ctrlC = new AbortController();

    const ran = await run(['watch', orderId], {
      interrupted: ctrlC.signal,
      onOut: () => setImmediate(() => ctrlC.abort()),
    });

    assert.equal(ran.exitCode, 130);
    await heal(stack);
    assert.equal(await ended(stack, orderId), 'confirmed');
  });

  it('refuses to cancel a confirmed order', async () => {
    const { orderId } = (await stack.post(ORDER)).json as { orderId: string };

    const ran = await run(['cancel', orderId]);

    assert.equal(ran.exitCode, 3);
    assert.match(ran.err, /409 order-not-cancellable/);
  });

  it('lists orders by pages, with filters', async () => {
    const user = randomUUID();
    const placed = [];
    for (let count = 0; count < 3; count += 1) {
      const { json } = await stack.post({ ...ORDER, userId: user });
      placed.unshift(json['orderId']);
    }

    const first = await run(['list', '--user', user, '--limit', '2']);
    const cursor = /--cursor (\S+)/.exec(first.err)?.[1] ?? '';
    const second = await run([
      'list',
      '--user',
      user,
      '--limit',
      '2',
      '--cursor',
      cursor,
      '--json',
    ]);
    const none = await run(['list', '--user', user, '--status', 'cancelled']);

    assert.deepEqual(first.out.match(/ORD-[0-9a-f]+/g), placed.slice(0, 2));
    const { orders, nextCursor } = jsonOf(second) as {
      orders: { orderId: string }[];
      nextCursor: unknown;
    };
    assert.deepEqual([orders.map(({ orderId }) => orderId), nextCursor], [placed.slice(2), null]);
    assert.deepEqual([none.exitCode, none.out], [0, '']);
  });

  it('settles a stuck undo with an operator’s word, and lists it to operators', async () => {
    await stack.payment.faults([
      { operation: 'refund', fault: 'error-before', status: 400, times: 1 },
    ]);
    const soldOut = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };
    const { orderId } = await place(stack, soldOut);
    const status = async () => (await stack.get(`/orders/${orderId}`)).json['status'];
    await until(async () => (await status()) === 'needs_attention');

    const listed = await run(['list', '--operator', '--limit', '100']);
    const ran = await run(['ops', 'retry', orderId, 'payment', '--who', 'ada', '--why', 'healed']);
    await ended(stack, orderId);
    const again = await run(['ops', 'resolve', orderId, 'payment', '--why', 'late', '--json']);

    assert.match(listed.out, new RegExp(`${orderId}  needs a person`));
    assert.equal(ran.exitCode, 0);
    assert.match(ran.out, /is tried again at once/);
    const shown = await run(['status', orderId, '--operator']);
    assert.match(shown.out, /retry +ada: healed/);
    const { error } = jsonOf(again) as { error: { type: string } };
    assert.deepEqual([again.exitCode, error.type], [3, '/problems/undo-not-stuck']);
  });

  it('has colours in a terminal, and none in a pipe or in JSON', async () => {
    const { orderId } = (await stack.post(ORDER)).json as { orderId: string };

    const [terminal, plain, pipe, json] = await Promise.all([
      run(['status', orderId], { hasColors: true }),
      run(['status', orderId], { hasColors: false }),
      run(['status', orderId]),
      run(['status', orderId, '--json'], { hasColors: true }),
    ]);

    assert.match(terminal.out, COLOUR);
    for (const { out } of [plain, pipe, json]) assert.doesNotMatch(out, COLOUR);
    assert.equal(pipe.out, plain.out);
  });

  it('runs as a program, with its own exit code and streams', async () => {
    const bin = fileURLToPath(new URL('../../bin/order-saga.js', import.meta.url));

    const { stdout, stderr } = await promisify(execFile)(bin, ['list', '--json'], {
      env: { PATH: process.env['PATH'], ...env },
    });
    const refused = await promisify(execFile)(bin, ['status', 'nope'], {
      env: { PATH: process.env['PATH'], ...env },
    }).catch((error: unknown) => error as { code: number; stdout: string; stderr: string });

    assert.ok('orders' in (JSON.parse(stdout) as object));
    assert.match(stderr, /Using the stack on /);
    assert.doesNotMatch(stdout + stderr, COLOUR);
    assert.deepEqual(['code' in refused ? refused.code : 0, refused.stdout], [3, '']);
  });

  it('calls the API that ORDER_SAGA_URL names, with the token that is set', async () => {
    const url = `http://127.0.0.1:${stack.env['PORT'] ?? ''}`;
    const ORDER_SAGA_TOKEN = 'other-token';

    const ran = await command({ ORDER_SAGA_URL: url, ORDER_SAGA_TOKEN }, [...SUBMIT, '--json']);
    const wrong = await command({ ORDER_SAGA_URL: url, ORDER_SAGA_TOKEN: 'wrong' }, ['list']);

    assert.equal(ran.exitCode, 0);
    const { answer } = jsonOf(ran) as { answer: { orderId: string } };
    assert.equal((await stack.get(`/orders/${answer.orderId}`, 'other-token')).status, 200);
    assert.equal((await stack.get(`/orders/${answer.orderId}`)).status, 404);
    assert.equal(wrong.exitCode, 3);
    assert.match(wrong.err, /401 unauthorized/);
  });

  it('sends no token of a stack here to an API elsewhere', async () => {
    const ran = await command({ ...env, ORDER_SAGA_URL: 'http://127.0.0.1:9' }, ['list']);

    assert.equal(ran.exitCode, 2);
    assert.match(ran.err, /Set ORDER_SAGA_TOKEN/);
  });

  it('says of an API that is away, or says 503, that nothing is lost: 4', async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    const busy = createServer((_request, response) => {
      const problem = { type: '/problems/overloaded', title: 'Too much to do', status: 503 };
      response.writeHead(503, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ ...problem, detail: 'Repeat it with the same key.' }));
    });
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
    const { port } = busy.address() as AddressInfo;

    const gone = await command({ ORDER_SAGA_URL: away, ORDER_SAGA_TOKEN: 't' }, SUBMIT);
    const url = `http://127.0.0.1:${port}`;
    const refused = await command({ ORDER_SAGA_URL: url, ORDER_SAGA_TOKEN: 't' }, SUBMIT);
    busy.close();
    busy.closeAllConnections();

    assert.deepEqual([gone.exitCode, refused.exitCode], [4, 4]);
    assert.match(gone.err, /can not be reached\.\nNothing is lost/);
    assert.match(refused.err, /Too much to do \(503 overloaded\)\.\nRepeat it with the same key\./);
  });

  for (const [what, args, says] of [
    ['no command', [], /Usage: order-saga/],
    ['an unknown command', ['submmit'], /Did you mean submit\?/],
    ['an order without an amount', ['submit', '-u', 'a'], /'-a, --amount <n>' not specified/],
    ['an amount with a fraction', ['submit', '-u', 'a', '-a', '1.5'], /integer from 1 to 10000000/],
    ['a quantity of none', ['submit', '-u', 'a', '-a', '1', '-i', 'A=0'], /integer from 1 to 1000/],
    ['an unknown status', ['list', '-s', 'done'], /Allowed choices are processing,/],
    ['an operator’s word without a reason', ['ops', 'retry', 'ORD-1', 'payment'], /'--why <text>'/],
    ['an unknown step', ['ops', 'retry', 'ORD-1', 'delivery', '--why', 'x'], /payment, inventory/],
  ] as const) {
    it(`does not understand ${what}: 2`, async () => {
      const ran = await run(args);

      assert.deepEqual([ran.exitCode, ran.out], [2, '']);
      assert.match(ran.err, says);
    });
  }

  it('says where no stack is what to do: 2', async () => {
    const ran = await command({ DATA_DIR: '/nowhere' }, ['list']);

    assert.equal(ran.exitCode, 2);
    assert.match(ran.err, /No stack runs on \/nowhere\.\nStart one here with "npm start"/);
  });

  it('teaches each command with its exit codes or an example', async () => {
    const whole = await run(['--help']);
    const names = [...whole.out.matchAll(/^ {2}([a-z]+) .*/gm)].map(([, name = '']) => name);

    assert.ok(['submit', 'explain', 'doctor', 'ops'].every((name) => names.includes(name)));
    for (const name of ['submit', 'status', 'watch', 'list', 'explain', 'doctor']) {
      const { exitCode, out } = await run([name, '--help']);

      assert.equal(exitCode, 0);
      assert.match(out, /Examples?:\n {2}order-saga|Exit codes:\n/, name);
    }
  });
});
