/** Health check of a role that serves HTTP: `node deploy/app/ready.js URL` succeeds when the URL answers 2xx. */

/** 4 s, more than the 2 s that the role's own checks may take. */
const TIMEOUT_MS = 4_000;

const [url = ''] = process.argv.slice(2);
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  process.stdout.write(`${response.status} ${await response.text()}\n`);
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  process.stderr.write(`${url}: ${String(error)}\n`);
  process.exitCode = 1;
}
