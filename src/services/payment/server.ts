import { configOfProcess, required } from '../../config.js';
import { runOrExplain } from '../../last-line.js';
import { createLogger } from '../../logger.js';
import { runService } from '../run-service.js';
import { buildPaymentApp } from './app.js';

const config = configOfProcess();

await runOrExplain(() =>
  runService({
    role: 'payment',
    logger: createLogger('payment', config.logLevel),
    databaseUrl: required('PAYMENT_DATABASE_URL', config.paymentDatabaseUrl),
    host: config.host,
    port: config.paymentPort,
    portVariable: 'PAYMENT_PORT',
    token: config.paymentToken,
    metricsToken: config.metricsToken,
    faults: config.faults,
    buildApp: buildPaymentApp,
  }),
);
