import { readdir, readFile, stat } from 'node:fs/promises';

/** What a system's processes have used since they were started, and the memory that they hold. Linux only. */
export interface Usage {
  readonly cpuMs: number;
  readonly memoryMb: number;
}

/** 100 a second: the unit of /proc/<pid>/stat, the same on every Linux that Node runs on. */
const TICK_MS = 10;

/**
 * Sums up over whole process trees. Children that have ended and were waited for count in their parents.
 *
 * @param roots the processes that a system was started as: servers, roles, databases.
 */
export async function usageOf(roots: readonly number[]): Promise<Usage> {
  const stats = await allStats();
  const tree = new Set(roots);
  for (let grown = true; grown;) {
    grown = false;
    for (const { pid, parent } of stats) {
      if (tree.has(parent) && !tree.has(pid)) {
        tree.add(pid);
        grown = true;
      }
    }
  }
  const members = stats.filter(({ pid }) => tree.has(pid));
  // Shared pages count in parts: Postgres' processes share most of theirs.
  const memoryKb = await Promise.all(
    members.map(async ({ pid }) =>
      Number(/^Pss:\s+(\d+) kB/m.exec(await text(pid, 'smaps_rollup'))?.[1] ?? 0),
    ),
  );
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  return {
    cpuMs: sum(members.map(({ ticks }) => ticks)) * TICK_MS,
    memoryMb: sum(memoryKb) / 1_024,
  };
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

async function allStats(): Promise<readonly Stat[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(
    pids.map(async (pid) => {
      const stat = await text(pid, 'stat');
      // The name, in brackets, may hold anything. Behind it: state, parent, …, and from the 12th on the times.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const ticks = fields.slice(11, 15).reduce((all, field) => all + Number(field), 0);
      return { pid, parent: Number(fields[1]), ticks };
    }),
  );
  return stats.filter(({ ticks }) => !Number.isNaN(ticks));
}

/** Empty for a process that has ended, or that is somebody else's. */
const text = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');

/** The unit of /proc/diskstats, whatever the disk's own. */
const SECTOR_BYTES = 512;

/**
 * What was written to the disk that a folder is on, by everybody: the system under load should be alone on it. The
 * kernel's count by process is of no use here, as one byte in a large folio counts as the whole folio.
 *
 * @returns undefined where the folder is on no disk that the kernel counts.
 */
export async function writtenBytes(folder: string): Promise<number | undefined> {
  const { dev } = await stat(folder);
  // As glibc's major() and minor() take the number apart, for all that Linux gives out today.
  const [major, minor] = [Math.floor(dev / 256) % 4_096, dev % 256];
  const line = (await readFile('/proc/diskstats', 'utf8'))
    .split('\n')
    .map((row) => row.trim().split(/\s+/))
    .find((fields) => Number(fields[0]) === major && Number(fields[1]) === minor);
  return line === undefined ? undefined : Number(line[9]) * SECTOR_BYTES;
}
