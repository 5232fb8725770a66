import type { Client, ClientStore, ClientToken } from '../store/clients.js';
import { TOKEN_ID_DIGITS } from '../store/clients.js';
import type { Command } from './command-line.js';
import { HELP } from './command-line.js';
import { digestOfToken, mintToken } from './token.js';

/** What a command has to say. */
export interface Said {
  readonly exitCode: 0 | 1;
  /** For programs: a token, a table, JSON. */
  readonly out: string;
  /** For people. */
  readonly err: string;
}

export async function runCommand(command: Command, store: ClientStore): Promise<Said> {
  switch (command.name) {
    case 'help':
      return { exitCode: 0, out: HELP, err: '' };
    case 'list':
      return list(command, await store.list());
    case 'add': {
      const token = mintToken();
      if (await store.add(command.client, digestOfToken(token))) {
        return made(command, command.client, token, 'Keep it: it is not shown again.');
      }
      return notDone(`${shown(command.client)} is there already: rotate it, or revoke it first.`);
    }
    case 'rotate': {
      const { client, overlapSeconds } = command;
      const token = mintToken();
      const until = overlapSeconds === 0 ? 'at once' : `in ${overlapSeconds} s`;
      if (await store.rotate(client, digestOfToken(token), overlapSeconds)) {
        return made(command, client, token, `Keep it. The tokens it had end ${until}.`);
      }
      return notDone(`There is no ${shown(client)}.`);
    }
    case 'revoke': {
      const { client, tokenId, json } = command;
      const revoked = await store.revoke(client, tokenId);
      if (revoked === 0) return notDone(`There is no ${shown(client)} with such a token.`);
      return {
        exitCode: 0,
        out: json ? line({ ...client, revoked }) : '',
        err: json ? '' : `${shown(client)}: ${revoked} token(s) revoked.\n`,
      };
    }
  }
}

const shown = ({ kind, name }: Client): string => `${kind} "${name}"`;

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

const notDone = (why: string): Said => ({ exitCode: 1, out: '', err: `${why}\n` });

/** The one time that a token is shown. */
function made({ json }: Command, client: Client, token: string, note: string): Said {
  const tokenId = digestOfToken(token).slice(0, TOKEN_ID_DIGITS);
  if (json) return { exitCode: 0, out: line({ ...client, tokenId, token }), err: '' };
  return {
    exitCode: 0,
    out: `${token}\n`,
    err: `The token of ${shown(client)}, id ${tokenId}. ${note}\n`,
  };
}

function list(command: Command & { name: 'list' }, tokens: readonly ClientToken[]): Said {
  const listed = tokens.filter(({ isGood }) => isGood || command.all);
  if (command.json) return { exitCode: 0, out: line(listed), err: '' };
  if (listed.length === 0) return { exitCode: 0, out: '', err: 'There are no clients.\n' };
  const rows = [
    ['KIND', 'NAME', 'TOKEN ID', 'CREATED', 'ENDS'],
    ...listed.map(({ kind, name, id, createdAt, expiresAt }) => [
      kind,
      name,
      id,
      createdAt.toISOString(),
      expiresAt?.toISOString() ?? '-',
    ]),
  ];
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const text = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return { exitCode: 0, out: `${text.join('\n')}\n`, err: '' };
}
