/** Process: one server whose data is on a disk of some megabytes, in a mount namespace of its own. */
import { execFile } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { databaseServer, FAST, temporalServer } from './servers.js';
import type { DatabaseServer, Server } from './servers.js';
import type { Reply } from './small-disk.js';

const [kind, folder = '', megabytes = ''] = process.argv.slice(2);

await promisify(execFile)('mount', [
  ...['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=711`, 'tmpfs', folder],
]);
const server: Server & Partial<DatabaseServer> =
  kind === 'temporal' ? await temporalServer(folder) : await databaseServer(folder, 'payment');

reply();
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'start') await server.start();
  else if (line.startsWith('SIG')) await server.end(line as NodeJS.Signals);
  reply();
}
// Whoever asked is gone.
await server.end(kind === 'temporal' ? 'SIGTERM' : FAST);
process.exit(0);

function reply(): void {
  const state: Reply = {
    port: server.port,
    data: server.data(),
    pid: server.pid(),
    running: server.running(),
    ...(server.url === undefined ? {} : { url: server.url() }),
  };
  process.stdout.write(`${JSON.stringify(state)}\n`);
}
