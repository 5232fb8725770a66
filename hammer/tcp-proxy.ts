import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/**
 * What a link does to the bytes on it: `cut` resets every connection, `stall` keeps all bytes back and delivers
 * them in one lump when it ends, as a partition does; `lose-replies` lets requests through and cuts before the
 * answer; `truncate` cuts within it; `slow` delays every piece.
 */
export type Disturbance = 'cut' | 'stall' | 'lose-replies' | 'truncate' | 'slow';

export interface Link {
  readonly name: string;
  readonly port: number;
  /** Disturbs the link until the returned function is called; of several the newest counts. */
  readonly disturb: (disturbance: Disturbance) => () => void;
  readonly close: () => Promise<void>;
}

/** 12 bytes: ends within the status line of HTTP and within the first message of anything else. */
const TRUNCATE_AT_BYTES = 12;

const SLOW_MS = 300;

/** A link to a server on this machine, on a port that the system chose. */
export async function openLink(name: string, targetPort: number): Promise<Link> {
  const imposed: Disturbance[] = [];
  const current = (): Disturbance | undefined => imposed.at(-1);
  const pairs = new Set<Pair>();
  const server = createServer((client) => {
    if (current() === 'cut') client.resetAndDestroy();
    else pairs.add(openPair(client, targetPort, current, (pair) => pairs.delete(pair)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    name,
    port: (server.address() as AddressInfo).port,
    disturb: (disturbance) => {
      imposed.push(disturbance);
      if (disturbance === 'cut') for (const pair of pairs) pair.cut();
      return () => {
        imposed.splice(imposed.lastIndexOf(disturbance), 1);
        if (current() !== 'stall') for (const pair of pairs) pair.flush();
      };
    },
    close: async () => {
      for (const pair of pairs) pair.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Pair {
  readonly cut: () => void;
  /** Delivers what was kept back. */
  readonly flush: () => void;
}

function openPair(
  client: Socket,
  targetPort: number,
  current: () => Disturbance | undefined,
  onEnd: (pair: Pair) => void,
): Pair {
  const target = connect(targetPort, '127.0.0.1');
  /** Kept back while stalled, in order. */
  let held: (() => void)[] = [];
  const pair: Pair = {
    cut: () => {
      client.resetAndDestroy();
      target.resetAndDestroy();
    },
    flush: () => {
      const deliveries = held;
      held = [];
      for (const deliver of deliveries) deliver();
    },
  };
  const pass = (act: () => void): void => {
    if (current() === 'stall' || held.length > 0) held.push(act);
    else if (current() === 'slow') setTimeout(act, SLOW_MS);
    else act();
  };
  const relay = (from: Socket, to: Socket, isReply: boolean): void => {
    from.on('data', (chunk: Buffer) => {
      if (isReply && current() === 'lose-replies') pair.cut();
      else if (isReply && current() === 'truncate') {
        to.end(chunk.subarray(0, TRUNCATE_AT_BYTES), () => pair.cut());
      } else pass(() => to.writable && to.write(chunk));
    });
    from.on('end', () => pass(() => to.end()));
    // The other side hears of it in its turn: a partition hides a death, too.
    from.on('close', () => pass(() => to.destroy()));
    from.on('error', () => undefined);
  };
  relay(client, target, false);
  relay(target, client, true);
  let open = 2;
  for (const socket of [client, target]) {
    socket.on('close', () => {
      open -= 1;
      if (open === 0) onEnd(pair);
    });
  }
  return pair;
}
