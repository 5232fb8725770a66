#!/usr/bin/env node
/** `npx order-saga`: the built command line; in a fresh clone it is built first. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const main = new URL('../dist/cli/main.js', import.meta.url);

if (!existsSync(main)) {
  process.stderr.write('Building Order Saga, once …\n');
  const built = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    // Standard output is for the answer.
    stdio: ['ignore', 2, 2],
  });
  if (built.status !== 0) {
    process.stderr.write('It could not be built. In its folder run: npm ci && npm run build\n');
    process.exit(2);
  }
}
await import(main.href);
