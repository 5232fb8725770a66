/* global process */
import { createServer } from 'node:http';

/**
 * Process: stands for a role in the tests of the launcher. Answers 200 at the port that the variable in its first
 * argument names; says which signals it gets, and drains for a moment at SIGTERM.
 */
const [, , portVariable] = process.argv;
const server = createServer((_request, response) => response.end('ok'));
if (portVariable !== 'none') server.listen(Number(process.env[portVariable]), '127.0.0.1');
else server.listen(0, '127.0.0.1');

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    process.stdout.write(`got ${signal}\n`);
    if (signal === 'SIGTERM')
      server.close(() => process.stdout.write('drained\n', () => process.exit(0)));
    server.closeAllConnections();
  });
}
