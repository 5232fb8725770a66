import assert from 'node:assert/strict';
import type { WorkflowHandle } from '@temporalio/client';
import type { OrderOutcome } from '../../src/domain/outcome.js';
import { ORDER_PROGRESS } from '../../src/domain/place-order.js';
import type { OrderProgress, PlaceOrderInput } from '../../src/domain/place-order.js';
import { placeOrder } from '../../src/workflows/place-order.js';
import { resolveUndo, retryUndo } from '../../src/workflows/undo-step.js';
import { anInput, anOrder, workflowIdOf } from '../support/orders.js';
import { resetToStart } from '../support/reset.js';
import { until } from '../support/until.js';
import { startWorkflowWorker } from '../support/workflow-worker.js';
import type { WorkflowWorker } from '../support/workflow-worker.js';
import { BEHAVIOURS, createWorld, distinctCalls } from '../support/world.js';
import type { Behaviour, Call, Operation, OrderWorld, Scenario } from '../support/world.js';

const TASK_QUEUE = 'place-order-test';

/** Where a cancel comes: at the beginning of a call, before it takes effect. */
type CancelPoint = 'never' | 'charge' | 'reserve' | 'decide' | 'release' | 'refund' | 'save';
const CANCEL_POINTS: readonly CancelPoint[] = [
  'never',
  'charge',
  'reserve',
  'decide',
  'release',
  'refund',
  'save',
];

interface Case {
  readonly payment: Behaviour;
  readonly inventory: Behaviour;
  readonly cancelAt: CancelPoint;
}

interface Run {
  readonly outcome: OrderOutcome;
  readonly seen: OrderWorld;
  readonly id: string;
}

const isDone = (behaviour: Behaviour): boolean => behaviour.startsWith('done');
const isRefused = (behaviour: Behaviour): boolean => behaviour.startsWith('refused');

/** Every combination that differs: a payment that is not done leaves no inventory to vary. */
const CASES: readonly Case[] = BEHAVIOURS.flatMap((payment) =>
  (isDone(payment) ? BEHAVIOURS : (['done'] as const)).flatMap((inventory) =>
    CANCEL_POINTS.map((cancelAt) => ({ payment, inventory, cancelAt })),
  ),
);

/**
 * The contract in one place: what must be called, in which order, and how the order ends. A cancel counts
 * at the step that it meets, unless the step was refused, and not at all once the undo has begun. Without a
 * refusal every step is undone: a task that was lost may have got further than this run.
 */
function expected({ payment, inventory, cancelAt }: Case): { calls: Operation[]; ends: string } {
  const undone = (calls: Operation[], undos: Operation[], reason: string) => ({
    calls: [...calls, 'decide' as const, ...undos, 'save' as const],
    ends: reason,
  });
  if (isRefused(payment)) return undone(['charge'], [], 'payment-declined');
  const both: Operation[] = ['release', 'refund'];
  if (cancelAt === 'charge') return undone(['charge'], both, 'order-cancelled');
  if (!isDone(payment)) return undone(['charge'], both, 'payment-unavailable');
  if (isRefused(inventory)) return undone(['charge', 'reserve'], ['refund'], 'out-of-stock');
  if (cancelAt === 'reserve') return undone(['charge', 'reserve'], both, 'order-cancelled');
  if (!isDone(inventory)) return undone(['charge', 'reserve'], both, 'inventory-unavailable');
  return { calls: ['charge', 'reserve', 'save'], ends: 'confirmed' };
}

/**
 * A local attempt runs inside a workflow task, and a cancel is seen only after it: by then the next step may
 * be done, or the order ended. Both ends are right then; what never may be is one in between.
 */
function isSeenLate({ payment, inventory, cancelAt }: Case): boolean {
  const answers: Partial<Record<CancelPoint, Behaviour>> = { charge: payment, reserve: inventory };
  return ['done', 'refused'].includes(answers[cancelAt] ?? '');
}

