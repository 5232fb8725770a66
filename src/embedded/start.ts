/** Process: `npm start`, the whole stack on this machine. */
import { fileURLToPath } from 'node:url';
import { launch } from './launcher.js';
import type { ServedRole } from './launcher.js';
import { stopOnSignal } from './stop-on-signal.js';

const SCRIPTS: Readonly<Record<ServedRole, string>> = {
  app: '../app',
  api: '../api/server',
  worker: '../worker',
  payment: '../services/payment/server',
  inventory: '../services/inventory/server',
};

/** `.js` when built, `.ts` where the sources are run. */
const extension = import.meta.url.slice(-3);

const say = (line: string): void => console.log(line);

process.exit(
  await launch({
    env: process.env,
    programOf: (role) => ({
      script: fileURLToPath(new URL(`${SCRIPTS[role]}${extension}`, import.meta.url)),
      // They spare memory at the cost of speed, which is what the busiest process has no time for.
      nodeOptions: role === 'app' ? [] : process.execArgv,
    }),
    say,
    signal: stopOnSignal(say),
  }),
);
