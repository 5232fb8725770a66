/**
 * Process: API and worker in one, the shortest way for an order: Temporal hands its first task over with the start,
 * which spares the way through a poll.
 */
import { serveApi } from './api/api-role.js';
import { configOfProcess } from './config.js';
import { runOrExplain } from './last-line.js';
import { createLogger } from './logger.js';
import { createWorkerRole } from './worker-role.js';

const config = configOfProcess();
const logger = createLogger('app', config.logLevel);

await runOrExplain(async () => {
  const worker = createWorkerRole(config, logger);
  await Promise.all([serveApi(config, logger, worker), worker.run()]);
});
