import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Intent } from '../../../src/api/idempotency/claims.js';
import { createEntry } from '../../../src/api/idempotency/enter.js';
import type { Entered } from '../../../src/api/idempotency/enter.js';
import type { Memo } from '../../../src/api/idempotency/start-once.js';
import { Crashed, EntryWorld } from './entry-world.js';
import type { Step } from './entry-world.js';

/** 1,000 runs of up to six requests: some seconds. Each entrance below that is wrong falls within the first ten. */
const RUNS = 1_000;

const KEYS = ['key-1', 'key-2'] as const;
const BODIES = ['body-1', 'body-2'] as const;

/** A request, and after how many of its steps its process dies; `lost` is the row of its key, meanwhile. */
interface Event {
  readonly key: (typeof KEYS)[number];
  readonly body: (typeof BODIES)[number];
  readonly diesAfter: number | undefined;
  readonly isRowLost: boolean;
}

/** One way to let a request in. */
type Entrance = (world: EntryWorld, step: Step, intent: Intent) => Promise<Entered>;

const ours: Entrance = (world, step, intent) =>
  createEntry({ claims: world.claims(step), client: world.client(step) }).enter(
    intent,
    world.operation(step),
  );

/** Answers 409 to every duplicate of what is not finished: one crash, and the key is stuck for ever. */
const refusesUnfinished: Entrance = async (world, step, intent) => {
  const claim = await world.claims(step).take(intent, world.mintId(), NONE);
  if (claim.kind === 'answered' || claim.kind === 'other-body') return claim;
  if (claim.kind === 'unfinished') return { kind: 'running', resourceId: claim.resourceId };
  await step('start', () => world.start(intent.workflowId, memoOf(intent, claim.resourceId)));
  return { kind: 'started', resourceId: claim.resourceId };
};

/** Looks before it writes, and names the workflow after what it wrote: two that look at once both find nothing. */
const selectsThenInserts: Entrance = async (world, step, intent) => {
  const found = await world.claims(step).find(intent);
  if (found?.kind === 'answered' || found?.kind === 'other-body') return found;
  const resourceId = found?.resourceId ?? world.mintId();
  if (found === undefined) {
    await step('insert', () =>
      world.rows.set(intent.keyDigest, {
        requestHash: intent.requestHash,
        resourceId,
        answer: undefined,
      }),
    );
  }
  await step('start', () => {
    if (!world.workflows.has(resourceId)) world.start(resourceId, memoOf(intent, resourceId));
  });
  return { kind: 'started', resourceId };
};

const NONE = {
  insert: () => ({ sql: () => '', values: [] }),
  deleteUnused: () => ({ sql: () => '', values: [] }),
};

describe('the entry under all interleavings and crashes', () => {
  it('makes one resource a key, answers it alone, and is never stuck', async () => {
    await fc.assert(holds(ours, { losesRows: true }), { numRuns: RUNS });
  });

  it('would get a key stuck that refused duplicates of what is not finished', async () => {
    await assertFails(refusesUnfinished);
  });

  it('would make two resources of a key that looked before it wrote', async () => {
    await assertFails(selectsThenInserts);
  });
});

async function assertFails(entrance: Entrance): Promise<void> {
  const { failed } = await fc.check(holds(entrance, { losesRows: false }), { numRuns: RUNS });
  assert.ok(failed);
}

