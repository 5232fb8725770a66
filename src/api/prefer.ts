/** A minute: what a proxy between us and the client is sure to bear. A larger wish counts as this. */
export const MAX_WAIT_SECONDS = 60;

/** What a client asked for with `Prefer` (RFC 7240), as far as we know it. */
export interface Preference {
  /** How long to wait for the final answer; 0 answers as soon as the order is durably started. */
  readonly waitSeconds: number;
  /** The value of `Preference-Applied`. */
  readonly applied: string;
}

/**
 * Reads `respond-async` and `wait=N`.
 *
 * Each preference counts once, by its first instance; a malformed one is ignored, as the RFC demands of
 * unknown ones. Both together wait N.
 *
 * @param header the value, several headers joined by commas as Node does; undefined when there is none.
 * @returns undefined when nothing that we know was asked.
 */
export function readPreference(header: string | undefined): Preference | undefined {
  const preferences = new Map<string, string>();
  for (const element of header?.match(ELEMENT) ?? []) {
    const match = PREFERENCE.exec(element);
    const name = match?.[1]?.toLowerCase();
    if (name !== undefined && !preferences.has(name)) {
      preferences.set(name, match?.[2] ?? match?.[3] ?? '');
    }
  }
  const respondAsync = preferences.get('respond-async') === '';
  const wait = preferences.get('wait') ?? '';
  const waitSeconds = /^[0-9]+$/.test(wait) ? Math.min(Number(wait), MAX_WAIT_SECONDS) : undefined;
  if (!respondAsync && waitSeconds === undefined) return undefined;
  const applied = [
    ...(respondAsync ? ['respond-async'] : []),
    ...(waitSeconds === undefined ? [] : [`wait=${waitSeconds}`]),
  ];
  return { waitSeconds: waitSeconds ?? 0, applied: applied.join(', ') };
}

/** One element of the list; a comma within quotes does not end it. */
const ELEMENT = /(?:"[^"]*"|[^,"])+/g;

/** A token, perhaps with a value, bare or quoted, perhaps with parameters, which say nothing to us. */
const PREFERENCE =
  /^\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)\s*(?:=\s*(?:"([^"]*)"|([^\s;"]*)))?\s*(?:;.*)?$/;
