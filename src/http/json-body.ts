import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { visit } from 'jsonc-parser';
import { Problem } from './problem.js';
import { PROTOCOL_PROBLEMS } from './protocol-problems.js';
import { rawValues } from './well-formed.js';

/** 20 levels: the deepest body we take has four; without a limit a parser or a schema may run out of stack. */
const MAX_DEPTH = 20;

const INTEGER = /^-?(0|[1-9][0-9]*)$/;
const FORBIDDEN_MEMBERS = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Reads a JSON body so that two bodies are equal only where their senders meant the same.
 *
 * `JSON.parse` alone turns invalid UTF-8 into U+FFFD, keeps the last of two equal members and rounds
 * large numbers: different requests then share one fingerprint. Here each of these is refused.
 *
 * @throws Problem `malformed-json`, or `validation-failed` for a number that is no plain integer and a
 *   string with U+0000 or a lone surrogate.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  const value = parse(text);
  refuseAmbiguousJson(text);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformed('The body is not JSON.', cause);
  }
}

/** Makes `application/json` in UTF-8 the only body that the server reads. */
export function acceptStrictJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (
      request: FastifyRequest,
      body: Buffer,
      done: (error: Error | null, value?: unknown) => void,
    ) => {
      try {
        refuseOtherEncodings(request.raw);
        done(null, parseJson(body));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

/** RFC 9110, 5.6.6 and 8.3.1. Parameters other than the charset say nothing about JSON. */
const MEDIA_TYPE =
  /^application\/json[ \t]*((?:;[ \t]*(?:[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*")[ \t]*)?)*)$/i;
const PARAMETER = /;[ \t]*([^=;]+)=("(?:[^"\\]|\\.)*"|[^;\s]*)/g;

/** @throws Problem `unsupported-media-type` for all but JSON in UTF-8, as it is. */
function refuseOtherEncodings(request: IncomingMessage): void {
  const types = rawValues(request, 'content-type');
  const parameters = types.length === 1 ? MEDIA_TYPE.exec(types[0] ?? '')?.[1] : undefined;
  const isUtf8 = [...(parameters ?? '').matchAll(PARAMETER)].every(
    // `charset*` is its other spelling, of RFC 8187.
    ([, name, value]) =>
      !/^charset\*?$/i.test(name ?? '') || /^(?:"utf-?8"|utf-?8)$/i.test(value ?? ''),
  );
  const isEncoded = rawValues(request, 'content-encoding').length > 0;
  if (parameters === undefined || !isUtf8 || isEncoded) {
    throw new Problem(PROTOCOL_PROBLEMS['unsupported-media-type']);
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  if (bytes.length === 0) throw malformed('The body is empty.');
  try {
    // ignoreBOM keeps a byte order mark in the text, where JSON then refuses it.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw malformed('The body is not UTF-8.', cause);
  }
}

/** Walks a text that is JSON once, for what `JSON.parse` does not tell. */
function refuseAmbiguousJson(text: string): void {
  const members: Set<string>[] = [];
  let depth = 0;
  const enter = (): void => {
    depth += 1;
    if (depth > MAX_DEPTH) throw malformed(`The body is nested deeper than ${MAX_DEPTH} levels.`);
  };
  visit(
    text,
    {
      onObjectBegin: () => {
        enter();
        members.push(new Set());
      },
      onObjectEnd: () => {
        depth -= 1;
        members.pop();
      },
      onArrayBegin: enter,
      onArrayEnd: () => {
        depth -= 1;
      },
      onObjectProperty: (name) => {
        const seen = members.at(-1);
        if (seen?.has(name)) throw malformed('An object of the body has a member twice.');
        if (FORBIDDEN_MEMBERS.has(name))
          throw malformed('A member of the body has a reserved name.');
        refuseUnstorable(name);
        seen?.add(name);
      },
      onLiteralValue: (value: unknown, offset, length) => {
        if (typeof value === 'string') refuseUnstorable(value);
        if (typeof value !== 'number') return;
        if (!INTEGER.test(text.slice(offset, offset + length)) || !Number.isSafeInteger(value)) {
          throw invalid('A number of the body is no plain integer below 2^53.');
        }
      },
    },
    { disallowComments: true, allowTrailingComma: false },
  );
}

/** Postgres stores no U+0000, and UTF-8 has no form for half a surrogate pair. */
function refuseUnstorable(value: string): void {
  if (value.includes('\u0000')) throw invalid('A string of the body contains U+0000.');
  if (!value.isWellFormed()) throw invalid('A string of the body contains a lone surrogate.');
}

const malformed = (detail: string, cause?: unknown): Problem =>
  new Problem(PROTOCOL_PROBLEMS['malformed-json'], { detail, cause });

const invalid = (detail: string): Problem =>
  new Problem(PROTOCOL_PROBLEMS['validation-failed'], { detail });
