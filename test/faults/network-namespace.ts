import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Link } from './toxiproxy.js';
import type { Rig } from './rig.js';

const execute = promisify(execFile);

/** A line that can be cut in silence. */
export interface Cut {
  /** Nothing gets through, and nobody is told: as with a pulled cable. */
  readonly cut: () => Promise<void>;
  readonly mend: () => Promise<void>;
  /** Removes what was made for it. */
  readonly remove: () => Promise<void>;
}

/**
 * Replaces the worker by one in a network of its own, with one cable to ours.
 *
 * @throws Error where network namespaces can't be made: that takes Linux, root and iproute2.
 */
export async function workerBehindCable(rig: Rig): Promise<Cut> {
  const id = `os${process.pid}`;
  const [ours, theirs] = [`${id}a`, `${id}b`];
  // Of 16,384 networks of four addresses, one by our pid: two test runs at a time get two.
  const block = process.pid % 16_384;
  const address = (host: number): string =>
    `10.231.${Math.floor(block / 64)}.${(block % 64) * 4 + host}`;
  const ip = async (command: string): Promise<void> => {
    await execute('ip', command.split(' ')).catch((cause: unknown) => {
      const needs = 'Network namespaces need Linux, root and iproute2 ("apt-get install iproute2")';
      throw new Error(`${needs}; "ip ${command}" failed: ${String(cause)}`, { cause });
    });
  };
  await ip(`netns add ${id}`);
  const remove = async (): Promise<void> => {
    await worker?.kill();
    await ip(`netns del ${id}`);
  };
  let worker: Awaited<ReturnType<Rig['another']>> | undefined;
  try {
    await ip(`link add ${ours} type veth peer name ${theirs} netns ${id}`);
    await ip(`addr add ${address(1)}/30 dev ${ours}`);
    await ip(`link set ${ours} up`);
    await ip(`-n ${id} addr add ${address(2)}/30 dev ${theirs}`);
    await ip(`-n ${id} link set ${theirs} up`);

    const link = (name: string, port: number): Promise<Link> =>
      rig.toxiproxy.link(
        `cable-${name}-${Date.now()}`,
        { hostname: '127.0.0.1', port },
        address(1),
      );
    const [temporal, postgres, payment, inventory] = await Promise.all([
      link('temporal', rig.temporalServer.port),
      link('postgres', rig.databases.orders.port),
      link('payment', rig.links['worker-payment'].port),
      link('inventory', rig.links['worker-inventory'].port),
    ]);
    const database = new URL(rig.databases.orders.url());
    database.host = `${postgres.host}:${postgres.port}`;
    worker = await rig.another('worker', {
      env: {
        TEMPORAL_ADDRESS: `${temporal.host}:${temporal.port}`,
        DATABASE_URL: database.href,
        PAYMENT_URL: `http://${payment.host}:${payment.port}`,
        INVENTORY_URL: `http://${inventory.host}:${inventory.port}`,
      },
      within: ['ip', 'netns', 'exec', id],
    });
    await rig.roles.worker.stop();
    await worker.start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    cut: () => ip(`link set ${ours} down`),
    mend: () => ip(`link set ${ours} up`),
    remove,
  };
}
