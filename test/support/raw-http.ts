import { connect } from 'node:net';

/** An answer as it came over a bare socket. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ExchangeOptions {
  /** How many answers are awaited before the connection is tried once more. */
  readonly answers: number;
  /** Ends the client's side at once. */
  readonly end?: boolean;
  /** Waits for the server to close, however many answers there are. */
  readonly untilClosed?: boolean;
  /** Sends this every half second until the server closes. */
  readonly drip?: string;
}

const DRIP_INTERVAL_MS = 500;

/** 25 s, twice what a server waits for a request: a connection that is open then is left open for ever. */
const PATIENCE_MS = 25_000;

/** Shows that a connection is still in step: its answer is the last, and the connection ends. */
const STILL_IN_STEP = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

export interface Exchanged {
  /** Every final answer; the one to the good request is the last, where it was sent. */
  readonly answers: readonly RawAnswer[];
  /** Whether the good request was sent. */
  readonly stayedOpen: boolean;
  /** Whether the server has closed the connection, as it was asked to. */
  readonly closed: boolean;
}

/**
 * Sends bytes as they are on a connection of their own, and then, where the server keeps it open, a good request.
 */
export function exchange(
  port: number,
  bytes: Buffer,
  options: ExchangeOptions,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    let stayedOpen = false;
    socket.setEncoding('latin1');
    socket.on('data', (text) => {
      received += String(text);
      const answers = parse(received);
      const isDone = answers.length >= options.answers && !stayedOpen;
      const isClosing = answers.at(-1)?.headers['connection'] === 'close';
      if (!isDone || isClosing || options.end === true || options.untilClosed === true) return;
      stayedOpen = true;
      socket.write(STILL_IN_STEP);
    });
    const dripping = setInterval(() => {
      if (options.drip !== undefined && socket.writable) socket.write(options.drip);
    }, DRIP_INTERVAL_MS);
    // A reset where the server closes while we send: what it has answered is judged.
    socket.on('error', () => undefined);
    const settle = (): void => {
      clearInterval(dripping);
      clearTimeout(limit);
      socket.destroy();
      resolve({ answers: parse(received), stayedOpen, closed: socket.closed });
    };
    const limit = setTimeout(settle, PATIENCE_MS);
    socket.on('close', settle);
    if (bytes.length > 0) socket.write(bytes);
    if (options.end === true) socket.end();
  });
}

/** The whole answers among what was received; interim ones, such as `100 Continue`, are left out. */
function parse(received: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const match = /^HTTP\/1\.1 (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest);
    if (match === null) return answers;
    const headers = Object.fromEntries(
      (match[2] ?? '')
        .split('\r\n')
        .map((line) => line.split(/: ?(.*)/s))
        .map(([name = '', value = '']) => [name.toLowerCase(), value]),
    );
    const end = match[0].length + Number(headers['content-length'] ?? 0);
    if (rest.length < end) return answers;
    const status = Number(match[1]);
    if (status >= 200) answers.push({ status, headers, body: rest.slice(match[0].length, end) });
    rest = rest.slice(end);
  }
}
