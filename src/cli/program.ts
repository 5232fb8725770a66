import { Command, InvalidArgumentError, Option } from 'commander';
import { ORDER_STATUSES } from '../domain/order.js';
import type { Context } from './api.js';
import { EXIT_CODES_HELP } from './exit-codes.js';
import type { ExitCode } from './exit-codes.js';
import { addOperatorCommands } from './operator-commands.js';
import { cancel, list, status, watch } from './orders.js';
import type { ListOptions } from './orders.js';
import { submit } from './submit.js';
import type { Submission } from './submit.js';

/** Runs a command with what `--json` makes of the terminal. */
export type Run = (
  options: object,
  command: (context: Context) => Promise<ExitCode>,
) => Promise<void>;

const SERVERS_HELP = `
The API is ORDER_SAGA_URL, with the token of a tenant in ORDER_SAGA_TOKEN and that of an operator in
ORDER_SAGA_OPERATOR_TOKEN. Where neither ORDER_SAGA_URL nor DATABASE_URL nor TEMPORAL_ADDRESS is set, it is the
stack that "npm start" runs on DATA_DIR (default .data), with the first token of each kind that it has.
Results go to standard output, all else to standard error. NO_COLOR is respected.`;

/** The whole command line, with the words that teach it. */
export function createProgram(run: Run): Command {
  const program = new Command('order-saga')
    .description('Places orders, follows them, and proves what was done for them.')
    .usage('<command> [options]')
    .helpOption('-h, --help', 'show this text, or that of a command')
    .helpCommand('help [command]', 'show the text of a command')
    .addHelpText(
      'after',
      `
Examples:
  order-saga submit --user ada --amount 1000           an order of 1000 JPY, under a new key
  order-saga submit --user ada --amount 1000 --key k1  twice: the second time replays the answer
  order-saga explain k1                                what was done under this key, by the books
  order-saga list --status needs_attention
  order-saga doctor
${SERVERS_HELP}
${EXIT_CODES_HELP}`,
    );

  withJson(program.command('submit'))
    .description(
      'Place an order, or ask again for what became of it: the same key is the same order.',
    )
    .requiredOption('-u, --user <id>', 'who orders')
    .requiredOption(
      '-a, --amount <n>',
      'in minor units: 1999 is 19.99 EUR, 1000 is 1000 JPY',
      integer(1, 10_000_000),
    )
    .option('-c, --currency <code>', 'ISO 4217; the API’s default is JPY')
    .option('-i, --item <sku[=n]>', 'what is ordered, and how many; may be repeated', collectItems)
    .option('-p, --payment-method <token>', 'of the payment provider; the API’s default is pm_ok')
    .option('-k, --key <key>', 'the Idempotency-Key; without one a new key is made and shown')
    .option('-w, --wait <seconds>', 'for the order’s end; 0 does not wait', integer(0, 60), 10)
    .addHelpText(
      'after',
      `
Examples:
  order-saga submit -u ada -a 1999 -c EUR -i BOOK=2 -i PEN
  order-saga submit -u ada -a 1000 -i SOLD-OUT       charged, refused, refunded: exit code 1
  order-saga submit -u ada -a 1000 -p pm_declined    nothing is charged: exit code 1
  order-saga submit -u ada -a 1000 -k k1 --wait 0    and later the same again: what became of k1

Whenever no answer came, send the same command with the same key: nothing is done twice.
The same key with another order is refused, 409 idempotency-key-reused, exit code 3.
${EXIT_CODES_HELP}`,
    )
    .action((options: Submission) => run(options, (context) => submit(context, options)));

  withJson(program.command('status'))
    .argument('<order>', 'an order id, ORD-…')
    .description('Show where an order stands: its steps, their undos, and where the money is.')
    .addOption(operatorOption())
    .addHelpText('after', '\nExample:\n  order-saga status ORD-0190… --json | jq -r .status')
    .action((order: string, options: ListOptions) =>
      run(options, (context) => status(context, order, options)),
    );

  withJson(program.command('watch'))
    .argument('<order>', 'an order id, ORD-…')
    .description(
      'Follow an order to its end, over lost connections too. --json writes a document a line.',
    )
    .addOption(operatorOption())
    .addHelpText('after', EXIT_CODES_HELP)
    .action((order: string, options: ListOptions) =>
      run(options, (context) => watch(context, order, options)),
    );

  withJson(program.command('cancel'))
    .argument('<order>', 'an order id, ORD-…')
    .description(
      'Ask for an order to be undone. Repeating it changes nothing; a confirmed order refuses.',
    )
    .action((order: string, options: object) => run(options, (context) => cancel(context, order)));

  withJson(program.command('list'))
    .description(
      'List orders, newest first; with --operator those of all tenants that need a person.',
    )
    .addOption(new Option('-s, --status <status>', 'where they stand').choices(ORDER_STATUSES))
    .option('-u, --user <id>', 'who ordered')
    .option('-l, --limit <n>', 'how many', integer(1, 100), 20)
    .option('--cursor <cursor>', 'nextCursor of the page before, with the same filters')
    .addOption(operatorOption())
    .addHelpText('after', '\nExample:\n  order-saga list --status cancelled --user ada --limit 5')
    .action((options: ListOptions) => run(options, (context) => list(context, options)));

  addOperatorCommands(program, run);
  return program;
}

export const withJson = (command: Command): Command =>
  command.option('--json', 'write JSON, one value; of watch, one a line');

const operatorOption = (): Option =>
  new Option('--operator', 'ask as an operator, who may read the orders of all tenants');

/** Digits only: what looks like a number in another notation is a mistake. */
function integer(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^[0-9]+$/.test(value) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
  };
}

/** `SKU` or `SKU=2`, each time one more. */
function collectItems(
  value: string,
  items: Submission['item'] = [],
): NonNullable<Submission['item']> {
  const [, sku = '', quantity = '1'] = /^(.+?)(?:=([0-9]+))?$/.exec(value) ?? [];
  return [...items, { sku, quantity: integer(1, 1_000)(quantity) }];
}
