import { Argument } from 'commander';
import type { Command } from 'commander';
import { STEP_NAMES } from '../domain/step-table.js';
import type { StepName } from '../domain/order.js';
import { doctor } from './doctor/doctor.js';
import { EXIT_CODES_HELP } from './exit-codes.js';
import { explain } from './explain/explain.js';
import type { ExplainOptions } from './explain/explain.js';
import { settle } from './ops.js';
import type { OperatorsWord } from './ops.js';
import { withJson } from './program.js';
import type { Run } from './program.js';

/** What operators run, beside the servers: they see the orders of all tenants. */
export function addOperatorCommands(program: Command, run: Run): void {
  withJson(program.command('explain'))
    .argument('<order|key>', 'an order id, ORD-…, or an Idempotency-Key')
    .description('Prove what was done for an order or under a key, by every record there is of it.')
    .option('-t, --tenant <name>', 'whose key it is; left out, that of the token')
    .addHelpText(
      'after',
      `
Reads the claim and the order in Postgres, the workflow in Temporal, and the ledgers and calls of both services;
holds each against the others; and counts. What disagrees is named, and ends with exit code 5.
Beside the API's, it takes DATABASE_URL, the TEMPORAL_… variables, PAYMENT_URL, PAYMENT_TOKEN, INVENTORY_URL and
INVENTORY_TOKEN, as the worker does; or the stack on DATA_DIR.

Examples:
  order-saga explain ORD-0190…
  order-saga explain k1 --tenant acme
  order-saga explain k1 --json | jq .counts
${EXIT_CODES_HELP}`,
    )
    .action((orderOrKey: string, options: ExplainOptions) =>
      run(options, (context) => explain(context, orderOrKey, options)),
    );

  withJson(program.command('doctor'))
    .description(
      'Look whether servers, schema, retention, worker, schedules and clocks fit, and say what to do.',
    )
    .addHelpText(
      'after',
      `
Changes nothing. Takes the same variables as explain. A warning leaves the exit code 0, a failure makes it 5.
${EXIT_CODES_HELP}`,
    )
    .action((options: object) => run(options, doctor));

  const ops = program
    .command('ops')
    .description('Settle an undo that is stuck, with an operator’s token.')
    .usage('retry|resolve <order> <step> --why <text>');
  const actions = {
    retry: 'Try a stuck undo again at once: its cause is mended.',
    resolve:
      'End a stuck undo without another try: a person has settled the matter by other means.',
  } as const;
  for (const action of ['retry', 'resolve'] as const) {
    withJson(ops.command(action))
      .description(actions[action])
      .argument('<order>', 'an order id, ORD-…')
      .addArgument(new Argument('<step>', 'whose undo').choices(STEP_NAMES))
      .requiredOption('--why <text>', 'kept on the order, for the auditor')
      .option('--who <name>', 'kept beside it; left out, the name of the token')
      .addHelpText(
        'after',
        `\nExample:\n  order-saga ops ${action} ORD-0190… payment --who ada --why "${
          action === 'retry' ? 'the payment service is repaired' : 'refunded by bank transfer'
        }"`,
      )
      .action((order: string, step: StepName, options: OperatorsWord) =>
        run(options, (context) => settle(context, action, order, step, options)),
      );
  }
}
