import { parseArgs } from 'node:util';
import { CONTRACTS } from './contract.js';
import type { Contract } from './contract.js';

export const HELP = `Usage: npm run conformance -- <payment|inventory|step> --url <address> [options]

Checks a service, clause by clause, against what a saga rests on; docs/downstream.md explains each clause and
what to do where a service can't keep one. It really calls the service, on orders named CHECK-…, and undoes
each in the end: use a sandbox, or amounts that do not hurt.

  payment          POST /charges and /refunds, as the payment service that comes with the product has them.
  inventory        POST /reservations and /releases.
  step             A step of your own; all of these say what it is called:
    --step-path      where the step is posted to            /awards
    --step-body      its body, without orderId              '{"points":10}'
    --other-body     the same with one change               '{"points":20}'
    --refused-body   a body it says no to; none if left out
    --undo-path      where the undo is posted to            /revocations
    --key-member     what names the step's key              awardKey
    --undone         the first undo's outcome; later ones answer already-<undone>      revoked
    --ledger         an address that lists ?orderId=, a line an effect; none if left out

Options:
  --url            Where the service is.
  --json           Writes one JSON value.
  --help           Shows this text.

PAYMENT_TOKEN is sent to a payment service as its bearer token where it is set, INVENTORY_TOKEN to an inventory
service; a step of your own is called without one.

Exit codes: 0 every clause is kept, 1 one is not or could not be tried, 2 not understood.
`;

export type Command =
  | { readonly name: 'help' }
  | {
      readonly name: 'check';
      readonly service: 'payment' | 'inventory' | 'step';
      readonly contract: Contract;
      readonly url: string;
      readonly json: boolean;
    };

/** The command line is not understood; the message says what is wrong with it. */
export class UsageError extends Error {}

const TEXTS = {
  url: { type: 'string' },
  'step-path': { type: 'string' },
  'step-body': { type: 'string' },
  'other-body': { type: 'string' },
  'refused-body': { type: 'string' },
  'undo-path': { type: 'string' },
  'key-member': { type: 'string' },
  undone: { type: 'string' },
  ledger: { type: 'string' },
} as const;

type Values = Partial<Record<keyof typeof TEXTS, string>> & {
  readonly json?: boolean;
  readonly help?: boolean;
};

/** @throws UsageError */
export function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = parsed(args);
  const [service, ...more] = positionals;
  if (values.help === true || service === 'help') return { name: 'help' };
  if ((service !== 'payment' && service !== 'inventory' && service !== 'step') || more.length > 0) {
    throw new UsageError('Say one of payment, inventory, step.');
  }
  const url = needed(values, 'url');
  if (!URL.canParse(url)) throw new UsageError(`--url is no address: ${url}`);
  const contract = service === 'step' ? contractOf(values) : CONTRACTS[service];
  return { name: 'check', service, contract, url, json: values.json === true };
}

function contractOf(values: Values): Contract {
  const undone = needed(values, 'undone');
  return {
    forward: {
      path: needed(values, 'step-path'),
      body: bodyOf('step-body', needed(values, 'step-body')),
      otherBody: bodyOf('other-body', needed(values, 'other-body')),
      refusedBody:
        values['refused-body'] === undefined
          ? undefined
          : bodyOf('refused-body', values['refused-body']),
    },
    undo: {
      path: needed(values, 'undo-path'),
      keyMember: needed(values, 'key-member'),
      undone,
      alreadyUndone: `already-${undone}`,
    },
    ledgerPath: values.ledger,
  };
}

function parsed(args: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...TEXTS, json: { type: 'boolean' }, help: { type: 'boolean' } },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function needed(values: Values, name: keyof typeof TEXTS): string {
  const value = values[name];
  if (value === undefined || value === '') throw new UsageError(`--${name} is needed.`);
  return value;
}

function bodyOf(name: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Said below.
  }
  throw new UsageError(`--${name} is no JSON object: ${text}`);
}
