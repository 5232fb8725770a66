import { readFileSync } from 'node:fs';

/** Every query of the table of saved views, by the name of its view. */
export function savedViews(): ReadonlyMap<string, string> {
  const text = readFileSync(new URL('../../docs/temporal-ui.md', import.meta.url), 'utf8');
  const table = text.split('## Saved views')[1]?.split('\n## ')[0] ?? '';
  return new Map(
    [...table.matchAll(/^\| ([^|`]+?) +\| `([^`]+)` +\|$/gm)].map(([, view = '', query = '']) => [
      view,
      query,
    ]),
  );
}
