import { configOfProcess, required } from '../../config.js';
import { createLogger } from '../../logger.js';
import { runService } from '../run-service.js';
import { buildInventoryApp } from './app.js';

const config = configOfProcess();
const logger = createLogger('inventory', config.logLevel);

try {
  await runService({
    role: 'inventory',
    logger,
    databaseUrl: required('INVENTORY_DATABASE_URL', config.inventoryDatabaseUrl),
    host: config.host,
    port: config.inventoryPort,
    portVariable: 'INVENTORY_PORT',
    token: config.inventoryToken,
    faults: config.faults,
    buildApp: buildInventoryApp,
  });
} catch (error) {
  // One readable line, not a stack: what is wrong is outside of this program.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
