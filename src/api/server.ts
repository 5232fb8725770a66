/** Process: the API. */
import { configOfProcess } from '../config.js';
import { runOrExplain } from '../last-line.js';
import { createLogger } from '../logger.js';
import { serveApi } from './api-role.js';

const config = configOfProcess();

await runOrExplain(() => serveApi(config, createLogger('api', config.logLevel)));
