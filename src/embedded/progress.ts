import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Two seconds between lines: soon enough to show that something moves, few enough for a CI log. */
const PROGRESS_INTERVAL_MS = 2_000;

/** Runs something that downloads into a folder, and says every other second how much has come. */
export async function withProgress<T>(
  label: string,
  folder: string,
  say: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const started = Date.now();
  const before = await sizeOf(folder);
  say(`${label}: downloading …`);
  const timer = setInterval(() => {
    void sizeOf(folder).then((size) => {
      const megabytes = Math.max(0, size - before) / 1e6;
      say(`${label}: ${megabytes.toFixed(0)} MB after ${seconds(started)} s …`);
    });
  }, PROGRESS_INTERVAL_MS);
  try {
    const result = await work();
    say(`${label}: done in ${seconds(started)} s.`);
    return result;
  } catch (error) {
    say(`${label}: not to be had.`);
    throw error;
  } finally {
    clearInterval(timer);
  }
}

function seconds(since: number): string {
  return ((Date.now() - since) / 1_000).toFixed(1);
}

/** Bytes of all files below a folder; files that vanish meanwhile count nothing. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map((entry) =>
      stat(join(folder, entry)).then(
        (found) => (found.isFile() ? found.size : 0),
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
