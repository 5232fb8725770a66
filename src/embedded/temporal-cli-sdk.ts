import { spawn } from 'node:child_process';
import { access, mkdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withProgress } from './progress.js';
import { ended, isExecutable } from './program.js';
import { CLI_VERSION } from './temporal-cli-pypi.js';
import type { TemporalCliOptions } from './temporal-cli.js';

/**
 * Ten seconds until the SDK's download has begun. Where it is blocked it mostly fails at once, but a
 * firewall that swallows packets would hold `npm start` up for minutes. Once it has begun it may take its time.
 */
const SDK_DOWNLOAD_BEGINS_MS = 10_000;

/**
 * The SDK keeps its downloads in the system's temp folder, under names that anybody could take first:
 * one found there is used only when it is ours or root's. What we have it download goes to our own folder.
 */
export async function keptSdkDownload({ cacheDir }: TemporalCliOptions): Promise<string> {
  const kept = [
    join(cacheDir, `temporal-v${CLI_VERSION}`),
    join(tmpdir(), `temporal-v${CLI_VERSION}`),
    join(tmpdir(), `temporal-sdk-typescript-${sdkVersion()}`),
  ];
  for (const path of kept) if ((await isExecutable(path)) && (await isOurs(path))) return path;
  throw new Error('none');
}

export async function cliFromSdk(options: TemporalCliOptions): Promise<string> {
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

function sdkVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('@temporalio/testing/package.json');
  return (manifest as { version: string }).version;
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
