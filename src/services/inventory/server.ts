import { configOfProcess, required } from '../../config.js';
import { runOrExplain } from '../../last-line.js';
import { createLogger } from '../../logger.js';
import { runService } from '../run-service.js';
import { buildInventoryApp } from './app.js';

const config = configOfProcess();

await runOrExplain(() =>
  runService({
    role: 'inventory',
    logger: createLogger('inventory', config.logLevel),
    databaseUrl: required('INVENTORY_DATABASE_URL', config.inventoryDatabaseUrl),
    host: config.host,
    port: config.inventoryPort,
    portVariable: 'INVENTORY_PORT',
    token: config.inventoryToken,
    metricsToken: config.metricsToken,
    faults: config.faults,
    buildApp: buildInventoryApp,
  }),
);
