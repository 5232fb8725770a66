import { parseArgs } from 'node:util';
import type { Client } from '../store/clients.js';

export const HELP = `Usage: npm run clients -- <command> [options]

Keeps the clients of the API in Postgres: their names and the SHA-256 of their tokens. A token is shown
once, on standard output, when it is made. A running API takes every change within two seconds.

  add <name>       Makes a client and shows its token.
  list             Shows the clients and their tokens, by id; --all also those that are no longer good.
  rotate <name>    Makes another token and shows it. The tokens the client had end at once,
                   or after --overlap=<seconds>: long enough to bring the new one to the client.
  revoke <name>    Ends all tokens of a client at once; with --token=<id> only that one.

Options:
  --operator       The client is an operator; without it, a tenant.
  --json           Writes one JSON value.
  --help           Shows this text.

A name is 1 to 64 of A-Z a-z 0-9 . _ -
The database is DATABASE_URL, or else the one of the stack that runs on DATA_DIR (default .data).

Exit codes: 0 done, 1 not done (see the message), 2 not understood.
`;

/** A command line, understood. */
export type Command = (
  | { readonly name: 'help' }
  | { readonly name: 'list'; readonly all: boolean }
  | { readonly name: 'add'; readonly client: Client }
  | { readonly name: 'rotate'; readonly client: Client; readonly overlapSeconds: number }
  | { readonly name: 'revoke'; readonly client: Client; readonly tokenId: string | undefined }
) & { readonly json: boolean };

/** The command line is not understood; the message says what is wrong with it. */
export class UsageError extends Error {}

const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** A year: whoever needs more has two tokens in use, not a rotation. */
const MAX_OVERLAP_SECONDS = 31_536_000;

/** Which options each command takes beyond --json. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  add: ['operator'],
  list: ['all'],
  rotate: ['operator', 'overlap'],
  revoke: ['operator', 'token'],
};

/** @throws UsageError */
export function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = parsed(args);
  const json = values.json === true;
  const [command, ...names] = positionals;
  if (values.help === true || command === 'help') return { name: 'help', json };
  const options = command === undefined ? undefined : OPTIONS[command];
  if (command === undefined || options === undefined) {
    throw new UsageError(`Say one of ${Object.keys(OPTIONS).join(', ')}.`);
  }
  const foreign = Object.keys(values).find((key) => key !== 'json' && !options.includes(key));
  if (foreign !== undefined) throw new UsageError(`"${command}" takes no --${foreign}.`);
  if (command === 'list') {
    if (names.length > 0) throw new UsageError('"list" takes no name.');
    return { name: 'list', all: values.all === true, json };
  }
  const client = clientOf(command, names, values.operator === true);
  if (command === 'rotate') {
    return { name: 'rotate', client, overlapSeconds: overlapOf(values.overlap), json };
  }
  if (command === 'revoke') return { name: 'revoke', client, tokenId: tokenOf(values.token), json };
  return { name: 'add', client, json };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        operator: { type: 'boolean' },
        all: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        overlap: { type: 'string' },
        token: { type: 'string' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function clientOf(command: string, names: readonly string[], isOperator: boolean): Client {
  const [name] = names;
  if (name === undefined || names.length > 1) {
    throw new UsageError(`"${command}" takes one name, not ${names.length}.`);
  }
  if (!NAME.test(name)) {
    throw new UsageError('A name is 1 to 64 of A-Z a-z 0-9 . _ -');
  }
  return { kind: isOperator ? 'operator' : 'tenant', name };
}

function overlapOf(value: string | undefined): number {
  const seconds = Number(value ?? 0);
  if (/^[0-9]+$/.test(value ?? '0') && seconds <= MAX_OVERLAP_SECONDS) return seconds;
  throw new UsageError(`--overlap is in seconds, 0 to ${MAX_OVERLAP_SECONDS}.`);
}

function tokenOf(value: string | undefined): string | undefined {
  if (value === undefined || /^[0-9a-f]{12}$/.test(value)) return value;
  throw new UsageError('--token is an id as "list" shows it: 12 hexadecimal digits.');
}
