import assert from 'node:assert/strict';
import { openEvents } from '../support/event-stream.js';
import type { ReceivedStream } from '../support/event-stream.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';

const SOLD_OUT = { userId: 'u1', amount: 1_000, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };

describe('promise: an order can be watched to its end', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(() => stack.payment.faults([]));

  for (const [what, signal] of [
    ['is stopped', 'SIGTERM'],
    ['is killed', 'SIGKILL'],
  ] as const) {
    it(`goes on where it was when the API ${what} under an open stream`, async () => {
      await stack.payment.faults([{ operation: 'refund', fault: 'error-before', status: 400 }]);
      const accepted = await stack.post(SOLD_OUT, { headers: { prefer: 'respond-async' } });
      const location = accepted.headers.get('location') ?? '';
      const first = await watch(location);
      await until(() => first.events.at(-1)?.data['status'] === 'needs_attention');
      const isCut = first.ended.then(
        () => false,
        () => true,
      );

      const pid = await stack.pid('api');
      process.kill(pid, signal);
      assert.equal(await isCut, signal === 'SIGKILL');
      await until(async () => (await stack.pid('api')) !== pid && (await isReady()));
      const second = await watch(location, first.events.at(-1)?.id);
      await resolve(location);
      await second.ended;

      assert.equal(second.events.at(-1)?.data['status'], 'cancelled');
      assert.deepEqual(second.events.at(-1)?.data, (await stack.get(location)).json);
      const end = await watch(location, second.events.at(-1)?.id);
      assert.equal(end.status, 204);
    }).timeout(60_000);
  }

  /** An operator's word, which gets through once the API has found Temporal again. */
  const resolve = (location: string) =>
    until(async () => {
      const body = { step: 'payment', why: 'refunded by bank transfer' };
      const answer = await stack.send(`${location}/undo/resolve`, { token: 'ops-token', body });
      return answer.status === 202;
    });

  const isReady = () =>
    stack.get('/healthz').then(
      ({ status }) => status === 200,
      () => false,
    );

  function watch(location: string, lastEventId?: string): Promise<ReceivedStream> {
    return openEvents(`http://127.0.0.1:${stack.env['PORT'] ?? ''}${location}/events`, {
      authorization: 'Bearer demo-token',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    });
  }
});
