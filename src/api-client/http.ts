/** An answer of the API, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Readonly<Record<string, unknown>>;
}

export interface Call {
  /** Base address of the API; left out by a page that comes from it. */
  readonly base?: string;
  readonly method?: string;
  readonly token: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** An answer that is none of success, or none at all; its message is for people. */
export class CallError extends Error {
  /** 0 where there was no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Calls the API. @throws CallError only where no answer came. */
export async function call(path: string, options: Call): Promise<Answer> {
  const { base = '', method = 'GET', token, body, headers = {}, signal } = options;
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    text = await response.text();
  } catch {
    signal?.throwIfAborted();
    throw new CallError(0, 'The API can’t be reached. Nothing is lost: send it again.');
  }
  return { status: response.status, headers: response.headers, json: parse(text) };
}

/** Calls the API and takes nothing but success. @throws CallError with the problem's words. */
export async function need<T>(path: string, options: Call): Promise<T> {
  const answer = await call(path, options);
  if (answer.status >= 400) throw new CallError(answer.status, problemText(answer));
  return answer.json as T;
}

/** "Title. What to do next." */
export function problemText({ status, json }: Answer): string {
  const { title, detail } = json;
  if (typeof title !== 'string') return `The API answered ${status}.`;
  return typeof detail === 'string' ? `${title}. ${detail}` : title;
}

export const wordsOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** 32 random hex digits. `crypto.randomUUID` is there on HTTPS and on this machine only. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
