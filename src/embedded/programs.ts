import { fileURLToPath } from 'node:url';
import type { ServedRole } from './launcher.js';
import type { Program } from './role-server.js';

const SCRIPTS: Readonly<Record<ServedRole, string>> = {
  app: '../app',
  api: '../api/server',
  worker: '../worker',
  payment: '../services/payment/server',
  inventory: '../services/inventory/server',
};

/** `.js` when built, `.ts` where the sources are run. */
const extension = import.meta.url.slice(-3);

/** What `node` runs for a role, with the options that this process was given. */
export function programOf(role: ServedRole): Program {
  return {
    script: fileURLToPath(new URL(`${SCRIPTS[role]}${extension}`, import.meta.url)),
    // They spare memory at the cost of speed, which is what the busiest process has no time for.
    nodeOptions: role === 'app' ? [] : process.execArgv,
  };
}
