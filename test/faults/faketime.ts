import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../src/embedded/temporal-cli.js';

const execute = promisify(execFile);

/** For programs with threads, as Node has. */
const LIBRARY = 'libfaketimeMT.so.1';

/** A clock of its own for a process, which a test sets while it runs. */
export interface Clock {
  /** What the process has to be started with. */
  readonly env: Readonly<Record<string, string>>;
  /** @param offset as `faketime` takes it: `+25h`, `-90m`, `+0`. */
  readonly set: (offset: string) => Promise<void>;
}

/**
 * Makes a clock that is right at first.
 *
 * @param folder of the clock's file, which the process must be able to enter.
 * @throws Error where libfaketime is missing and Debian's package of it can't be had.
 */
export async function createClock(folder: string, name: string): Promise<Clock> {
  const library = join(folder, LIBRARY);
  // Copied: the account of Postgres can't enter the cache folder of whoever runs the tests.
  await copyFile(await findLibrary(), library);
  await chmod(library, 0o755);
  const file = join(folder, `clock-${name}`);
  const set = async (offset: string): Promise<void> => {
    // Renamed: a process that looks meanwhile must not find half an offset.
    await writeFile(`${file}.new`, `${offset}\n`, { mode: 0o644 });
    await rename(`${file}.new`, file);
  };
  await set('+0');
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      // A clock that is set does not change what time limits are measured by.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
  };
}

/** Installed, or unpacked once from Debian's package, which takes no root. */
async function findLibrary(): Promise<string> {
  const installed = await findBelow('/usr/lib');
  if (installed !== undefined) return installed;
  const cache = join(await cacheFolder(process.env['XDG_CACHE_HOME'], '.cache'), 'libfaketime');
  const cached = await findBelow(join(cache, 'usr/lib'));
  if (cached !== undefined) return cached;
  try {
    await mkdir(cache, { recursive: true });
    const staging = await mkdtemp(join(cache, 'staging-'));
    await execute('apt-get', ['download', 'libfaketime'], { cwd: staging });
    const [archive = ''] = await readdir(staging);
    await execute('dpkg-deb', ['--extract', join(staging, archive), cache]);
    await rm(staging, { recursive: true, force: true });
  } catch (cause) {
    throw new Error(
      'libfaketime is missing, and its package could not be had: "apt-get install libfaketime".',
      { cause },
    );
  }
  const unpacked = await findBelow(join(cache, 'usr/lib'));
  if (unpacked === undefined) throw new Error(`The package of libfaketime has no ${LIBRARY}.`);
  return unpacked;
}

/** In Debian's folders there is one of the machine's architecture in between. */
async function findBelow(folder: string): Promise<string | undefined> {
  for (const architecture of await readdir(folder).catch(() => [])) {
    const found = join(folder, architecture, 'faketime', LIBRARY);
    if (
      await readdir(join(found, '..')).then(
        (names) => names.includes(LIBRARY),
        () => false,
      )
    ) {
      return found;
    }
  }
  return undefined;
}