/** A task that would end the order while a cancel waits is repeated by the server, and its local calls with it. */
function isRepeated({ payment, cancelAt }: Case): boolean {
  return cancelAt === 'save' || (cancelAt === 'decide' && isRefused(payment));
}

describe('placeOrder', () => {
  const world = createWorld();
  let workflows: WorkflowWorker;

  before(async function () {
    this.timeout(120_000); // downloads and bundles on a fresh machine
    workflows = await startWorkflowWorker(TASK_QUEUE, world.activities);
  });
  after(() => workflows.stop());

  /** Starts an order in a world that behaves as the scenario says. */
  async function start(scenario: Scenario, input: PlaceOrderInput = anInput()) {
    const { order } = input;
    const seen = world.prepare(order.orderId, scenario);
    const workflowId = workflowIdOf(order);
    const { client } = workflows;
    const args: [PlaceOrderInput] = [input];
    await client.workflow.start(placeOrder, { taskQueue: TASK_QUEUE, workflowId, args });
    // Without a run ID: after a reset the order goes on in another run.
    const handle = client.workflow.getHandle<typeof placeOrder>(workflowId);
    return { handle, seen, id: order.orderId };
  }

  async function run(scenario: Scenario, input?: PlaceOrderInput): Promise<Run> {
    const { handle, seen, id } = await start(scenario, input);
    return { outcome: await handle.result(), seen, id };
  }

  /** Runs an order that is cancelled once, at the first call of an operation that is not shortened away. */
  function runCase({ payment, inventory, cancelAt }: Case): Promise<Run> {
    const input = anInput();
    const handle = workflows.client.workflow.getHandle(workflowIdOf(input.order));
    const isLast: Partial<Record<CancelPoint, Behaviour>> = {
      charge: payment,
      reserve: inventory,
    };
    let cancelled = false;
    const onCall = async ({ operation, isLocal }: Call): Promise<void> => {
      // A step that answers later is met in its regular activity, where a cancel is seen at once.
      const isMet = operation === cancelAt && isLocal === !isPatient(isLast[operation], operation);
      if (!isMet || cancelled) return;
      cancelled = true;
      await handle.cancel();
    };
    return run({ payment, inventory, onCall }, input);
  }

  describe('whatever its steps answer and wherever a cancel comes,', () => {
    let runs: ReadonlyMap<Case, Promise<Run>>;

    before(() => {
      // Side by side: time is skipped for each workflow by itself.
      runs = new Map(CASES.map((one) => [one, runCase(one)]));
    });

    for (const one of CASES) {
      const { payment, inventory, cancelAt } = one;
      it(`ends right: payment ${payment}, inventory ${inventory}, cancel at ${cancelAt}`, async () => {
        const { outcome, seen, id } = await runs.get(one)!;

        const ends = outcome.status === 'confirmed' ? 'confirmed' : outcome.reason;
        assert.equal(seen.saved, ends);
        assertAllOrNothing(outcome, seen);
        assertKeys(seen.calls, id);
        if (isSeenLate(one)) return;
        const right = expected(one);
        assert.equal(ends, right.ends);
        const calls = distinctCalls(seen.calls).map((line) => line.split(' ')[0]);
        assert.deepEqual(isRepeated(one) ? calls.slice(0, right.calls.length) : calls, right.calls);
      });
    }
  });

  describe('when an undo fails,', () => {
    const soldOut = { payment: 'done', inventory: 'refused' } as const;

    for (const failures of [1, 5, 50]) {
      it(`undoes once after ${failures} failures that pass`, async () => {
        const undoFails = (_call: Call, nth: number) => (nth <= failures ? 'pass' : undefined);

        const { outcome, seen } = await run({ ...soldOut, undoFails });

        assert.deepEqual(outcome, {
          answerVersion: 1,
          status: 'cancelled',
          reason: 'out-of-stock',
        });
        assert.equal(countOf(seen, 'refund'), failures + 1);
        // Fifty failures take longer than the 900 s after which a person is asked; five do not.
        assert.equal(countOf(seen, 'attention') > 0, failures === 50);
        assertAllOrNothing(outcome, seen);
      });
    }

    it('goes on with the other undos, and retries the stuck one when an operator asks', async () => {
      let healed = false;
      const undoFails = ({ operation }: Call) =>
        operation === 'release' && !healed ? 'never' : undefined;
      const { handle, seen } = await start({
        payment: 'done',
        inventory: 'unknown-happened',
        undoFails,
      });
      await until(async () => {
        const { status, steps } = await progressOf(handle);
        return status === 'needs_attention' && steps[0]?.compensationState === 'done';
      });

      // Not while the service still refuses: the undo is stuck again, and says who tried.
      await handle.signal(retryUndo, { step: 'inventory', who: 'ada', why: 'try' });
      await until(async () => (await progressOf(handle)).steps[1]?.interventions?.length === 1);
      healed = true;
      await handle.signal(retryUndo, { step: 'inventory', who: 'ada', why: 'healed' });
      const outcome = await handle.result();

      assert.deepEqual(outcome, {
        answerVersion: 1,
        status: 'cancelled',
        reason: 'inventory-unavailable',
      });
      assertAllOrNothing(outcome, seen);
      const undos = seen.calls
        .map(({ operation }) => operation)
        .filter((one) => one.startsWith('re'));
      assert.deepEqual(distinct(undos), ['reserve', 'release', 'refund', 'release']);
    });

    it('ends when a person has settled the stuck undo, and says so', async () => {
      const { handle, seen } = await start({ ...soldOut, undoFails: () => 'never' });
      await until(async () => (await progressOf(handle)).status === 'needs_attention');

      await handle.signal(resolveUndo, { step: 'payment', who: 'ada', why: 'refunded by hand' });
      const outcome = await handle.result();

      assert.deepEqual(outcome, {
        answerVersion: 1,
        status: 'cancelled',
        reason: 'resolved-by-operator',
      });
      assert.equal(seen.saved, 'resolved-by-operator');
      const [payment] = (await progressOf(handle)).steps;
      assert.equal(payment?.compensationState, 'resolved');
      assert.deepEqual(
        payment.interventions?.map(({ action, who, why }) => ({ action, who, why })),
        [{ action: 'resolve', who: 'ada', why: 'refunded by hand' }],
      );
    });

    it('ignores an operator who resolves what is not stuck', async () => {
      const input = anInput();
      const handle = workflows.client.workflow.getHandle<typeof placeOrder>(
        workflowIdOf(input.order),
      );
      const onCall = async ({ operation }: Call) => {
        if (operation !== 'refund') return;
        await handle.signal(resolveUndo, { step: 'payment', who: 'eve', why: 'too early' });
      };

      const { outcome, seen } = await run({ ...soldOut, onCall }, input);

      assert.deepEqual(outcome, { answerVersion: 1, status: 'cancelled', reason: 'out-of-stock' });
      assertAllOrNothing(outcome, seen);
    });
  });

  describe('when an earlier run may have got further,', () => {
    it('undoes every step of an order that is started again', async () => {
      const input = { ...anInput(), isFirstStart: false };

      const { seen, id } = await run({ payment: 'unknown-happened', inventory: 'done' }, input);

      assert.deepEqual(distinctCalls(seen.calls), [
        `charge ${id}:pay`,
        'decide payment-unavailable',
        `release ${id}:comp:inv`,
        `refund ${id}:comp:pay`,
        'save payment-unavailable',
      ]);
    });

    it('keeps a confirmed order that is reset and then cancelled', async () => {
      const { seen, id } = await run({ payment: 'done', inventory: 'done' });
      const workflowId = workflowIdOf(anOrder({ orderId: id }));
      const before = seen.calls.length;
      await resetToStart(workflows.client, workflowId);
      await workflows.client.workflow.getHandle(workflowId).cancel();

      const outcome = (await workflows.client.workflow
        .getHandle(workflowId)
        .result()) as OrderOutcome;

      assert.equal(outcome.status, 'confirmed');
      assertAllOrNothing(outcome, seen);
      assert.ok(seen.calls.length > before);
      assert.equal(countOf(seen, 'refund') + countOf(seen, 'release'), 0);
    });

    it('undoes all steps when a reset order is cancelled before it got as far again', async () => {
      const input = anInput();
      const workflowId = workflowIdOf(input.order);
      const handle = workflows.client.workflow.getHandle<typeof placeOrder>(workflowId);
      let asked = 0;
      // The first run stops inside the last write; after the reset the cancel comes before the second step.
      const onCall = async ({ operation }: Call): Promise<void> => {
        if (operation === 'save' && asked === 0) {
          asked = 1;
          await resetToStart(workflows.client, workflowId);
          throw new Error('the run that was reset writes nothing more');
        }
        if (operation === 'charge' && asked === 1) {
          asked = 2;
          await handle.cancel();
          throw new Error('so that the step goes on as a regular activity');
        }
      };

      const { seen } = await start({ payment: 'done', inventory: 'done-later', onCall }, input);
      // Not before the reset: the first run's result would be that it was reset.
      await until(() => asked === 2);
      const outcome = await handle.result();

      assertAllOrNothing(outcome, seen);
      assert.equal(outcome.status, 'cancelled');
      assert.equal(seen.effects.get(`${input.order.orderId}:inv`), 'undone');
    });
  });

  it('lets a bug of our own fail the workflow task and undoes nothing', async () => {
    const input = anInput();
    const seen = world.prepare(input.order.orderId, { payment: 'done', inventory: 'done' });
    const broken = { ...input, limits: undefined };
    const handle = await workflows.client.workflow.start(placeOrder, {
      taskQueue: TASK_QUEUE,
      workflowId: workflowIdOf(input.order),
      args: [broken as unknown as PlaceOrderInput],
    });

    await until(async () => {
      const { events } = await handle.fetchHistory();
      return (
        events?.some(({ workflowTaskFailedEventAttributes: failed }) => Boolean(failed)) === true
      );
    });

    assert.equal((await handle.describe()).status.name, 'RUNNING');
    assert.deepEqual(seen.calls, []);
    await handle.terminate('the test is over');
  });
});

