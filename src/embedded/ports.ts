import { connect, createServer } from 'node:net';

export interface WantedPort {
  /** The environment variable that sets it. */
  readonly variable: string;
  readonly host: string;
  readonly port: number;
}

/** One line for each port that can't be had, which names the variable to set. */
export async function portProblems(wanted: readonly WantedPort[]): Promise<readonly string[]> {
  const problems: string[] = [];
  const owners = new Map<number, string>();
  for (const { variable, host, port } of wanted) {
    const owner = owners.get(port);
    if (owner !== undefined) {
      problems.push(`Port ${port} is wanted twice: set ${owner} or ${variable} to another port.`);
      continue;
    }
    owners.set(port, variable);
    const reason = await whyNot(host, port);
    if (reason !== undefined)
      problems.push(`Port ${port} ${reason}: set ${variable} to a free port.`);
  }
  return problems;
}

async function whyNot(host: string, port: number): Promise<string | undefined> {
  // Some systems let one listen beside a server on all addresses, hence the call as well.
  if (await answers(port)) return 'is in use';
  const code = await listenError(host, port);
  if (code === undefined) return undefined;
  return code === 'EADDRINUSE' ? 'is in use' : `can't be listened on (${code})`;
}

/** Whether somebody takes connections on this port. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
