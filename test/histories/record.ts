import { mkdir, writeFile } from 'node:fs/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { WorkflowHandle } from '@temporalio/client';
import { ORDER_PROGRESS } from '../../src/domain/place-order.js';
import type { OrderProgress } from '../../src/domain/place-order.js';
import { placeOrder } from '../../src/workflows/place-order.js';
import { resolveUndo, retryUndo } from '../../src/workflows/undo-step.js';
import packageJson from '../../package.json' with { type: 'json' };
import { mochaGlobalTeardown } from '../support/global.js';
import { anInput, workflowIdOf } from '../support/orders.js';
import { until } from '../support/until.js';
import { startWorkflowWorker } from '../support/workflow-worker.js';
import { createWorld } from '../support/world.js';
import type { Call, Operation, Scenario } from '../support/world.js';

/**
 * `npm run histories`: records one history for each way that an order can end, for the version in
 * package.json. Run once a release; what is recorded is never recorded again, since orders of that release
 * may still be open when the next one is deployed.
 */
type Handle = WorkflowHandle<typeof placeOrder>;

interface Recording extends Scenario {
  /** Cancels the order at the first call of this operation. */
  readonly cancelAt?: Operation;
  /** Plays the operator. */
  readonly operator?: (handle: Handle, heal: () => void) => Promise<void>;
  /** Whether undos fail for good until healed. */
  readonly poison?: true;
}

const DONE = { payment: 'done', inventory: 'done' } as const;
const SOLD_OUT = { payment: 'done', inventory: 'refused' } as const;
const COMMAND = { step: 'payment', who: 'ada', why: 'seen in the ledger' } as const;
const isStuck = async (handle: Handle): Promise<boolean> =>
  (await handle.query<OrderProgress>(ORDER_PROGRESS)).status === 'needs_attention';

const RECORDINGS: Readonly<Record<string, Recording>> = {
  confirmed: DONE,
  'confirmed-after-retries': { payment: 'done-later', inventory: 'done-later' },
  'payment-declined': { ...DONE, payment: 'refused' },
  'payment-declined-after-retries': { ...DONE, payment: 'refused-later' },
  'out-of-stock': SOLD_OUT,
  'out-of-stock-after-retries': { payment: 'done-later', inventory: 'refused-later' },
  'payment-unavailable': { ...DONE, payment: 'unknown-happened' },
  'inventory-unavailable': { ...DONE, inventory: 'unknown-not-happened' },
  'cancelled-at-payment': { ...DONE, payment: 'done-later', cancelAt: 'charge' },
  'cancelled-at-inventory': { ...DONE, inventory: 'done-later', cancelAt: 'reserve' },
  'cancelled-at-undo': { ...SOLD_OUT, cancelAt: 'refund' },
  'undone-after-failures': {
    ...SOLD_OUT,
    undoFails: (_call: Call, nth: number) => (nth <= 5 ? 'pass' : undefined),
  },
  'undone-after-attention': {
    ...SOLD_OUT,
    undoFails: (_call: Call, nth: number) => (nth <= 40 ? 'pass' : undefined),
  },
  'undone-by-operator-retry': {
    ...SOLD_OUT,
    poison: true,
    operator: async (handle, heal) => {
      await until(() => isStuck(handle));
      heal();
      await handle.signal(retryUndo, COMMAND);
    },
  },
  'resolved-by-operator': {
    ...SOLD_OUT,
    poison: true,
    operator: async (handle) => {
      await until(() => isStuck(handle));
      await handle.signal(resolveUndo, COMMAND);
    },
  },
};

const folder = new URL(`./${packageJson.version}/`, import.meta.url);
await mkdir(folder); // fails where this version has its histories already
const world = createWorld();
const taskQueue = 'record-histories';
const workflows = await startWorkflowWorker(taskQueue, world.activities);
try {
  for (const [name, recording] of Object.entries(RECORDINGS)) {
    const history = await record(recording);
    const json = JSON.stringify(JSON.parse(historyToJSON(history)), withoutMachine, 2);
    await writeFile(new URL(`${name}.json`, folder), `${json}\n`);
    process.stdout.write(`${name}: ${history.events?.length ?? 0} events\n`);
  }
} finally {
  await workflows.stop();
  await mochaGlobalTeardown();
}

/** Where a history was made is nobody's business, and no part of what is replayed. */
function withoutMachine(name: string, value: unknown): unknown {
  if (name === 'stackTrace') return '';
  return name === 'identity' ? 'worker' : value;
}

async function record({ cancelAt, operator, poison, ...scenario }: Recording) {
  const input = anInput();
  const workflowId = workflowIdOf(input.order);
  const handle = workflows.client.workflow.getHandle<typeof placeOrder>(workflowId);
  let healed = false;
  let cancelled = false;
  world.prepare(input.order.orderId, {
    ...(poison === undefined ? {} : { undoFails: () => (healed ? undefined : 'never') }),
    ...scenario,
    onCall: async ({ operation, isLocal }) => {
      if (operation !== cancelAt || isLocal || cancelled) return;
      cancelled = true;
      await handle.cancel();
    },
  });
  await workflows.client.workflow.start(placeOrder, { taskQueue, workflowId, args: [input] });
  await operator?.(handle, () => {
    healed = true;
  });
  await handle.result();
  return handle.fetchHistory();
}
