import { fileURLToPath } from 'node:url';
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { API_PROBLEMS } from '../../src/api/problems.js';
import { OUTCOME_PROBLEMS } from '../../src/domain/outcome.js';
import { PROTOCOL_PROBLEMS } from '../../src/http/protocol-problems.js';
import { INVENTORY_PROBLEMS } from '../../src/services/inventory/problems.js';
import { PAYMENT_PROBLEMS } from '../../src/services/payment/problems.js';
import { SERVICE_PROBLEMS } from '../../src/services/problems.js';

export const ERROR_REFERENCE = fileURLToPath(new URL('../../docs/errors.md', import.meta.url));

interface Documented {
  readonly slug: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

/** By the marker that each table stands behind in the document. */
const TABLES: Readonly<Record<string, readonly Documented[]>> = {
  // Two reasons share a problem.
  outcomes: [...new Map(Object.values(OUTCOME_PROBLEMS).map((one) => [one.slug, one])).values()],
  api: Object.values<Documented>(API_PROBLEMS),
  protocol: Object.values<Documented>(PROTOCOL_PROBLEMS),
  payment: Object.values<Documented>(PAYMENT_PROBLEMS),
  inventory: Object.values<Documented>(INVENTORY_PROBLEMS),
  services: Object.values<Documented>(SERVICE_PROBLEMS),
};

/** The document with each of its tables made anew from the problems of the sources. */
export async function errorReference(): Promise<string> {
  let text = readFileSync(ERROR_REFERENCE, 'utf8');
  for (const [name, problems] of Object.entries(TABLES)) {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [before, inside, after] = [
      text.split(begin)[0],
      text.split(begin)[1]?.split(end)[0],
      text.split(end)[1],
    ];
    if (inside === undefined || after === undefined) throw new Error(`No place for ${name}.`);
    text = `${before}${begin}\n\n${tableOf(problems)}\n\n${end}${after}`;
  }
  const options = await resolveConfig(ERROR_REFERENCE);
  return format(text, { ...options, parser: 'markdown' });
}

function tableOf(problems: readonly Documented[]): string {
  const rows = [...problems]
    .sort((one, other) => one.status - other.status || one.slug.localeCompare(other.slug))
    .map(({ slug, status, title, detail }) => `| \`${slug}\` | ${status} | ${title} | ${detail} |`);
  return ['| problem | status | what it says | what to do |', '| - | - | - | - |', ...rows].join(
    '\n',
  );
}

// As a program it writes the document.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(ERROR_REFERENCE, await errorReference());
}
