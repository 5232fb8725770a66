/** Process: the worker. */
import { configOfProcess } from './config.js';
import { serve, SHUTDOWN_DELAY_MS } from './http/serve.js';
import { runOrExplain } from './last-line.js';
import { createLogger } from './logger.js';
import { buildWorkerApp } from './worker-probes.js';
import { createWorkerRole } from './worker-role.js';

const config = configOfProcess();
const logger = createLogger('worker', config.logLevel);

await runOrExplain(async () => {
  const worker = createWorkerRole(config, logger);
  await serve(buildWorkerApp(logger, worker, config.metricsToken), {
    host: config.host,
    port: config.workerPort,
    portVariable: 'WORKER_PORT',
    close: worker.stop,
    delayMs: worker.graceMs + SHUTDOWN_DELAY_MS,
  });
  await worker.run();
});
