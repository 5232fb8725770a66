/** Process: `npm run conformance`. Checks a service against what a saga rests on; see `command-line.ts`. */
import { configOfProcess } from '../config.js';
import { checksOf } from './checks.js';
import { HELP, parseCommand, UsageError } from './command-line.js';
import type { Command } from './command-line.js';
import { runChecks } from './run-checks.js';
import type { Finding } from './run-checks.js';
import { callerOf } from './service.js';

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    return await run(parseCommand(process.argv.slice(2)));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n\n${HELP}`);
    return 2;
  }
}

async function run(command: Command): Promise<number> {
  if (command.name === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  const { service, contract, url, json } = command;
  const { paymentToken, inventoryToken } = configOfProcess();
  const tokens = { payment: paymentToken, inventory: inventoryToken, step: undefined };
  const caller = callerOf({ baseUrl: url, token: tokens[service] }, contract);
  const findings = await runChecks(checksOf(caller, contract), (finding) => {
    if (!json) process.stdout.write(lineOf(finding));
  });
  const broken = findings.filter(({ isKept }) => !isKept);
  if (json) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
  else process.stdout.write(`${findings.length - broken.length} kept, ${broken.length} broken\n`);
  return broken.length === 0 ? 0 : 1;
}

function lineOf({ clause, promises, isKept, seen }: Finding): string {
  const more = seen === undefined ? '' : `\n       ${seen}`;
  return `${isKept ? 'ok    ' : 'BROKEN'} ${clause.padEnd(12)} ${promises}${more}\n`;
}
