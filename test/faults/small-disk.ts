import { spawn } from 'node:child_process';
import { appendFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { DatabaseServer, Server } from './servers.js';

/** What the process of `server-on-small-disk.ts` answers to each line that it is sent. */
export interface Reply {
  readonly port: number;
  readonly data: string;
  readonly pid: number;
  readonly running: boolean;
  /** Undefined of a Temporal server. */
  readonly url?: string;
}

/** A server whose disk a test can fill. */
export interface SmallDisk<T extends Server> {
  readonly server: T;
  /** Takes all the space that is left. */
  readonly fill: () => Promise<void>;
  readonly free: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

/**
 * Starts a server with its data on a disk of its own, in memory and of some megabytes.
 *
 * @throws Error where mount namespaces can't be made: that takes Linux, root and util-linux.
 */
export async function onSmallDisk(
  folder: string,
  kind: 'payment',
  megabytes: number,
): Promise<SmallDisk<DatabaseServer>>;
export async function onSmallDisk(
  folder: string,
  kind: 'temporal',
  megabytes: number,
): Promise<SmallDisk<Server>>;
export async function onSmallDisk(
  folder: string,
  kind: 'payment' | 'temporal',
  megabytes: number,
): Promise<SmallDisk<DatabaseServer>> {
  const disk = join(folder, `disk-${kind}`);
  await mkdir(disk, { mode: 0o711 });
  const script = fileURLToPath(new URL('./server-on-small-disk.ts', import.meta.url));
  const holder = spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'private', process.execPath, '--import=tsx', script],
      ...[kind, disk, String(megabytes)],
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  let errors = '';
  holder.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<never>((_resolve, reject) => {
    const fail = (cause: unknown): void => {
      const needs = 'A small disk needs Linux, root and "unshare" of util-linux';
      reject(new Error(`${needs}; its process ended: ${errors}`, { cause }));
    };
    holder.once('error', fail);
    holder.once('exit', fail);
  });
  ended.catch(() => undefined);
  const lines = createInterface({ input: holder.stdout })[Symbol.asyncIterator]();
  let last: Reply;
  const hear = async (): Promise<Reply> => {
    const line = await Promise.race([lines.next(), ended]);
    last = JSON.parse(String(line.value)) as Reply;
    return last;
  };
  const ask = (line: string): Promise<Reply> => {
    holder.stdin.write(`${line}\n`);
    return hear();
  };
  const first = await hear();
  last = first;
  // The disk is mounted for that process alone, and seen through it by whoever is root.
  const ballast = join(`/proc/${holder.pid}/root`, disk, 'ballast');
  return {
    server: {
      port: first.port,
      data: () => last.data,
      pid: () => last.pid,
      running: () => last.running,
      url: () => first.url ?? '',
      start: async () => {
        await ask('start');
      },
      end: async (signal) => {
        await ask(signal);
      },
    },
    fill: async () => {
      // In pieces, the smaller ones last: a write that does not fit leaves the rest of the space unused.
      for (const bytes of [1_048_576, 4_096]) {
        while (await fits(ballast, bytes));
      }
    },
    free: () => rm(ballast, { force: true }),
    remove: async () => {
      const gone = new Promise((resolve) => holder.once('exit', resolve));
      holder.stdin.end();
      await gone;
    },
  };
}

async function fits(file: string, bytes: number): Promise<boolean> {
  try {
    await appendFile(file, Buffer.alloc(bytes));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
