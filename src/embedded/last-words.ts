import type { Child } from './child.js';

/** pino's level of a fatal line. */
const FATAL = 60;

/** Three lines: an error message with its advice; the rest is in the log file, which is named beside it. */
const LINES = 3;

/** Why a role ended, as it said itself: its fatal log line, else its last lines, and where its log is. */
export async function lastWords(child: Child): Promise<readonly string[]> {
  const lines = (await child.output()).split('\n').filter((line) => line.trim() !== '');
  const fatal = lines.map(fatalMessage).findLast((message) => message !== undefined);
  const words = fatal === undefined ? lines.slice(-LINES) : [fatal];
  return [...words, `see ${child.logFile}`];
}

function fatalMessage(line: string): string | undefined {
  try {
    const event = JSON.parse(line) as { level?: number; msg?: string; err?: { message?: string } };
    if (event.level !== FATAL) return undefined;
    return [event.msg, event.err?.message].filter((text) => text !== undefined).join(': ');
  } catch {
    return undefined;
  }
}
