import { setTimeout as sleep } from 'node:timers/promises';
import { takeFaultsBack } from '../support/heal.js';
import { held } from '../support/money.js';
import type { RunningStack } from '../support/stack.js';
import { asFinal, isFinalAnswer, place, untilFinal } from './client.js';
import type { FinalAnswer, OrderNames } from './client.js';
import { doHarm, repairOf, statusOf } from './operator.js';
import { planFaults, planOrder } from './plan.js';
import type { PlannedHarm, PlannedOrder } from './plan.js';
import { createRandom } from './random.js';
import type { Random } from './random.js';

export interface ChaosOptions {
  readonly orders: number;
  readonly seed: number;
  readonly inFlight: number;
  readonly say: (line: string) => void;
}

export interface ChaosReport {
  /** One line a broken promise; empty where all held. */
  readonly violations: readonly string[];
  /** How often what happened: a run in which nothing was harmed proves nothing. */
  readonly counts: Readonly<Record<string, number>>;
  /** From the last harm to an order until its client was told its end; the longest. */
  readonly slowestMs: number;
}

/** 2 minutes after the last harm every client must have been told how its order ended. */
const PATIENCE_MS = 120_000;

/** Half a minute: one round of the reconciler and the order itself; what took longer is told. */
const SLOW_MS = 30_000;

/** 1 s between changes of the faults. */
const FAULT_INTERVAL_MS = 1_000;

/** 20 orders are checked at once. */
const CHECKS_AT_ONCE = 20;

interface Placed {
  readonly plan: PlannedOrder;
  readonly names: OrderNames;
  readonly answers: readonly FinalAnswer[];
}

/**
 * Places orders while their workflows are terminated, reset, deleted and cancelled at random and the services
 * fail now and then, and afterwards compares what clients were told with what the ledgers and the API say.
 */
export async function runChaos(
  stack: RunningStack,
  { orders, seed, inFlight, say }: ChaosOptions,
): Promise<ChaosReport> {
  const random = createRandom(seed);
  const run = `chaos-${inLetters(seed)}-${inLetters(Date.now())}`;
  const sku = run.toUpperCase();
  await putStock(stack, sku);
  const counts: Record<string, number> = {};
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const violations: string[] = [];
  const placed: Placed[] = [];
  const times: number[] = [];

  const calm = new AbortController();
  const faults = keepFailing(stack, random, calm.signal);
  const plans = Array.from({ length: orders }, (_, index) => planOrder(random, index, run, sku));
  // The last orders must not meet one fault after the other, all alone with them.
  const calmAfter = orders - Math.ceil(inFlight / 2);
  await inParallel(plans, inFlight, async (plan) => {
    const { names, answers, tookMs } = await live(stack, plan, count);
    placed.push({ plan, names, answers });
    times.push(tookMs);
    if (tookMs > SLOW_MS)
      say(`${names.orderId} (${names.sagaId}) took ${tookMs} ms: ${JSON.stringify(plan)}`);
    if (answers.length === 0) violations.push(await describeOpen(stack, names));
    if (placed.length >= calmAfter) calm.abort();
    if (placed.length % 100 === 0) say(`${placed.length} of ${orders} orders have ended`);
  });
  calm.abort();
  await faults;

  await inParallel(placed, CHECKS_AT_ONCE, async (order) => {
    if (order.answers.length > 0) violations.push(...(await check(stack, order, count)));
  });
  violations.push(...(await checkStock(stack, sku, placed)));
  return { violations, counts, slowestMs: Math.max(...times) };
}

/** `a` for 0: a key with enough digits may pass for a card number, and be refused. */
const inLetters = (number: number): string =>
  String(number).replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));

/** One order's life: placed, harmed, asked for until it has ended, and harmed once more. */
async function live(stack: RunningStack, plan: PlannedOrder, count: (what: string) => void) {
  const names = await place(stack, plan);
  const harms = { lastAt: Date.now(), all: Promise.resolve() as Promise<unknown> };
  const harm = async (planned: PlannedHarm): Promise<void> => {
    await sleep(planned.afterMs);
    const hit = await doHarm(stack, planned, names);
    harms.lastAt = Date.now();
    if (hit) count(planned.harm);
  };
  harms.all = Promise.all(plan.harms.map(harm));
  const answers = await untilFinal(stack, plan, () => Date.now() - harms.lastAt < PATIENCE_MS);
  const answeredAt = Date.now();
  await harms.all;
  if (plan.afterwards !== undefined) {
    const { afterwards } = plan;
    const hit = await doHarm(stack, { harm: afterwards, onRepair: false, point: 0 }, names);
    if (hit) count(`${afterwards} afterwards`);
  }
  return { names, answers, tookMs: answeredAt - harms.lastAt };
}

