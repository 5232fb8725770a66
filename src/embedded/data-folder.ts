import { mkdir, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { StackSettings } from './environment.js';
import type { RoleName } from './stack-file.js';

/** 10 MB a log: weeks of an idle stack, and still opened by any editor. One older file is kept. */
const MAX_LOG_BYTES = 10_000_000;

/** The settings with symlinks of the data folder followed, so that one folder has one name. Makes nothing. */
export async function resolvedFolder(settings: StackSettings): Promise<StackSettings> {
  return { ...settings, dataDir: await realName(settings.dataDir) };
}

async function realName(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(await realName(parent), basename(folder));
  }
}

/** The log of a role; a log that has grown large is set aside first. */
export async function logFile(dataDir: string, program: RoleName | 'app'): Promise<string> {
  const folder = join(dataDir, 'logs');
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${program}.log`);
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await rename(path, `${path}.1`);
  return path;
}

/**
 * A Temporal configuration file that says nothing: with it in `TEMPORAL_CONFIG_FILE`, no role reads the one in the
 * home folder. Its one profile must be there: `@temporalio/envconfig` 1.24 trips over a file without any.
 */
export async function writeTemporalProfile(dataDir: string): Promise<string> {
  const path = join(dataDir, 'temporal.toml');
  await writeFile(path, '[profile.default]\n');
  return path;
}
