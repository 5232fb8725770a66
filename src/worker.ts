/** Process: the worker. */
import { configOfProcess } from './config.js';
import { closeOnSignal, SHUTDOWN_DELAY_MS } from './http/serve.js';
import { runOrExplain } from './last-line.js';
import { createLogger } from './logger.js';
import { createWorkerRole } from './worker-role.js';

const config = configOfProcess();
const logger = createLogger('worker', config.logLevel);

await runOrExplain(async () => {
  const worker = createWorkerRole(config, logger);
  closeOnSignal(logger, worker.stop, worker.graceMs + SHUTDOWN_DELAY_MS);
  await worker.run();
});
