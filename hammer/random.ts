/** Random draws that a seed repeats. */
export interface Random {
  /** At least 0, below 1. */
  readonly next: () => number;
  /** An integer, both ends included. */
  readonly between: (min: number, max: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(from: readonly [T, ...T[]]) => T;
  readonly shuffled: <T>(items: readonly T[]) => readonly T[];
}

/**
 * A generator of its own for each purpose, so that one more draw for the load moves no fault.
 *
 * The algorithm is mulberry32: 32 bits of state, which is plenty for a plan and for nothing secret.
 */
export function createRandom(seed: string, purpose: string): Random {
  let state = hash(`${seed}/${purpose}`);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly [T, ...T[]]) => from[between(0, from.length - 1)] as T,
    shuffled: <T>(items: readonly T[]) => {
      const left = [...items];
      for (let last = left.length - 1; last > 0; last -= 1) {
        const other = between(0, last);
        [left[last], left[other]] = [left[other] as T, left[last] as T];
      }
      return left;
    },
  };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value;
}
