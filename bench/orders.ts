import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * `npm run bench`: measures `POST /orders` on a stack that `npm start` has brought up: sequential latency,
 * throughput with some orders in flight, and the memory of the Node processes meanwhile. It prints; nothing
 * asserts on it, as timings are noisy.
 */
const { values } = parseArgs({
  options: {
    'data-dir': { type: 'string', default: '.data' },
    orders: { type: 'string', default: '200' },
    'in-flight': { type: 'string', default: '50' },
  },
});

interface Stack {
  readonly launcher: { readonly pid: number };
  readonly roles: Readonly<Record<string, { readonly pid: number; readonly url?: string }>>;
  readonly env: Readonly<Record<string, string>>;
}

/** The first orders warm up compilers and pools, and are not measured. */
const WARM_UP_ORDERS = 30;

const stack = await readStack(join(values['data-dir'], 'stack.json'));
const token = /^[^:]+:([^,]+)/.exec(stack.env['API_KEYS'] ?? '')?.[1] ?? '';
const orders = Number(values.orders);
const inFlight = Number(values['in-flight']);

for (let i = 0; i < WARM_UP_ORDERS; i += 1) await place();
const sequential: number[] = [];
for (let i = 0; i < orders; i += 1) sequential.push(await place());
report('sequential', sequential);

const parallel: number[] = [];
let peakMb = 0;
const sampling = setInterval(() => {
  void nodeMemoryMb().then((mb) => {
    peakMb = Math.max(peakMb, mb);
  });
}, 250);
const startedAt = performance.now();
let left = orders * 5;
await Promise.all(
  Array.from({ length: inFlight }, async () => {
    while (left > 0) {
      left -= 1;
      parallel.push(await place());
    }
  }),
);
const seconds = (performance.now() - startedAt) / 1_000;
clearInterval(sampling);
report(`${inFlight} in flight`, parallel);
process.stdout.write(`throughput: ${(parallel.length / seconds).toFixed(1)} orders/s\n`);
process.stdout.write(`memory of the Node processes: ${peakMb.toFixed(0)} MB at most\n`);

async function place(): Promise<number> {
  const begun = performance.now();
  const response = await fetch(new URL('/orders', stack.roles['api']?.url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      prefer: 'wait=60',
    },
    body: '{"userId":"bench","amount":1000}',
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${response.status}: ${text}`);
  return performance.now() - begun;
}

function report(name: string, milliseconds: readonly number[]): void {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(1);
  process.stdout.write(
    `${name}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms over ${sorted.length} orders\n`,
  );
}

/** Resident memory of the launcher, of npm above it and of the roles that are Node. Linux only. */
async function nodeMemoryMb(): Promise<number> {
  const roles = Object.entries(stack.roles)
    .filter(([name]) => name !== 'postgres' && name !== 'temporal')
    .map(([, { pid }]) => pid);
  const parent = Number(/^PPid:\s+(\d+)/m.exec(await status(stack.launcher.pid))?.[1]);
  const isNpm = /^Name:\s+(npm|node)/m.test(await status(parent));
  const pids = new Set([stack.launcher.pid, ...(isNpm ? [parent] : []), ...roles]);
  const sizes = await Promise.all(
    [...pids].map(async (pid) => Number(/^VmRSS:\s+(\d+) kB/m.exec(await status(pid))?.[1] ?? 0)),
  );
  return sizes.reduce((sum, kb) => sum + kb, 0) / 1_024;
}

async function status(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
}

async function readStack(path: string): Promise<Stack> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Stack;
  } catch (cause) {
    throw new Error(`No stack at ${path}: run "npm start" first, or pass --data-dir.`, { cause });
  }
}
