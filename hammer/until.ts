import { setTimeout as sleep } from 'node:timers/promises';

/** Thrown where a condition did not come true in time. */
export class WaitedInVain extends Error {}

/**
 * Waits for a condition.
 *
 * @param what the condition in words.
 * @throws WaitedInVain
 */
export async function until(
  condition: () => Promise<boolean> | boolean,
  patienceMs: number,
  what: string,
  everyMs = 50,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await condition())) {
    if (Date.now() > deadline)
      throw new WaitedInVain(`Waited ${patienceMs} ms in vain until ${what}.`);
    await sleep(everyMs);
  }
}

/** As `until`, and tells whether it came true. */
export async function came(
  condition: () => Promise<boolean> | boolean,
  patienceMs: number,
  everyMs = 50,
): Promise<boolean> {
  try {
    await until(condition, patienceMs, '', everyMs);
    return true;
  } catch (error) {
    if (error instanceof WaitedInVain) return false;
    throw error;
  }
}