function holds(entrance: Entrance, { losesRows }: { readonly losesRows: boolean }) {
  const event: fc.Arbitrary<Event> = fc.record({
    key: fc.constantFrom(...KEYS),
    body: fc.constantFrom(...BODIES),
    diesAfter: fc.option(fc.nat({ max: 12 }), { nil: undefined, freq: 2 }),
    isRowLost: losesRows ? fc.boolean() : fc.constant(false),
  });
  return fc.asyncProperty(
    fc.array(event, { minLength: 1, maxLength: 6 }),
    fc.scheduler(),
    async (events, scheduler) => {
      const world = new EntryWorld((workflowId) => void run(workflowId));
      /** A worker runs it to its end: the outcome is saved, and some time later the workflow is closed. */
      const run = async (workflowId: string): Promise<void> => {
        const workflow = world.workflows.get(workflowId)!;
        await scheduler.schedule(Promise.resolve(), 'workflow saves');
        world.saveOutcome(workflow.memo);
        await scheduler.schedule(Promise.resolve(), 'workflow closes');
        workflow.closed = true;
      };
      const answers: { readonly event: Pick<Event, 'key' | 'body'>; readonly entered: Entered }[] =
        [];
      const request = async (what: Event): Promise<void> => {
        if (what.isRowLost) {
          await scheduler.schedule(Promise.resolve(), 'row lost');
          world.loseRow(digestOf(what.key));
        }
        try {
          const step = stepsOf(scheduler, what.diesAfter);
          answers.push({ event: what, entered: await entrance(world, step, intentOf(what)) });
        } catch (error) {
          if (!(error instanceof Crashed)) throw error;
        }
      };

      const requests = Promise.all(events.map(request));
      await scheduler.waitFor(requests);

      // Whoever is left without an answer repeats the request; by the third time the workflow has ended.
      const whole = { diesAfter: undefined, isRowLost: false };
      for (let round = 1; round <= 3; round += 1) {
        for (const { key, body } of events) {
          await scheduler.waitFor(request({ key, body, ...whole }));
        }
        await scheduler.waitIdle();
      }
      check(world, events, answers);
    },
  );
}

/** What must hold whatever happened. */
function check(
  world: EntryWorld,
  events: readonly Event[],
  answers: readonly { readonly event: Pick<Event, 'key' | 'body'>; readonly entered: Entered }[],
): void {
  for (const key of new Set(events.map((event) => event.key))) {
    assert.equal(world.startsOf.get(digestOf(key)), 1, 'one workflow a key');
    const { memo } = [...world.workflows.values()].find(
      (one) => one.memo.keyDigest === digestOf(key),
    )!;
    const wanted = `${memo.resourceId} of ${memo.requestHash}`;
    const ofKey = answers.filter(({ event }) => event.key === key);
    for (const { event, entered } of ofKey) {
      if (entered.kind === 'answered')
        assert.equal(entered.answer.body, wanted, 'one answer a key');
      if (entered.kind === 'started' || entered.kind === 'running') {
        assert.equal(entered.resourceId, memo.resourceId, 'one resource a key');
      }
      if (entered.kind !== 'other-body')
        assert.equal(memo.requestHash, event.body, 'one body a key');
    }
    const last = ofKey.filter(({ event }) => event.body === memo.requestHash).at(-1);
    assert.equal(last?.entered.kind, 'answered', 'never stuck');
  }
}

/** Steps of one process: each waits for its turn before it happens and before its reply is heard. */
function stepsOf(scheduler: fc.Scheduler, diesAfter: number | undefined): Step {
  let steps = 0;
  const turn = async (label: string): Promise<void> => {
    await scheduler.schedule(Promise.resolve(), label);
    if (steps === diesAfter) throw new Crashed();
    steps += 1;
  };
  return async (what, act) => {
    await turn(what);
    // A refusal is a reply too.
    const [settled] = await Promise.allSettled([Promise.resolve().then(act)]);
    await turn(`reply to ${what}`);
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  };
}

const digestOf = (key: string): string => `digest of ${key}`;

const intentOf = ({ key, body }: Pick<Event, 'key' | 'body'>): Intent => ({
  tenant: 'tenant',
  scope: 'POST:/things',
  key,
  keyDigest: digestOf(key),
  requestHash: body,
  workflowId: `thing-${key}`,
});

function memoOf({ tenant, scope, keyDigest, requestHash }: Intent, resourceId: string): Memo {
  return { tenant, scope, keyDigest, requestHash, resourceId };
}
