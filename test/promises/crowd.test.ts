import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';

const ORDER = { userId: 'u1', amount: 1_000 };

/** 200 posts, ten a key, in every run; `CROWD=2000` for the size that the issue of a busy day has. */
const POSTS = Number(process.env['CROWD'] ?? 200);
const KEYS = POSTS / 10;

describe('promise: a crowd', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(120_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
  });

  it('makes one order a key of a crowd of posts over two API processes', async () => {
    const second = await stack.startApi();
    const keys = Array.from({ length: KEYS }, () => randomUUID());
    const seen = new Map<string, number>();

    const answers = await Promise.all(
      Array.from({ length: POSTS }, async (_, index) => {
        const key = keys[index % KEYS]!;
        const api = index % 2 === 0 ? {} : { api: second };
        return { key, ...(await untilFinal(() => stack.post(ORDER, { key, ...api }), seen)) };
      }),
    );

    const worse = [...seen.keys()].filter((what) => what.startsWith('5'));
    assert.deepEqual(
      worse.filter((what) => what !== '503 /problems/overloaded'),
      [],
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    for (const key of keys) {
      const texts = new Set(answers.filter((one) => one.key === key).map(({ text }) => text));
      assert.equal(texts.size, 1);
    }
    const orderIds = [...new Set(answers.map(({ json }) => String(json['orderId'])))];
    assert.equal(orderIds.length, KEYS);
    for (const orderId of orderIds) {
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
      assert.deepEqual(await stack.inventory.kinds(orderId), ['reserve']);
    }
    assert.equal((await untilFinal(() => stack.post(ORDER), seen)).status, 201);
  }).timeout(300_000);
});

/** Repeats a post as a client must: after the time in Retry-After, until there is a final answer. */
async function untilFinal(
  post: () => Promise<WireAnswer>,
  seen: Map<string, number>,
): Promise<WireAnswer> {
  for (;;) {
    const answer = await post();
    const type = answer.json['type'];
    const what = typeof type === 'string' ? `${answer.status} ${type}` : String(answer.status);
    seen.set(what, (seen.get(what) ?? 0) + 1);
    const retryAfter = answer.headers.get('retry-after');
    if (retryAfter === null) return answer;
    await sleep(Number(retryAfter) * 1_000);
  }
}
