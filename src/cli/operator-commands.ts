import { Argument } from 'commander';
import type { Command } from 'commander';
import { STEP_NAMES } from '../domain/order.js';
import type { StepName } from '../domain/order.js';
import { settle } from './ops.js';
import type { OperatorsWord } from './ops.js';
import { withJson } from './program.js';
import type { Run } from './program.js';

/** What operators run: they see the orders of all tenants. */
export function addOperatorCommands(program: Command, run: Run): void {
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
