import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Where a command writes: results for programs to one stream, everything else to the other. */
export interface Terminal {
  readonly json: boolean;
  /** A line of the result, on standard output. */
  readonly out: (line: string) => void;
  /** Progress, and whatever else is for people only, on standard error. */
  readonly note: (line: string) => void;
  readonly paint: (style: Style, text: string) => string;
}

/** A stream that may be a terminal's. */
export interface Stream {
  readonly write: (text: string) => unknown;
  readonly isTTY?: boolean;
  readonly hasColors?: () => boolean;
}

export interface Streams {
  readonly stdout: Stream;
  readonly stderr: Stream;
}

export function createTerminal({ stdout, stderr }: Streams, json: boolean): Terminal {
  const isColoured = !json && hasColours(stdout);
  return {
    json,
    out: (line) => void stdout.write(`${line}\n`),
    note: (line) => void stderr.write(`${hasColours(stderr) ? painted('dim', line) : line}\n`),
    paint: (style, text) => (isColoured ? painted(style, text) : text),
  };
}

/** Which stream has colours is known here; Node would look at its standard output for all. */
const painted = (style: Style, text: string): string =>
  styleText(style, text, { validateStream: false });

/** Node's own rule: a terminal that has colours, and no NO_COLOR. A pipe and a file are none. */
function hasColours(stream: Stream): boolean {
  return stream.isTTY === true && stream.hasColors?.() === true;
}

/** Rows with their columns one under the other; what is painted is measured without its colour. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  );
}

const widthOf = (text: string): number => text.replace(COLOUR, '').length;

// eslint-disable-next-line no-control-regex -- that is what a colour is
const COLOUR = /\u001b\[[0-9;]*m/g;
