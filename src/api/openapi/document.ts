import { readFileSync } from 'node:fs';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { HttpApp } from '../../http/app.js';
import { ANSWER_SCHEMAS } from './components.js';
import { OPERATIONS } from './operations.js';
import type { Operation } from './operations.js';
import { problemExamples, problemSchemas } from './problem-documents.js';

const { version } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string };

const DOCUMENT: Partial<OpenAPIV3_1.Document> = {
  openapi: '3.1.1',
  info: {
    title: 'Order Saga',
    version,
    summary: 'An order taken over HTTP happens exactly once in effect.',
    description: [
      'Every error is a problem document (RFC 9457): its `type` names it, `GET /problems/{slug}` explains it.',
      'An address takes no other methods than those shown here, and HEAD where it takes GET: another one is `405 method-not-allowed` with `Allow`.',
      'An address that is not shown here is `404 not-found`. A parameter that is not shown here is refused.',
    ].join('\n\n'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/' }],
  tags: [
    { name: 'orders', description: 'For clients.' },
    { name: 'operators', description: 'For people who settle what a service refuses to undo.' },
    { name: 'server', description: 'Without a token.' },
  ],
  components: {
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'A client’s token: it names the tenant.',
      },
      operator: { type: 'http', scheme: 'bearer', description: 'A token of `OPERATOR_KEYS`.' },
    },
    examples: problemExamples(),
    schemas: { ...ANSWER_SCHEMAS, ...problemSchemas() } as Record<string, OpenAPIV3_1.SchemaObject>,
  },
};

/**
 * Adds to routes their document at `/openapi.json` and a page of it at `/docs`, which needs no other server.
 *
 * Parameters and bodies are read off the schemas by which Fastify checks requests. Of answers Fastify is
 * told nothing: it would write them by their schemas, and drop what a schema does not have.
 */
export function documented(addRoutes: (app: HttpApp) => void): (app: HttpApp) => void {
  return (app) => {
    void app.register(swagger, {
      openapi: DOCUMENT,
      convertConstToEnum: false,
      transformObject: (document) => {
        if (!('openapiObject' in document)) throw new TypeError('This is no OpenAPI 3 document.');
        return completed(document.openapiObject as OpenAPIV3_1.Document);
      },
    });
    // Only when that is loaded: it sees no route that was there before it.
    void app.after(() => {
      addRoutes(app);
      app.get('/openapi.json', () => app.swagger());
      // Last, for it has the hooks that are there when it is registered.
      void app.register(swaggerUi, { routePrefix: '/docs' });
    });
  };
}

/** Adds to the operations what their routes do not say. One that nobody has described stays as it is. */
function completed(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method = '', url = ''] = route.split(' ');
    const path = document.paths?.[url.replaceAll(/:(\w+)/g, '{$1}')];
    const operations = path as Partial<Record<string, OpenAPIV3_1.OperationObject>> | undefined;
    const generated = operations?.[method.toLowerCase()];
    if (generated !== undefined) Object.assign(generated, documentOf(operation, generated));
  }
  return document;
}

function documentOf(
  operation: Operation,
  { parameters = [], requestBody }: OpenAPIV3_1.OperationObject,
): OpenAPIV3_1.OperationObject {
  const { operationId, tag, summary, description, security = [], headers = [] } = operation;
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: security.map((scheme) => ({ [scheme]: [] })),
    parameters: [...parameters, ...headers],
    ...(requestBody && { requestBody: { ...requestBody, required: !operation.bodyIsOptional } }),
    responses: operation.responses,
  };
}
