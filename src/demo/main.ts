/** Process: `npm run demo`. Tells in the terminal what Order Saga promises, on a stack that it starts and stops. */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { countsInWords } from '../cli/explain/counts.js';
import { createTerminal } from '../cli/terminal.js';
import type { Terminal } from '../cli/terminal.js';
import { processEnvironment } from '../config.js';
import { stopOnSignal } from '../embedded/stop-on-signal.js';
import { SCENES } from './scenes.js';
import { openStage } from './stage.js';
import type { Stage } from './stage.js';
import { createTeller } from './teller.js';

const HELP = `Usage: npm run demo [-- --keep]

Starts a whole stack on free ports and a folder of its own, tells what happens to orders that are repeated, refused,
cut and killed, with the ledgers as evidence, and stops the stack again. It reads the variables of npm start.

  --keep   leaves the stack running until ctrl-c, to look around in

Exit codes: 0 every count is right, 1 one is wrong or the stack did not start, 130 ctrl-c.
`;

const terminal = createTerminal(process, false);
const started = Date.now();
const interrupted = stopOnSignal(terminal.note);
process.exit(await main());

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { keep: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  terminal.out(terminal.paint('bold', 'Order Saga: an order happens exactly once in effect.'));
  terminal.note('Starting Postgres, Temporal, payment, inventory, a worker and the API …');
  let stage: Stage | undefined;
  try {
    stage = await openStage({ env: processEnvironment(), say: terminal.note, interrupted });
    const exitCode = await tell(stage, terminal);
    if (values.keep === true) await stay(stage);
    return exitCode;
  } catch (error) {
    if (interrupted.aborted) return 130;
    terminal.note(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await stage?.close();
  }
}

async function tell(stage: Stage, { out, paint, note }: Terminal): Promise<number> {
  note(`Ready after ${seconds()} s.`);
  const { teller, tally } = createTeller(stage, terminal);
  for (const scene of SCENES) {
    interrupted.throwIfAborted();
    await scene(teller);
  }
  const { wrong, total } = tally();
  out('');
  for (const line of wrong) out(paint('red', `WRONG: ${line}`));
  const told = `${countsInWords(total)}, told in ${seconds()} s`;
  out(
    wrong.length === 0
      ? paint('green', `Every count is right: ${told}.`)
      : paint('red', `${wrong.length} WRONG: ${told}.`),
  );
  return wrong.length === 0 ? 0 : 1;
}

async function stay({ surroundings }: Stage): Promise<void> {
  terminal.out(`The stack stays until ctrl-c: ${surroundings.api}/`);
  terminal.out(`  DATA_DIR=${surroundings.stackFolder ?? ''} npx order-saga list`);
  if (!interrupted.aborted) await once(interrupted, 'abort');
}

function seconds(): string {
  return ((Date.now() - started) / 1_000).toFixed(0);
}
