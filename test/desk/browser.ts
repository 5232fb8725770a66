import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Starts the Chromium of this machine. @throws Error that says how to get one. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    // Chromium's sandbox refuses root, whom CI often is.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--disable-dev-shm-usage'],
  });
}

function findChromium(): string {
  const named = process.env['CHROMIUM_PATH'];
  if (named !== undefined) return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) =>
    existsSync(path),
  );
  if (found !== undefined) return found;
  throw new Error(
    'The order desk is tested in Chromium, and there is none in PATH. Install it, on Debian with ' +
      '"apt-get install -y chromium", or name a Chromium or Chrome in CHROMIUM_PATH.',
  );
}
