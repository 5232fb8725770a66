/** Process: `npm run clients`. Keeps the clients of the API in Postgres; see `command-line.ts`. */
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { configOfProcess, required } from '../config.js';
import type { Config } from '../config.js';
import { readStack } from '../embedded/stack-file.js';
import { createPool, isDatabaseUnavailable, isUndefinedTable } from '../postgres/pool.js';
import { createClientStore } from '../store/clients.js';
import { HELP, parseCommand, UsageError } from './command-line.js';
import type { Command } from './command-line.js';
import { runCommand } from './run-command.js';

const say = (text: string): void => void process.stderr.write(text);
process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const command = parseCommand(process.argv.slice(2));
    const said = await run(command);
    process.stdout.write(said.out);
    say(said.err);
    return said.exitCode;
  } catch (error) {
    if (error instanceof UsageError) {
      say(`${error.message}\n\n${HELP}`);
      return 2;
    }
    say(`${messageOf(error)}\n`);
    return 1;
  }
}

async function run(command: Command) {
  // The help needs no database.
  const connectionString = command.name === 'help' ? '' : await databaseUrl(configOfProcess());
  const pool = createPool({
    connectionString,
    max: 1,
    applicationName: 'order-saga clients',
    onIdleError: () => undefined,
  });
  try {
    return await runCommand(command, createClientStore(pool));
  } finally {
    await pool.end();
  }
}

async function databaseUrl(config: Config): Promise<string> {
  if (config.databaseUrl !== undefined) return config.databaseUrl;
  const folder = resolve(config.dataDir);
  const stack = await readStack(await realpath(folder).catch(() => folder));
  return required('DATABASE_URL', stack?.env['DATABASE_URL']);
}

/** One readable line, not a stack: what is wrong is outside of this program. */
function messageOf(error: unknown): string {
  if (isUndefinedTable(error)) return 'The database is not migrated: run "npm run migrate" first.';
  const reason = error instanceof Error ? error.message : String(error);
  return isDatabaseUnavailable(error) ? `Postgres can not be reached: ${reason}` : reason;
}
