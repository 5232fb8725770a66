import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { StackSettings } from './environment.js';
import { ROLES } from './stack-file.js';
import type { Stack } from './stack-file.js';

export interface Addresses {
  readonly api: string;
  readonly worker: string | undefined;
  readonly payment: string;
  readonly inventory: string;
  readonly temporal: string;
  readonly temporalUi: string | undefined;
  /** Without the password. */
  readonly postgres: string;
  readonly postgresFolder: string | undefined;
}

/** What is shown when the stack is ready: where everything is, an order to paste, and how to stop. */
export function greeting(settings: StackSettings, addresses: Addresses): readonly string[] {
  const { dataDir, config } = settings;
  const token = config.apiKeys[0]?.token ?? '';
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Order desk', `${addresses.api}/`],
    ['API', addresses.api],
    ['Worker', addresses.worker],
    ['Payment', addresses.payment],
    ['Inventory', addresses.inventory],
    ['Temporal Web UI', addresses.temporalUi],
    ['Temporal', addresses.temporal],
    ['Postgres', addresses.postgres],
    ['Data', dataDir],
    ['Postgres data', addresses.postgresFolder],
    ['Logs', join(dataDir, 'logs')],
  ];
  return [
    '',
    'Order Saga runs.',
    ...rows.flatMap(([name, value]) =>
      value === undefined ? [] : [`  ${name.padEnd(16)} ${value}`],
    ),
    '',
    'Place an order:',
    `  curl -i ${addresses.api}/orders -H ${quoted(`Authorization: Bearer ${token}`)} ` +
      `-H 'Content-Type: application/json' -H 'Idempotency-Key: ${randomUUID()}' ` +
      `-d '{"userId":"user-1","amount":1000}'`,
    '',
    'Ctrl-c drains and stops everything; the data stays.',
  ];
}

/** What a second start is told. */
export function runningAlready(
  dataDir: string,
  launcherPid: number,
  stack: Stack | undefined,
): readonly string[] {
  const roles = ROLES.flatMap((name) => {
    const entry = stack?.roles[name];
    return entry === undefined
      ? []
      : [`  ${name.padEnd(10)} pid ${entry.pid}  ${entry.url ?? ''}`.trimEnd()];
  });
  return [
    `The stack in ${dataDir} runs already (launcher pid ${launcherPid}); nothing was changed.`,
    ...roles,
    `Stop it with ctrl-c in its terminal, or with: kill ${launcherPid}`,
    'For a second one beside it set DATA_DIR to another folder, and other ports.',
  ];
}

/** In single quotes for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
