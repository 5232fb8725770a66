/** Process: `npx order-saga`. */
import { processEnvironment } from '../config.js';
import { runCommandLine } from './run.js';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interrupted.abort());
}
// Whoever reads a part only, such as `head`, has had enough.
process.stdout.on('error', () => process.exit(0));

const { stdout, stderr } = process;
process.exitCode = await runCommandLine(process.argv.slice(2), {
  env: processEnvironment(),
  stdout,
  stderr,
  interrupted: interrupted.signal,
});
