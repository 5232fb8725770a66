import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { check } from './check.js';
import type { Violation } from './check.js';
import { createClients, isFinal } from './clients.js';
import type { Clients } from './clients.js';
import { createCollector, inParallel } from './collect.js';
import { missingSights } from './coverage.js';
import { createFaultDesk } from './downstream.js';
import { keepEvidence } from './evidence.js';
import { ask } from './http.js';
import { openJournal } from './journal.js';
import type { Recorder } from './journal.js';
import { createNemesis } from './nemesis.js';
import { createOperator, readOrder } from './operator.js';
import { planOrders, SKUS } from './plan.js';
import { SETTINGS, startProduct } from './product.js';
import type { Product } from './product.js';
import { came } from './until.js';

/**
 * `npm run hammer -- --seed S --minutes M`: breaks everything that can break under a load of orders, mends it, and
 * judges by the answers and the books whether every order happened once or not at all.
 *
 * A seed repeats the plan (orders, faults, their order and pauses), not the interleaving: these are real processes.
 *
 * Exit codes: 0 all invariants held; 1 one was broken; 2 it could not run; 3 the run did not show enough to count.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    minutes: { type: 'string', default: '1' },
    /** Orders a second: some 300 keys in a run of CI, 6,000 in 20 minutes; two cores bear them and the faults. */
    rate: { type: 'string', default: '5' },
    /** Only the faults whose names match: for a look at one of them. Such a run is never valid. */
    faults: { type: 'string', default: '' },
    product: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) },
    report: { type: 'string' },
    evidence: { type: 'string', default: '.hammer' },
  },
});
const seed = values.seed;
const minutes = Number(values.minutes);
const ordersPerSecond = Number(values.rate);

/** 4 s of load before the first fault: pools are open and code is warm, so that faults meet a working product. */
const WARM_UP_MS = 4_000;

/** 0.3 s between faults of a lane where all must fit into a minute, 6 s where there is time. */
const CALM_MS = minutes >= 5 ? 6_000 : 300;

/** A minute after the last fault for orders to end without their clients: backoffs and time-outs are seconds. */
const RECOVERY_MS = 60_000;

/** 40 s of asking again with a key until it has an end. */
const REPLAY_MS = 40_000;

/** 30 s between looks at the ledgers, of which each shows its newest lines only. */
const SWEEP_MS = 30_000;

const begun = performance.now();
const say = (line: string): void => {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0).padStart(4);
  process.stdout.write(`${seconds} s  ${line}\n`);
};
const interrupted = new AbortController();
setMaxListeners(0, interrupted.signal);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());

process.exitCode = await hammer().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 2;
});
process.exit();