const progressOf = (handle: WorkflowHandle<typeof placeOrder>): Promise<OrderProgress> =>
  handle.query<OrderProgress>(ORDER_PROGRESS);

const countOf = ({ calls }: OrderWorld, operation: Operation): number =>
  calls.filter((call) => call.operation === operation).length;

const distinct = <T>(list: readonly T[]): T[] =>
  list.filter((one, index) => one !== list[index - 1]);

/** Steps that fail at the local attempt go on as regular activities; undos are regular ones always. */
function isPatient(behaviour: Behaviour | undefined, operation: Operation): boolean {
  if (operation === 'release' || operation === 'refund') return true;
  return behaviour !== undefined && behaviour !== 'done' && behaviour !== 'refused';
}

/** Money and goods: both effects stand on a confirmed order, none on a cancelled one. */
function assertAllOrNothing(outcome: OrderOutcome, { effects }: OrderWorld): void {
  const standing = [...effects.values()].filter((effect) => effect === 'done').length;
  assert.equal(standing, outcome.status === 'confirmed' ? 2 : 0);
}

/** Every call of an operation carries the one key that the order has for it. */
function assertKeys(calls: readonly Call[], orderId: string): void {
  const keys: Partial<Record<Operation, string>> = {
    charge: `${orderId}:pay`,
    reserve: `${orderId}:inv`,
    release: `${orderId}:comp:inv`,
    refund: `${orderId}:comp:pay`,
  };
  for (const { operation, key } of calls) {
    if (keys[operation] !== undefined) assert.equal(key, keys[operation]);
  }
}
