import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DeterminismViolationError } from '@temporalio/workflow';
import { Worker } from '@temporalio/worker';
import { ended } from '../support/money.js';
import { until } from '../support/until.js';
import { changedBuild } from './changed-build.js';
import { load } from './load.js';
import { assertBoughtOnce, ASYNC, attemptsOf, ORDER } from './orders.js';
import type { Program } from './program.js';
import { startRig } from './rig.js';
import type { Rig } from './rig.js';

const DEPLOYMENT = 'order-saga';
const HISTORY = new URL('../histories/0.1.0/confirmed-after-retries.json', import.meta.url);

describe('faults: a deploy in the middle of orders', () => {
  let rig: Rig;
  let patchedBuild: string;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await startRig();
    patchedBuild = await changedBuild(rig, 'patched');
  });
  after(() => rig.stop());
  afterEach(() => rig.heal());

  it('loses and doubles nothing when the workers are restarted one by one under load', async () => {
    const second = await rig.another('worker');
    await second.start();
    const clients = load(rig, 8);
    for (const worker of [rig.roles.worker, second]) {
      const before = clients.answers.length;
      await until(() => clients.answers.length > before + 8);
      assert.equal((await worker.stop()).code, 0);
      await worker.start();
    }
    const orders = await clients.stop();
    await second.stop();

    assert.equal(new Set(orders).size, orders.length);
    for (const orderId of orders) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
  }).timeout(240_000);

  it('F49 ends an order on a new build that began on the old one, whose workflow has changed', async () => {
    await rig.roles.worker.stop();
    const [old, next] = [await builtAs('A'), await builtAs('B', patchedBuild)];
    await startAs(old, 'A');
    const { orderId, workflowId } = await heldAtCharge();

    await startAs(next, 'B');
    await old.stop();
    await letGo();

    assert.equal(await ended(rig, orderId), 'confirmed');
    await assertBoughtOnce(rig, orderId);
    const { events } = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
    const timers = events?.filter((event) => event.timerStartedEventAttributes).length;
    // The step that began on the old build has no pause, the one after it has.
    assert.equal(timers, 1);
    await next.stop();
  }).timeout(240_000);

  it('F50 leaves an order of a new build to that build while an old one polls the same queue', async () => {
    await rig.roles.worker.stop();
    const [old, next] = [await builtAs('C'), await builtAs('D', patchedBuild)];
    await startAs(old, 'C');
    await startAs(next, 'D');
    const { orderId, workflowId } = await heldAtCharge();
    await next.kill();
    await letGo();
    // Its attempt has timed out and stands in the queue again, which the old build polls.
    await until(async () => (await attemptsOf(rig, workflowId)) >= 2);

    await next.start();

    assert.equal(await ended(rig, orderId), 'confirmed');
    await assertBoughtOnce(rig, orderId);
    const { events } = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
    assert.equal(events?.filter((event) => event.workflowTaskFailedEventAttributes).length, 0);
    await Promise.all([old.stop(), next.stop()]);
  }).timeout(240_000);

  it('F49 fails the replay of a stored history when a workflow is changed without a patch', async () => {
    const history: unknown = JSON.parse(await readFile(HISTORY, 'utf8'));
    const replay = async (build: string): Promise<void> => {
      const codePath = join(build, 'dist/workflow-bundle.js');
      await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, 'replayed');
    };

    await replay(patchedBuild);
    const unpatched = await changedBuild(rig, 'unpatched');
    await assert.rejects(() => replay(unpatched), DeterminismViolationError);
  }).timeout(240_000);

  /** A worker of a build, which it is told by its environment as a deployment would. */
  function builtAs(buildId: string, root?: string): Promise<Program> {
    const env = { TEMPORAL_DEPLOYMENT_NAME: DEPLOYMENT, TEMPORAL_WORKER_BUILD_ID: buildId };
    return rig.another('worker', { env, ...(root === undefined ? {} : { root }) });
  }

  /** Starts it, and makes its build the one that takes new orders and those that are open. */
  async function startAs(worker: Program, buildId: string): Promise<void> {
    await worker.start();
    // Temporal learns of a build by its worker's first poll.
    await until(() =>
      rig.temporal.workflowService
        .setWorkerDeploymentCurrentVersion({
          namespace: rig.temporal.options.namespace,
          deploymentName: DEPLOYMENT,
          buildId,
          identity: 'test',
        })
        .then(
          () => true,
          () => false,
        ),
    );
  }

  async function heldAtCharge(): Promise<{ orderId: string; workflowId: string }> {
    await rig.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const { json } = await rig.post(ORDER, { headers: ASYNC });
    const orderId = String(json['orderId']);
    await until(async () => (await rig.payment.calls(orderId)).length >= 2);
    return { orderId, workflowId: String(json['sagaId']) };
  }

  async function letGo(): Promise<void> {
    await rig.payment.faults([]);
    await rig.payment.release();
  }
});
