import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ended } from '../support/money.js';
import { until } from '../support/until.js';
import { retried } from '../support/wire.js';
import { assertBoughtOnce, assertHolds, ASYNC, ORDER, WAIT } from './orders.js';
import { startRig } from './rig.js';
import type { Rig } from './rig.js';
import { FAST } from './servers.js';
import type { Server } from './servers.js';

interface Placed {
  readonly key: string;
  readonly orderId: string;
  /** The final answer, undefined of an order that is under way. */
  readonly text?: string;
}

describe('faults: a backup is restored', () => {
  let rig: Rig;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await startRig();
  });
  after(() => rig.stop());
  afterEach(() => rig.heal());

  it('restores Postgres with Temporal ahead: rows are written anew, and open orders go on', async () => {
    const early = await finished(4);
    const orders = rig.databases.orders;
    await backup(orders, 'orders', FAST);
    const late = await finished(4);
    const open = await heldAtCharge(3);

    await restore(orders, 'orders', FAST);

    await until(async () => (await rig.readiness()) === 200);
    await letGo();
    for (const { orderId } of [...early, ...late, ...open]) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
    await assertSameAnswers([...early, ...late, ...open]);
  }).timeout(240_000);

  it('restores Temporal with Postgres ahead: what was finished stays, what was open ends once', async () => {
    const atBackup = await heldAtCharge(3);
    const [cancelled] = atBackup.splice(0, 1);
    await backup(rig.temporalServer, 'temporal', 'SIGTERM');
    // After the backup these end, one of them with its money given back.
    await rig.send(`/orders/${cancelled!.orderId}/cancel`);
    await letGo();
    assert.equal(await ended(rig, cancelled!.orderId), 'cancelled');
    for (const { orderId } of atBackup) assert.equal(await ended(rig, orderId), 'confirmed');
    const late = await finished(4);
    const open = await heldAtCharge(3);

    await restore(rig.temporalServer, 'temporal', 'SIGTERM');

    await until(async () => (await rig.readiness()) === 200);
    await letGo();
    for (const { orderId } of [...atBackup, ...late, ...open]) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
    // The runs of the backup begin where they stood, and follow what was decided since.
    await until(async () => (await running()) === 0);
    await assertHolds(rig, cancelled!.orderId, 'cancelled');
    for (const { orderId } of atBackup) await assertBoughtOnce(rig, orderId);
    await assertSameAnswers([...late, ...open]);
  }).timeout(240_000);

  it('goes on without anything that Temporal knew: open orders are started again, keys replay', async () => {
    const early = await finished(4);
    const open = await heldAtCharge(3);
    await rig.temporalServer.end('SIGTERM');
    await rm(`${rig.temporalServer.data()}/temporal.db`);
    for (const rest of ['-wal', '-shm']) {
      await rm(`${rig.temporalServer.data()}/temporal.db${rest}`, { force: true });
    }
    await rig.temporalServer.start();
    // The schedules are lost too: a worker makes them when it starts, and every five minutes.
    await rig.roles.worker.stop();
    await rig.roles.worker.start();

    await letGo();
    for (const { orderId } of [...early, ...open]) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
    await assertSameAnswers([...early, ...open]);
  }).timeout(240_000);

  async function finished(count: number): Promise<Placed[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const key = randomUUID();
        const { status, json, text } = await rig.post(ORDER, { key, headers: WAIT });
        assert.equal(status, 201);
        return { key, orderId: String(json['orderId']), text };
      }),
    );
  }

  async function heldAtCharge(count: number): Promise<Placed[]> {
    await rig.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const orders = await Promise.all(
      Array.from({ length: count }, async () => {
        const key = randomUUID();
        const { json } = await rig.post(ORDER, { key, headers: ASYNC });
        return { key, orderId: String(json['orderId']) };
      }),
    );
    for (const { orderId } of orders) {
      await until(async () => (await rig.payment.calls(orderId)).length > 0);
    }
    return orders;
  }

  async function letGo(): Promise<void> {
    await rig.payment.faults([]);
    await rig.payment.release();
  }

  /** Every key gives the answer that its client had, or a final one where it had none. */
  async function assertSameAnswers(orders: readonly Placed[]): Promise<void> {
    for (const { key, orderId, text } of orders) {
      const again = await retried(() => rig.post(ORDER, { key, headers: WAIT }));
      assert.deepEqual([again.status, again.json['orderId']], [201, orderId]);
      if (text !== undefined) assert.equal(again.text, text);
    }
  }

  async function running(): Promise<number> {
    const query = `WorkflowType = 'placeOrder' and ExecutionStatus = 'Running'`;
    return (await rig.temporal.workflow.count(query)).count;
  }

  /** As docs/operations.md says: stopped, copied, started. */
  async function backup(server: Server, name: string, signal: NodeJS.Signals): Promise<void> {
    await server.end(signal);
    await copy(server.data(), `${rig.folder}/backup-${name}`);
    await server.start();
    await until(async () => (await rig.readiness()) === 200);
  }

  async function restore(server: Server, name: string, signal: NodeJS.Signals): Promise<void> {
    await server.end(signal);
    await copy(`${rig.folder}/backup-${name}`, server.data());
    await server.start();
  }
});

/** With owners and modes, as Postgres insists on them. */
async function copy(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await promisify(execFile)('cp', ['--archive', from, to]);
}
