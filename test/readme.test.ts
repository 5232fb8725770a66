import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sharedStack } from './support/stack.js';
import type { RunningStack } from './support/stack.js';
import { until } from './support/until.js';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** The examples that a reader pastes: every block for a shell that calls something. */
const BLOCKS = [...README.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
  .map(([, block = '']) => block)
  .filter((block) => block.includes('curl '));

const [
  FIRST_ORDER = '',
  SOLD_OUT = '',
  STUCK_UNDO = '',
  LIST = '',
  RETRY = '',
  RESOLVE = '',
  CANCEL = '',
] = BLOCKS;

// One reader's session from the top of the page to its end: each test finds it as the one before left it.
describe('the README, as it is pasted into a shell,', function () {
  this.timeout(60_000);
  let stack: RunningStack;
  /** What the last block that sets it has set. */
  let orderId = '';
  let firstAnswer = '';

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
  });

  it('has no example but those that are tried here', () => {
    assert.equal(BLOCKS.length, 7);
  });

  it('places an order', async () => {
    firstAnswer = await paste(FIRST_ORDER);

    assert.match(firstAnswer, /^HTTP\/1.1 201 /);
    assert.match(firstAnswer, /"status":"confirmed"/);
    assert.doesNotMatch(firstAnswer, /idempotent-replayed/i);
  });

  it('answers the same command with the same bytes, and says so', async () => {
    const again = await paste(FIRST_ORDER);

    assert.match(again, /^HTTP\/1.1 201 /);
    assert.match(again, /^idempotent-replayed: true\r$/im);
    assert.equal(bodyOf(again), bodyOf(firstAnswer));
  });

  for (const [what, change, status, slug] of [
    [
      'another amount under the same key',
      (block: string) => block.replace('1000', '2000'),
      409,
      'idempotency-key-reused',
    ],
    [
      'no key',
      (block: string) => block.replace("-H 'Idempotency-Key: first-order'", ''),
      400,
      'idempotency-key-missing',
    ],
    [
      'a payment method that is declined',
      (block: string) =>
        block.replace('first-order', 'declined').replace('}', ',"paymentMethod":"pm_declined"}'),
      402,
      'payment-declined',
    ],
  ] as const) {
    it(`answers ${what} with ${status}`, async () => {
      const changed = change(FIRST_ORDER);
      assert.notEqual(changed, FIRST_ORDER);

      const answer = await paste(changed);

      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(answer, new RegExp(`"type":"/problems/${slug}"`));
      assert.ok(README.includes(`\`${status} ${slug}\``), 'the table says so');
    });
  }

  it('shows charge and refund of an order that is sold out', async () => {
    const ledger = JSON.parse(await paste(SOLD_OUT)) as { readonly kind: string }[];

    assert.deepEqual(
      ledger.map(({ kind }) => kind),
      ['charge', 'refund'],
    );
    const document = await stack.get(`/orders/${orderId}`);
    assert.equal(document.json['reason'], 'out-of-stock');
  });

  it('makes a stuck undo, finds it in the list, and retries it', async () => {
    await paste(STUCK_UNDO);
    await untilStatus('needs_attention');

    assert.ok((await paste(LIST)).includes(`"orderId":"${orderId}"`));
    const answer = await paste(RETRY);

    assert.match(answer, /^HTTP\/1.1 202 /);
    await untilStatus('cancelled');
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
  });

  it('says of an undo that is not stuck that it needs no person', async () => {
    const answer = await paste(RETRY);

    assert.match(answer, /^HTTP\/1.1 409 /);
    assert.match(answer, /"type":"\/problems\/undo-not-stuck"/);
  });

  it('makes another stuck undo, and resolves it', async () => {
    await paste(STUCK_UNDO.replace('stuck-undo', 'another-stuck-undo'));
    await untilStatus('needs_attention');

    const answer = await paste(RESOLVE);

    assert.match(answer, /^HTTP\/1.1 202 /);
    await untilStatus('cancelled');
    const { json } = await stack.get(`/orders/${orderId}`);
    assert.equal(json['reason'], 'resolved-by-operator');
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
  });

  it('takes a cancel, and refuses that of a confirmed order', async () => {
    const taken = await paste(CANCEL);
    orderId = /ORD-[0-9a-f]+/.exec(bodyOf(firstAnswer))?.[0] ?? '';
    const refused = await paste(CANCEL);

    assert.match(taken, /^HTTP\/1.1 202 /);
    assert.match(refused, /^HTTP\/1.1 409 /);
    assert.match(refused, /"type":"\/problems\/order-not-cancellable"/);
  });

  it('places an order twice from the command line, proves it, and finds all well', async () => {
    const block = /^```sh\n(npx order-saga [\s\S]*?)^```$/m.exec(README)?.[1] ?? '';

    // Ends badly where one of the commands does.
    const { stdout } = await promisify(execFile)('sh', ['-e', '-c', block], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: { PATH: process.env['PATH'], DATA_DIR: stack.env['DATA_DIR'] },
    });

    const ids = new Set(stdout.match(/ORD-[0-9a-f]{32}(?= )/g));
    assert.equal(ids.size, 1);
    assert.match(stdout, /^ {2}replayed/m);
    const counts = '1 order, 1 charge, 0 refunds, 1 reservation, 0 releases';
    assert.ok(stdout.includes(`\n${counts}\n`) && README.includes(`\`${counts}\``));
    assert.match(stdout, /, 0 failed\n$/);
  });

  /** Runs a block as it stands, but for the ports, and keeps what it sets. @returns its output. */
  async function paste(block: string): Promise<string> {
    const { PORT = '', PAYMENT_PORT = '' } = stack.env;
    const moved = block
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${PORT}`)
      .replaceAll('127.0.0.1:3001', `127.0.0.1:${PAYMENT_PORT}`);
    assert.notEqual(moved, block);
    const script = `${moved}\nprintf '\\nORDER_ID=%s' "$ORDER_ID"`;
    const { stdout } = await promisify(execFile)('sh', ['-e', '-c', script], {
      env: { PATH: process.env['PATH'], ORDER_ID: orderId },
    });
    const end = stdout.lastIndexOf('\nORDER_ID=');
    orderId = stdout.slice(end + '\nORDER_ID='.length);
    return stdout.slice(0, end);
  }

  async function untilStatus(status: string): Promise<void> {
    await until(async () => (await stack.get(`/orders/${orderId}`)).json['status'] === status);
  }
});

/** What follows the headers that `curl -i` shows. */
function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}
