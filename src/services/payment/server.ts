import { configOfProcess, required } from '../../config.js';
import { createLogger } from '../../logger.js';
import { runService } from '../run-service.js';
import { buildPaymentApp } from './app.js';

const config = configOfProcess();
const logger = createLogger('payment', config.logLevel);

try {
  await runService({
    role: 'payment',
    logger,
    databaseUrl: required('PAYMENT_DATABASE_URL', config.paymentDatabaseUrl),
    host: config.host,
    port: config.paymentPort,
    portVariable: 'PAYMENT_PORT',
    token: config.paymentToken,
    faults: config.faults,
    buildApp: buildPaymentApp,
  });
} catch (error) {
  // One readable line, not a stack: what is wrong is outside of this program.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
