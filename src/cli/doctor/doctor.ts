import { connectTemporal, temporalConfig } from '../../temporal/connect.js';
import type { Context } from '../api.js';
import { EXIT } from '../exit-codes.js';
import type { ExitCode } from '../exit-codes.js';
import { findSurroundings } from '../surroundings.js';
import { table } from '../terminal.js';
import type { Style, Terminal } from '../terminal.js';
import { httpChecks } from './api-checks.js';
import type { Check } from './check.js';
import { postgresChecks } from './postgres-checks.js';
import { temporalChecks } from './temporal-checks.js';

const COLOURS: Readonly<Record<Check['state'], Style>> = {
  ok: 'green',
  warn: 'yellow',
  fail: 'red',
};

/** `doctor`: whether all that an order needs is there and fits; changes nothing. */
export async function doctor({ env: given, terminal }: Context): Promise<ExitCode> {
  const surroundings = await findSurroundings(given);
  const { config, env, stackFolder } = surroundings;
  terminal.note(
    stackFolder === undefined
      ? 'Looking at the servers that the environment names …'
      : `Looking at the stack on ${stackFolder} …`,
  );
  const { client, namespace, close } = connectTemporal(temporalConfig(env));
  try {
    const checks = await Promise.all([
      ...httpChecks(surroundings),
      ...postgresChecks(config),
      ...temporalChecks(client, namespace, config),
    ]);
    return report(terminal, checks);
  } finally {
    await close();
  }
}

function report(terminal: Terminal, checks: readonly Check[]): ExitCode {
  const { json, out, paint } = terminal;
  const count = (state: Check['state']): number =>
    checks.filter((check) => check.state === state).length;
  const isSound = count('fail') === 0;
  if (json) out(JSON.stringify({ checks, isSound }));
  else {
    const lines = table(
      checks.map(({ name, state, detail }) => [paint(COLOURS[state], state), name, detail]),
    );
    for (const [index, line] of lines.entries()) {
      out(line);
      const todo = checks[index]?.todo;
      if (todo !== undefined) out(`      → ${todo}`);
    }
    out('');
    out(`${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed`);
  }
  return isSound ? EXIT.done : EXIT.unsound;
}
