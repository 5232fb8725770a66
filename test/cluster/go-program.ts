import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../src/embedded/temporal-cli.js';

/** A program that is built from a Go module, pinned to one version of it. */
export interface GoProgram {
  readonly package: string;
  readonly version: string;
}

/** Builds take minutes and all cores: two compilers at a time, behind whatever else the machine does. */
const POLITELY = ['-n', '15'] as const;
const GOFLAGS = '-p=2';

/**
 * Builds a program once and keeps it in the user's cache folder.
 *
 * @returns where it is.
 * @throws Error where there is no Go, or it can't build it.
 */
export async function goProgram(
  { package: path, version }: GoProgram,
  say: (line: string) => void,
): Promise<string> {
  const cache = join(await cacheFolder(process.env['XDG_CACHE_HOME'], '.cache'), 'go-programs');
  const folder = join(cache, `${path.replaceAll('/', '+')}@${version}`);
  const program = join(folder, basename(path));
  if (await exists(program)) return program;
  await requireGo(path);
  await mkdir(cache, { recursive: true });
  // Built elsewhere and then renamed: a build that is cut short leaves nothing that passes for a program.
  const staging = await mkdtemp(join(cache, 'staging-'));
  try {
    say(`building ${path}@${version}, once; that takes minutes …`);
    await build(`${path}@${version}`, staging);
    await rename(staging, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return program;
}

async function build(target: string, folder: string): Promise<void> {
  const child = spawn('nice', [...POLITELY, 'go', 'install', target], {
    env: { ...process.env, GOFLAGS: `${process.env['GOFLAGS'] ?? ''} ${GOFLAGS}`, GOBIN: folder },
    // Outside of any module: this project's folders must not decide on versions.
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`"go install ${target}" ended with ${code ?? 'a signal'}.`);
}

async function requireGo(path: string): Promise<void> {
  await promisify(execFile)('go', ['version']).catch((cause: unknown) => {
    throw new Error(`Go 1.26 or newer must be on PATH: ${path} is built from source.`, { cause });
  });
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
