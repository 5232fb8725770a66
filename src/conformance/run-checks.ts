import type { Check } from './checks.js';

export interface Finding {
  readonly clause: string;
  readonly promises: string;
  readonly isKept: boolean;
  /** What was seen instead; where the clause is kept, what was not looked at, if anything. */
  readonly seen?: string;
}

/** Tries one clause after the other: a race that one makes must not disturb the next. */
export async function runChecks(
  checks: readonly Check[],
  onFinding: (finding: Finding) => void = () => undefined,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { clause, promises, run } of checks) {
    const finding = await run().then(
      (notSeen) => ({
        clause,
        promises,
        isKept: true,
        ...(notSeen === undefined ? {} : { seen: `not seen: ${notSeen}` }),
      }),
      (error: unknown) => ({ clause, promises, isKept: false, seen: messageOf(error) }),
    );
    findings.push(finding);
    onFinding(finding);
  }
  return findings;
}

/** `fetch` hides what happened in the cause of its "fetch failed". */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`.replaceAll(/\s+/g, ' ');
}
