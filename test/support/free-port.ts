import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A port that the system says is free now; whoever uses it checks that its own server answers there. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve, reject) =>
    server.close((error) => {
      if (error === undefined) resolve();
      else reject(error);
    }),
  );
  return port;
}
