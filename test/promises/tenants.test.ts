import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { sharedStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };

describe('promise: tenants', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(120_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
  });

  /** Runs the command as `npm run clients` does, beside the stack. @returns what it wrote. */
  const clients = async (...args: string[]): Promise<string> => {
    const { PATH = '', DATA_DIR = '' } = stack.env;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['dist/clients/main.js', ...args],
      { env: { PATH, DATA_DIR } },
    );
    return stdout.trim();
  };

  it('a client that is added places orders at once, and none within seconds of being revoked', async () => {
    const name = `t-${randomUUID()}`;
    const token = await clients('add', name);
    const key = randomUUID();

    const placed = await stack.post(ORDER, { key, token });
    const fresh = await clients('rotate', name);
    const again = await stack.post(ORDER, { key, token: fresh });
    await clients('revoke', name);

    assert.equal(placed.status, 201);
    assert.deepEqual([again.status, again.text], [201, placed.text]);
    for (const old of [token, fresh]) {
      await until(async () => (await stack.post(ORDER, { key, token: old })).status === 401);
    }
    assert.deepEqual(await stack.payment.kinds(String(placed.json['orderId'])), ['charge']);
  });

  it('the command says what is wrong, and exits 1 or 2', async () => {
    const failed = async (...args: string[]): Promise<[number, string]> => {
      const error = await clients(...args).then(
        () => assert.fail('it went through'),
        (thrown: unknown) => thrown as { code: number; stdout: string; stderr: string },
      );
      assert.equal(error.stdout, '');
      return [error.code, error.stderr];
    };

    const [unknown, what] = await failed('revoke', randomUUID());
    const [misused, usage] = await failed('remove', 'acme');

    assert.deepEqual([unknown, misused], [1, 2]);
    assert.match(what, /^There is no tenant/);
    assert.match(usage, /^Say one of add, list, rotate, revoke\.\n\nUsage: npm run clients/);
  });

  it('another tenant’s order is an unknown order, byte for byte, at every address', async () => {
    const placed = await stack.post(ORDER);
    const theirs = String(placed.json['orderId']);
    const unknown = 'ORD-0123456789abcdef0123456789abcdef';
    const token = 'other-token';

    for (const ask of [
      (id: string) => stack.get(`/orders/${id}`, token),
      (id: string) => stack.get(`/orders/${id}/events`, token),
      (id: string) => stack.send(`/orders/${id}/cancel`, { token }),
      (id: string) => stack.send(`/orders/${id}/cancel`, { token, body: {} }),
      (id: string) =>
        stack.send(`/orders/${id}/undo/retry`, { token, body: { step: 'payment', why: 'w' } }),
      (id: string) =>
        stack.send(`/orders/${id}/undo/resolve`, { token, body: { step: 'payment', why: 'w' } }),
    ]) {
      const [one, other] = [await ask(theirs), await ask(unknown)];
      assert.ok([403, 404].includes(one.status), one.text);
      assert.deepEqual(told(one), told(other));
      assert.ok(!one.text.includes(theirs));
    }
    assert.equal((await stack.get(`/orders/${theirs}`)).json['status'], 'confirmed');
  });
});

/** What an answer tells, without what every answer has of its own. */
function told({ status, text, headers, json }: WireAnswer) {
  const requestId = String(json['requestId']);
  const all = Object.fromEntries(headers);
  delete all['date'];
  assert.equal(all['x-request-id'], requestId);
  delete all['x-request-id'];
  return { status, headers: all, text: text.replace(requestId, '') };
}
