import { randomInt } from 'node:crypto';
import { createServer, connect } from 'node:net';

/** Above those that servers like, below the ones that Temporal's Postgres schema can't hold: a smallint. */
const LOWEST = 20_000;
const HIGHEST = 32_767;

/**
 * A port that is free now and fits the table of Temporal's cluster members. The system's own choice, above
 * 32767 as a rule, stops a server at start.
 */
export async function freeLowPort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Whether something listens there. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
