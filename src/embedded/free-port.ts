import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections (Linux from 32768, RFC 6335 from 49152): a port from there
 * is taken now and then between the moment it was found free and the moment its server binds it.
 */
const LOWEST_PORT = 15_000;
const HIGHEST_PORT = 32_000;

const given = new Set<number>();

/** A port that is free now and that no other caller got; who uses it checks that its own server answers there. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT + 1);
    if (!given.has(port) && (await canBeBound(port))) {
      given.add(port);
      return port;
    }
  }
}

function canBeBound(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