async function hammer(): Promise<number> {
  say(`seed ${seed}, ${minutes} min of faults; starting the product in ${values.product}`);
  const product = await startProduct(values.product, say, interrupted.signal);
  const folder = await mkdtemp(join(tmpdir(), 'order-saga-journal-'));
  const recorder = openJournal(join(folder, 'journal.ndjson'));
  const connection = Connection.lazy({ address: product.temporalAddress });
  try {
    const temporal = new Client({ connection });
    const result = await run(product, recorder, temporal);
    await recorder.close();
    return await report(result, product, recorder, temporal, join(folder, 'journal.ndjson'));
  } finally {
    await connection.close();
    await product.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Result {
  readonly violations: readonly Violation[];
  readonly missing: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

async function run(product: Product, recorder: Recorder, temporal: Client): Promise<Result> {
  const attentionAfterMs = Number(SETTINGS.ATTENTION_AFTER_SECONDS) * 1_000;
  recorder.record({ type: 'plan', seed, minutes, attentionAfterMs });
  // More than the time takes, as the faults may take longer than planned and must not meet an idle product.
  const count = Math.ceil((minutes + 2) * 60 * ordersPerSecond);
  const clients = createClients(product, recorder, planOrders(seed, count, ordersPerSecond), seed);
  const payment = createFaultDesk(product.payment);
  const inventory = createFaultDesk(product.inventory);
  const field = { product, payment, inventory, temporal, clients };
  const nemesis = createNemesis(seed, field, recorder, CALM_MS, new RegExp(values.faults), say);
  const collector = createCollector(product, clients, recorder);
  const operator = createOperator(product, clients, seed);
  await stockUp(product, minutes * 60 * ordersPerSecond);

  const phase = (name: string, detail: string): void => {
    recorder.record({ type: 'phase', name });
    say(`${name}: ${detail}`);
  };
  const progress = setInterval(() => say(standOf(clients, nemesis.count())), 10_000);
  const sweeping = setInterval(() => void collector.sweep(), SWEEP_MS);
  const watching = new AbortController();
  const watched = operator.watch(watching.signal);
  try {
    phase('warm-up', `${ordersPerSecond} orders a second and no fault`);
    const ordering = new AbortController();
    const played = clients.play(ordering.signal);
    await sleep(WARM_UP_MS);
    phase('faults', 'everything that can break, several at a time');
    // Not AbortSignal.timeout: on Node 20 one that only AbortSignal.any knows may be collected and never fire.
    const raging = new AbortController();
    const end = (): void => raging.abort();
    interrupted.signal.addEventListener('abort', end);
    setTimeout(end, minutes * 60_000);
    await nemesis.rage(raging.signal);
    ordering.abort();
    await played;
    interrupted.signal.throwIfAborted();

    phase('healing', 'every fault is taken back');
    await heal(product, payment, inventory);
    phase('recovery', 'clients are silent; orders end by themselves');
    await clients.stop();
    await recover(product, recorder, clients);
    phase('replay', 'every key once more');
    await replayAll(clients);
  } finally {
    clearInterval(progress);
    clearInterval(sweeping);
    watching.abort();
    await watched;
  }
  phase('check', 'orders, ledgers, stock');
  await payment.calls();
  await inventory.calls();
  await collector.collect();
  const calls = [...payment.seen(), ...inventory.seen()];
  return {
    violations: check(recorder.entries),
    missing: missingSights(recorder.entries, clients.orders, calls),
    counts: {
      keys: clients.orders.filter(({ begun: isBegun }) => isBegun).length,
      requests: recorder.entries.filter(({ type }) => type === 'invoke').length,
      faults: nemesis.count(),
    },
  };
}

/** Two of three orders for the scarce goods can have them. */
async function stockUp(product: Product, orders: number): Promise<void> {
  const onHand = Math.ceil(orders * 0.07 * 1.3);
  const url = `${product.inventory}/stock/${SKUS.scarce}`;
  const stock = await ask(url, { method: 'PUT', body: JSON.stringify({ onHand }) });
  if (stock === undefined) throw new Error('the stock could not be set');
}

/** Each fault has been taken back by who caused it; this is for what got lost on the way, such as an unheard answer. */
async function heal(
  product: Product,
  ...desks: readonly { set: (faults: []) => Promise<boolean>; release: () => Promise<number> }[]
): Promise<void> {
  for (const desk of desks) {
    if (!(await came(() => desk.set([]), 30_000))) throw new Error('a service does not come back');
    await desk.release();
  }
  for (const api of product.apis) {
    const isReady = async (): Promise<boolean> => (await ask(`${api}/readyz`)) !== undefined;
    if (!(await came(isReady, 60_000, 200))) throw new Error(`${api} is not ready again`);
  }
}

async function recover(product: Product, recorder: Recorder, clients: Clients): Promise<void> {
  const ids = clients.orders
    .filter(({ final }) => final === undefined)
    .flatMap(({ orderIds }) => [...orderIds]);
  const open = new Map(ids.map((orderId) => [orderId, 'unread']));
  await came(
    async () => {
      for (const orderId of open.keys()) {
        const status = (await readOrder(product, orderId))?.status ?? 'unread';
        open.set(orderId, status);
        if (status === 'confirmed' || status === 'cancelled') open.delete(orderId);
      }
      return open.size === 0;
    },
    RECOVERY_MS,
    500,
  );
  // Who waits for a person has been seen by the operator meanwhile; whoever still does has just begun to.
  for (const [orderId, status] of open) {
    if (status !== 'needs_attention') recorder.record({ type: 'unfinished', orderId, status });
  }
}

async function replayAll(clients: Clients): Promise<void> {
  const deadline = performance.now() + REPLAY_MS + clients.orders.length * 40;
  await inParallel(
    clients.orders.filter((order) => order.begun),
    async (order) => {
      let other = false;
      do {
        const sent = await clients.replay(order, other);
        if (sent.kind === 'ok' && isFinal(sent.wire)) break;
        const refused = sent.kind === 'ok' && sent.wire.body.includes('idempotency-key-reused');
        // The other body was first: the key is its own.
        if (refused) other = !other;
        else await sleep(500);
      } while (performance.now() < deadline);
      // The body that was refused is refused for ever.
      if (order.planned.deliveries.some(({ hasOtherBody }) => hasOtherBody === true)) {
        await clients.replay(order, !other);
        await clients.replay(order, other);
      }
    },
  );
}

function standOf(clients: Clients, faults: number): string {
  const started = clients.orders.filter((order) => order.begun);
  const confirmed = started.filter(({ final }) => final?.status === 201).length;
  const ended = started.filter(({ final }) => final !== undefined).length;
  const open = started.length - ended;
  return `${started.length} orders: ${confirmed} confirmed, ${ended - confirmed} refused or undone, ${open} open; ${faults} faults`;
}

async function report(
  { violations, missing, counts }: Result,
  product: Product,
  recorder: Recorder,
  temporal: Client,
  journalFile: string,
): Promise<number> {
  const digest = createHash('sha256').update(JSON.stringify(violations)).digest('hex').slice(0, 6);
  const evidence = resolve(values.evidence, `seed-${seed}-${digest}`);
  const shown = violations.slice(0, 20);
  for (const { invariant, what, orderIds } of shown) {
    say(`BROKEN ${invariant}: ${what}  [${orderIds.slice(0, 3).join(', ')}]`);
  }
  if (violations.length > shown.length) say(`… and ${violations.length - shown.length} more`);
  if (values.faults === '') for (const what of missing) say(`NOT SEEN: ${what}`);
  if (violations.length > 0 || missing.length > 0) {
    await keepEvidence(evidence, journalFile, recorder.entries, violations, product, temporal);
    say(`evidence: ${evidence}`);
    say(`to repeat the plan: npm run hammer -- --seed ${seed} --minutes ${minutes}`);
  }
  if (values.report !== undefined) {
    const broken = [...new Set(violations.map(({ invariant }) => invariant))];
    await writeFile(
      values.report,
      JSON.stringify({ seed, minutes, ...counts, violations: violations.length, broken, missing }),
    );
  }
  const { keys = 0, requests = 0, faults = 0 } = counts;
  const verdict =
    violations.length > 0 ? 'BROKEN' : missing.length > 0 ? 'INVALID (too little seen)' : 'held';
  say(
    `hammer: seed ${seed}: ${keys} keys, ${requests} requests, ${faults} faults, ${violations.length} violations: ${verdict}`,
  );
  return violations.length > 0 ? 1 : missing.length > 0 ? 3 : 0;
}
