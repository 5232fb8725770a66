import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { OpenAPIV3_1 } from 'openapi-types';

/** An answer and the request that it was given to. */
export interface Exchange {
  readonly method: string;
  /** With its query, if any. */
  readonly path: string;
  readonly status: number;
  readonly header: (name: string) => string | null | undefined;
  readonly body: string;
}

/** @throws AssertionError where the document does not have an answer like this. */
export type Conformance = (exchange: Exchange) => void;

/** Holds answers against the API's own document: status, media type, headers, and no member too many. */
export function conformanceTo(document: OpenAPIV3_1.Document): Conformance {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(closed(document) as object, 'document');
  const validatorAt = (...pointer: string[]) => {
    const escaped = pointer.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'));
    return ajv.getSchema(`document#/${escaped.map(encodeURIComponent).join('/')}`);
  };

  return ({ method, path, status, header, body }) => {
    const said = `${method} ${path} answered ${status} ${body.slice(0, 300)}`;
    const [bare = ''] = path.split('?');
    // Pages, and what is for them alone.
    if (bare === '/' || /^\/(?:docs|desk)(?:\/|$)/.test(bare)) return;
    const template = templateOf(document, bare);
    const verb = method.toLowerCase();
    if (template === undefined) {
      assert.equal(status, 404, `${said}: an unknown address`);
      return;
    }
    const item = document.paths?.[template] as Record<string, OpenAPIV3_1.OperationObject>;
    if (!(verb in item) && !(verb === 'head' && 'get' in item)) {
      assert.equal(status, 405, `${said}: a method that the document does not have`);
      assert.ok(header('allow'), `${said} without Allow`);
      return;
    }
    const operation = item[verb] ?? item['get'];
    const response = operation?.responses?.[String(status)] as OpenAPIV3_1.ResponseObject;
    assert.ok(response, `${said}: a status that the document does not have`);
    for (const [name, described] of Object.entries(response.headers ?? {})) {
      const { required, schema } = described as OpenAPIV3_1.HeaderObject;
      const value = header(name) ?? undefined;
      assert.ok(value !== undefined || !required, `${said} without ${name}`);
      if (value === undefined) continue;
      assert.ok(ajv.validate(schema as object, value), `${said} with ${name}: ${value}`);
    }
    if (verb === 'head') return;
    const [type = ''] = (header('content-type') ?? '').split(';');
    const validate = validatorAt(
      ...['paths', template, verb, 'responses', String(status), 'content', type, 'schema'],
    );
    assert.ok(validate, `${said}: ${type}, which the document does not have`);
    const values = type === 'text/event-stream' ? eventsOf(body) : [JSON.parse(body) as unknown];
    for (const value of values) {
      assert.ok(validate(value), `${said}: ${ajv.errorsText(validate.errors)}`);
    }
  };
}

/** The address of the document that a path is of. One without parameters goes first. */
function templateOf({ paths = {} }: OpenAPIV3_1.Document, path: string): string | undefined {
  if (path in paths) return path;
  return Object.keys(paths).find((template) => {
    const pattern = template.replaceAll(/\{\w+\}/g, '[^/]+');
    return new RegExp(`^${pattern}$`).test(path);
  });
}

/** The schema of a stream is that of each event; what has no data is none. */
function eventsOf(stream: string): readonly object[] {
  return stream
    .split('\n\n')
    .map((event) => [...event.matchAll(/^(\w+): ?(.*)$/gm)].map(([, name, value]) => [name, value]))
    .map((fields) => Object.fromEntries(fields) as object)
    .filter((event) => 'data' in event);
}

/** Clients must bear new members; here one that the document lacks is an error. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, of]) => [key, closed(of)]));
  const isObject = copy['type'] === 'object' && 'properties' in copy;
  return isObject ? { additionalProperties: false, ...copy } : copy;
}
