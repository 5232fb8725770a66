import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { freePort } from '../support/free-port.js';

/** A line to a server that a test can cut and mend, to see what we do without it. */
export interface TcpProxy {
  readonly port: number;
  /** Lets connections through; nothing changes where it does already. */
  readonly open: () => Promise<void>;
  /** Cuts every connection; new ones are refused. */
  readonly cut: () => Promise<void>;
}

/** Makes a proxy in front of `host:port`, closed at first. */
export async function createTcpProxy(host: string, port: number): Promise<TcpProxy> {
  const own = await freePort();
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  const hold = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  };
  return {
    port: own,
    open: async () => {
      if (server !== undefined) return;
      server = createServer((client) => {
        const upstream = connect(port, host);
        hold(client);
        hold(upstream);
        client.pipe(upstream).pipe(client);
      });
      await new Promise<void>((resolve) => server?.listen(own, '127.0.0.1', resolve));
      if ((server.address() as AddressInfo).port !== own) throw new Error('not our port');
    },
    cut: async () => {
      const closing = server;
      server = undefined;
      const closed = new Promise<void>((resolve) => {
        if (closing === undefined) resolve();
        else closing.close(() => resolve());
      });
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
