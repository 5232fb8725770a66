import assert from 'node:assert/strict';
import { mkdtemp, realpath, chmod, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { ended } from '../support/money.js';
import { until } from '../support/until.js';
import { retried } from '../support/wire.js';
import { assertBoughtOnce, assertHolds, ASYNC, ORDER, WAIT } from './orders.js';
import { startRig } from './rig.js';
import type { Rig } from './rig.js';
import { onSmallDisk } from './small-disk.js';
import type { SmallDisk } from './small-disk.js';
import type { DatabaseServer, Server } from './servers.js';

describe('faults: a disk is full', () => {
  let rig: Rig;
  let payment: SmallDisk<DatabaseServer>;
  let temporal: SmallDisk<Server>;
  let folder: string;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    folder = await realpath(await mkdtemp(join(tmpdir(), 'order-saga-disks-')));
    await chmod(folder, 0o711);
    [payment, temporal] = await Promise.all([
      onSmallDisk(folder, 'payment', 120),
      onSmallDisk(folder, 'temporal', 120),
    ]);
    rig = await startRig({ servers: { payment: payment.server, temporal: temporal.server } });
  });
  afterEach(async () => {
    await Promise.all([payment.free(), temporal.free()]);
    await rig.heal();
  });
  after(async () => {
    await rig.stop();
    await Promise.all([payment.remove(), temporal.remove()]);
    await rm(folder, { recursive: true, force: true });
  });

  it('F21 says no false yes while the disk of the payment ledger is full, and recovers', async () => {
    await payment.fill();
    const answers = [];
    // Until the ledger needs a page that it can't have.
    for (let refused = false; !refused;) {
      const batch = await Promise.all(
        Array.from({ length: 10 }, () => rig.post(ORDER, { headers: { prefer: 'wait=2' } })),
      );
      answers.push(...batch);
      const ids = batch.map(({ json }) => String(json['orderId']));
      const calls = (await Promise.all(ids.map((id) => rig.payment.calls(id)))).flat();
      refused = calls.some(({ status }) => (status ?? 0) >= 500);
    }
    await payment.free();
    await payment.server.start();

    for (const { status, json } of answers) {
      assert.ok([201, 202, 502].includes(status), `${status}`);
      const orderId = String(json['orderId']);
      const end = await ended(rig, orderId);
      if (status === 201) assert.equal(end, 'confirmed');
      await assertHolds(rig, orderId, end);
    }
    const after = await rig.post(ORDER, { headers: WAIT });
    assert.equal(after.status, 201);
  }).timeout(240_000);

  it('F22 takes no order that it can not start while the disk of Temporal is full, and recovers', async () => {
    const before = await Promise.all(
      Array.from({ length: 5 }, () => rig.post(ORDER, { headers: ASYNC })),
    );
    await temporal.fill();
    const keys: string[] = [];
    const answers = [];
    for (let refused = false; !refused;) {
      const key = randomUUID();
      keys.push(key);
      const answer = await rig.post(ORDER, { key, headers: ASYNC });
      answers.push(answer);
      refused = answer.status === 503;
    }
    await temporal.free();
    await temporal.server.start();

    const ids = new Set([...before, ...answers].map(({ json }) => String(json['orderId'])));
    const retries = await Promise.all(
      keys.map((key) => retried(() => rig.post(ORDER, { key, headers: WAIT }))),
    );
    for (const { status, json } of retries) {
      assert.equal(status, 201);
      assert.ok(ids.has(String(json['orderId'])));
    }
    for (const orderId of ids) {
      assert.equal(await ended(rig, orderId), 'confirmed');
      await assertBoughtOnce(rig, orderId);
    }
    await until(async () => (await rig.readiness()) === 200);
  }).timeout(240_000);
});
