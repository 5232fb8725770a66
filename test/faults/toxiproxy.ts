import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goProgram } from '../cluster/go-program.js';
import { startChild } from '../../src/embedded/child.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';

const TOXIPROXY = { package: 'github.com/Shopify/toxiproxy/v2/cmd/server', version: 'v2.12.0' };

/** 2 s: it has nothing to write down. */
const STOP_GRACE_MS = 2_000;

/** `upstream` is what the caller sends, `downstream` what the server answers. */
export type Stream = 'upstream' | 'downstream';

/** A line from one process to another, which a test can cut, slow down and spoil. */
export interface Link {
  readonly host: string;
  readonly port: number;
  /** Refuses connections and closes those that are open. */
  readonly cut: () => Promise<void>;
  readonly mend: () => Promise<void>;
  /**
   * Adds a toxic until the link is healed: `timeout` swallows all data, and closes the connection after
   * `timeout` ms unless that is 0; `latency` delays it; `limit_data` closes after so many `bytes`;
   * `reset_peer` resets after `timeout` ms.
   */
  readonly poison: (
    type: 'timeout' | 'latency' | 'limit_data' | 'reset_peer' | 'bandwidth',
    stream: Stream,
    attributes: Readonly<Record<string, number>>,
  ) => Promise<void>;
  /** Takes away every toxic, and mends it. */
  readonly heal: () => Promise<void>;
}

export interface Toxiproxy {
  readonly link: (
    name: string,
    upstream: { readonly hostname: string; readonly port: number | string },
    host?: string,
  ) => Promise<Link>;
  /** Heals every link. */
  readonly heal: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Starts Toxiproxy, a real TCP proxy, built once from its Go module. @throws Error where there is no Go. */
export async function startToxiproxy(): Promise<Toxiproxy> {
  const program = await goProgram(TOXIPROXY, (line) => process.stderr.write(`${line}\n`));
  const folder = await mkdtemp(join(tmpdir(), 'order-saga-toxiproxy-'));
  const port = await freePort();
  const child = await startChild({
    command: program,
    args: ['-host', '127.0.0.1', '-port', String(port)],
    env: { LOG_LEVEL: 'warn' },
    logFile: join(folder, 'toxiproxy.log'),
  });
  const base = `http://127.0.0.1:${port}`;
  const ask = async (path: string, method: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${base}${path}`, {
      method,
      // It takes requests of browsers for attacks, and whatever names none for its own clients.
      headers: { 'user-agent': 'toxiproxy-cli/v2.12.0', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`toxiproxy: ${path} answered ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  await until(async () => {
    if (!child.running()) throw new Error(`toxiproxy ended: ${await child.output()}`);
    return ask('/version', 'GET').then(
      () => true,
      () => false,
    );
  });

  return {
    link: async (name, upstream, host = '127.0.0.1') => {
      const made = (await ask('/proxies', 'POST', {
        name,
        listen: `${host}:0`,
        upstream: `${upstream.hostname}:${upstream.port}`,
        enabled: true,
      })) as { readonly listen: string };
      const enable = async (enabled: boolean): Promise<void> => {
        await ask(`/proxies/${name}`, 'POST', { enabled });
      };
      return {
        host,
        port: Number(made.listen.split(':').at(-1)),
        cut: () => enable(false),
        mend: () => enable(true),
        poison: async (type, stream, attributes) => {
          await ask(`/proxies/${name}/toxics`, 'POST', { type, stream, attributes });
        },
        heal: async () => {
          const toxics = (await ask(`/proxies/${name}/toxics`, 'GET')) as { name: string }[];
          for (const toxic of toxics) {
            await ask(`/proxies/${name}/toxics/${toxic.name}`, 'DELETE');
          }
          await enable(true);
        },
      };
    },
    heal: async () => {
      await ask('/reset', 'POST');
    },
    stop: async () => {
      await child.stop('SIGTERM', STOP_GRACE_MS);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
