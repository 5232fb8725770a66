/** How one thing was found: fit, to be looked at, or not fit for orders. */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do; absent where there is nothing to do. */
  readonly todo?: string;
}

/** What a check has found. */
export type Found = Omit<Check, 'name'>;

export const ok = (detail: string): Found => ({ state: 'ok', detail });
export const warn = (detail: string, todo: string): Found => ({ state: 'warn', detail, todo });
export const fail = (detail: string, todo: string): Found => ({ state: 'fail', detail, todo });

/** Looks at one thing; whatever keeps it from an answer is a failure. */
export async function check(
  name: string,
  todo: string,
  look: () => Promise<Found>,
): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, ...fail(error instanceof Error ? error.message : String(error), todo) };
  }
}
