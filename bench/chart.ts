import { find } from './results.js';
import type { Row } from './results.js';
import { SYSTEM_NAMES } from './systems/system.js';
import type { SystemName } from './systems/system.js';

const WIDTH = 760;
const BAR = 20;
const LEFT = 190;
const RIGHT = 90;

const LABELS: Readonly<Record<SystemName, string>> = {
  ours: 'ours, npm start',
  'ours-postgres': 'ours, Temporal on Postgres',
  samples: 'Temporal as in its samples',
  dbos: 'DBOS',
  restate: 'Restate',
};

const PANELS = [
  {
    title: 'p50 of one order after the other, ms (less is better)',
    quantity: 'p50Ms',
    inFlight: 1,
  },
  {
    title: 'p99 of one order after the other, ms (less is better)',
    quantity: 'p99Ms',
    inFlight: 1,
  },
  { title: 'orders a second, 50 in flight (more is better)', quantity: 'perSecond', inFlight: 50 },
  { title: 'CPU an order, 50 in flight, ms (less is better)', quantity: 'cpuMs', inFlight: 50 },
] as const;

/** Bars to a linear scale from zero, each panel with its own. */
export function chart(rows: readonly Row[]): string {
  const parts: string[] = [];
  let y = 10;
  for (const { title, quantity, inFlight } of PANELS) {
    const bars = SYSTEM_NAMES.flatMap((system) => {
      const row = find(rows, system, { scenario: 'order', inFlight });
      return row === undefined ? [] : [{ system, value: row[quantity] }];
    });
    const most = Math.max(...bars.map(({ value }) => value));
    y += 22;
    parts.push(text(10, y, title, 'font-weight="bold"'));
    y += 10;
    for (const { system, value } of bars) {
      const length = Math.max(1, ((WIDTH - LEFT - RIGHT) * value) / most);
      const middle = y + BAR / 2 + 4;
      parts.push(
        text(LEFT - 8, middle, LABELS[system], 'text-anchor="end"'),
        `<rect x="${LEFT}" y="${y + 2}" width="${length.toFixed(1)}" height="${BAR - 4}" fill="${colour(system)}"/>`,
        text(LEFT + length + 6, middle, value.toFixed(value < 100 ? 1 : 0), ''),
      );
      y += BAR;
    }
  }
  const height = y + 14;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

const colour = (system: SystemName): string => (system.startsWith('ours') ? '#1f6feb' : '#8c959f');

const text = (x: number, y: number, content: string, attributes: string): string =>
  `<text x="${x.toFixed(1)}" y="${y}" fill="#24292f" ${attributes}>${content}</text>`;
