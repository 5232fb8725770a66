/** Process: the launcher as `npm start` runs it, with real servers and fake roles. */
import { fileURLToPath } from 'node:url';
import { launch } from '../../src/embedded/launcher.js';
import { stopOnSignal } from '../../src/embedded/stop-on-signal.js';

const PORT_VARIABLES = {
  app: 'PORT',
  api: 'PORT',
  worker: 'WORKER_PORT',
  payment: 'PAYMENT_PORT',
  inventory: 'INVENTORY_PORT',
} as const;

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

process.exit(
  await launch({
    env: process.env,
    programOf: (role) => ({
      script: fileURLToPath(new URL('./fake-role.js', import.meta.url)),
      nodeOptions: [],
      args: [PORT_VARIABLES[role]],
    }),
    say,
    signal: stopOnSignal(say),
  }),
);
