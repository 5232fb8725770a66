import { parseArgs } from 'node:util';
import { impatientStack, startStack } from '../support/stack.js';
import { runChaos } from './chaos.js';
import { HARMS } from './plan.js';

/**
 * `npm run chaos`: the chaos of the promise tests in any size, on a stack of its own with the limits that a
 * user gets. Ends with 1 where a promise was broken, and with 3 where nothing was put to the test.
 */
const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '200' },
    'in-flight': { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    // The limits of the promise tests instead of those that a user gets.
    impatient: { type: 'boolean', default: false },
    // Leaves the stack running after a violation, to look into it; ctrl-c then ends it.
    keep: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const say = (line: string): void => {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
};

say(`seed ${seed}, ${values.orders} orders, ${values['in-flight']} in flight`);
const stack = await (values.impatient ? impatientStack() : startStack({ SPLIT_ROLES: 'off' }));
try {
  const { violations, counts, slowestMs } = await runChaos(stack, {
    orders: Number(values.orders),
    inFlight: Math.min(Number(values['in-flight']), Number(values.orders)),
    seed,
    say,
  });
  for (const line of violations) say(line);
  say(JSON.stringify(counts));
  say(`the slowest order was told its end ${slowestMs} ms after the last harm to it`);
  const unseen = HARMS.filter((harm) => counts[harm] === undefined);
  if (unseen.length > 0) say(`nothing was hit by: ${unseen.join(', ')}`);
  say(
    `${violations.length} violations; again with: npm run chaos -- --orders ${values.orders} --seed ${seed}`,
  );
  process.exitCode = violations.length > 0 ? 1 : unseen.length > 0 ? 3 : 0;
} finally {
  if (values.keep && process.exitCode !== 0)
    say(`the stack runs on, in ${stack.env['DATA_DIR'] ?? ''}`);
  else await stack.stop();
}