/** Of an order that does not end: what is known of it, as the stack may be gone when a person looks. */
async function describeOpen(stack: RunningStack, { orderId, sagaId }: OrderNames): Promise<string> {
  const workflows = await Promise.all(
    [sagaId, repairOf(orderId)].map(async (id) => `${id} ${await statusOf(stack.temporal, id)}`),
  );
  const { text } = await stack.get(`/orders/${orderId}`);
  return `${orderId}: its client was told nothing; ${workflows.join(', ')}; ${text}`;
}

/** Once all is calm: one answer, given again byte for byte, and money, goods and document that agree with it. */
async function check(
  stack: RunningStack,
  { plan, names, answers }: Placed,
  count: (what: string) => void,
): Promise<readonly string[]> {
  const { orderId, sagaId } = names;
  const wrong: string[] = [];
  await settled(stack, names);

  const again = await stack.post(plan.body, { key: plan.key, headers: { prefer: 'wait=60' } });
  const told = [...answers, ...(isFinalAnswer(again) ? [asFinal(again)] : [])];
  if (!isFinalAnswer(again)) wrong.push(`is ${again.status} when asked again`);
  const different = new Set(told.map((answer) => JSON.stringify(answer)));
  if (different.size > 1) wrong.push(`has different answers: ${[...different].join(' / ')}`);

  const isConfirmed = told[0]?.status === 201;
  count(isConfirmed ? 'confirmed' : reasonOf(told[0]));
  const document = (await stack.get(`/orders/${orderId}`)).json;
  const status = isConfirmed ? 'confirmed' : 'cancelled';
  if (document['status'] !== status) {
    wrong.push(`is ${String(document['status'])}, and its client was told ${status}`);
  }
  const { money, reservations } = await held(stack, orderId);
  const expected = isConfirmed ? plan.body.amount : 0;
  if (money !== expected) wrong.push(`holds ${money} instead of ${expected}`);
  if (reservations !== Number(isConfirmed)) wrong.push(`has ${reservations} reservations`);
  for (const [kind, times] of await linesOf(stack, orderId)) {
    if (times > 1) wrong.push(`has ${times} lines of ${kind}`);
  }
  return wrong.map((line) => `${orderId} (${sagaId}, ${plan.key}) ${line}`);
}

const reasonOf = (answer: FinalAnswer | undefined): string => {
  const { type } = JSON.parse(answer?.body ?? '{}') as { readonly type?: string };
  return type?.slice('/problems/'.length) ?? 'unknown';
};

/** Waits until neither workflow of an order runs any more; gives up silently, as the checks will tell. */
async function settled(stack: RunningStack, { orderId, sagaId }: OrderNames): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (const workflowId of [sagaId, repairOf(orderId)]) {
    while (Date.now() < deadline && (await statusOf(stack.temporal, workflowId)) === 'RUNNING') {
      await sleep(200);
    }
  }
}

async function linesOf(
  { payment, inventory }: RunningStack,
  orderId: string,
): Promise<ReadonlyMap<string, number>> {
  const kinds = await Promise.all([payment.kinds(orderId), inventory.kinds(orderId)]);
  const lines = new Map<string, number>();
  for (const kind of kinds.flat()) lines.set(kind, (lines.get(kind) ?? 0) + 1);
  // Each service may have a void of its own.
  lines.delete('void');
  return lines;
}

/** Stock of its own, so that orders of others don't count. */
async function putStock({ inventory }: RunningStack, sku: string): Promise<void> {
  const body = JSON.stringify({ onHand: 1_000_000 });
  await inventory.json(`/stock/${sku}`, { method: 'PUT', body });
}

async function checkStock(
  { inventory }: RunningStack,
  sku: string,
  placed: readonly Placed[],
): Promise<readonly string[]> {
  const { reserved } = await inventory.json(`/stock/${sku}`);
  const sold = placed
    .filter(({ answers }) => answers[0]?.status === 201)
    .reduce((sum, { plan }) => sum + (plan.body.items[0]?.quantity ?? 0), 0);
  return reserved === sold ? [] : [`${String(reserved)} pieces are reserved, and ${sold} sold`];
}

/** Has the services fail now and then until the signal, then heals them. */
async function keepFailing(stack: RunningStack, random: Random, calm: AbortSignal): Promise<void> {
  while (!calm.aborted) {
    await stack.payment.faults(planFaults(random, ['charge', 'refund']));
    await stack.inventory.faults(planFaults(random, ['reserve', 'release']));
    await sleep(FAULT_INTERVAL_MS, undefined, { signal: calm }).catch(() => undefined);
    if (random.chance(0.3)) await releaseAll(stack);
  }
  await takeFaultsBack(stack);
  await releaseAll(stack);
}

async function releaseAll({ payment, inventory }: RunningStack): Promise<void> {
  await Promise.all([payment.release(), inventory.release()]);
}

async function inParallel<T>(
  items: readonly T[],
  inFlight: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      for (const item of left) await act(item);
    }),
  );
}
