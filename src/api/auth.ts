import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ConfigError } from '../config.js';
import type { Credential } from '../config.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';

export interface Authentication {
  /** A hook for `onRequest`, hence before a body is read. @throws Problem `unauthorized` or `forbidden`. */
  readonly requireTenant: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** A hook as well: only for operators, who see the orders of all tenants. */
  readonly requireOperator: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** A hook as well: for tenants and operators. */
  readonly requireAnyone: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** The operator whose token the request bore; undefined where it was a tenant's. */
  readonly operatorOf: (request: FastifyRequest) => string | undefined;
  /** Whose token the request bore; the tenant is never read from anything else. */
  readonly tenantOf: (request: FastifyRequest) => string;
}

/**
 * Knows tenants and operators by their bearer tokens.
 *
 * @throws ConfigError where one token stands for two names: whose order would it be?
 */
export function createAuthentication(
  apiKeys: readonly Credential[],
  operatorKeys: readonly Credential[],
): Authentication {
  const tenants = digested(apiKeys, 'API_KEYS');
  const operators = digested(operatorKeys, 'OPERATOR_KEYS');
  const tenantOfRequest = new WeakMap<FastifyRequest, string>();
  const operatorOfRequest = new WeakMap<FastifyRequest, string>();

  /** A promise, so that a refusal goes the way of every error. */
  const require = (mayBe: 'tenant' | 'operator' | 'anyone') => {
    // eslint-disable-next-line @typescript-eslint/require-await
    return async (request: FastifyRequest): Promise<void> => {
      const digest = digestOfToken(request.headers.authorization);
      const tenant = digest && nameOf(tenants, digest);
      const operator = digest && nameOf(operators, digest);
      if (tenant === undefined && operator === undefined) throw unauthorized();
      if (tenant !== undefined && mayBe !== 'operator') tenantOfRequest.set(request, tenant);
      else if (operator !== undefined && mayBe !== 'tenant')
        operatorOfRequest.set(request, operator);
      else throw forbidden();
    };
  };
  return {
    requireTenant: require('tenant'),
    requireOperator: require('operator'),
    requireAnyone: require('anyone'),
    operatorOf: (request) => operatorOfRequest.get(request),
    tenantOf: (request) => {
      const tenant = tenantOfRequest.get(request);
      if (tenant === undefined) throw new TypeError('This route does not require a tenant.');
      return tenant;
    },
  };
}

interface DigestedCredential {
  readonly name: string;
  readonly digest: Buffer;
}

function digested(credentials: readonly Credential[], variable: string): DigestedCredential[] {
  const names = new Map<string, string>();
  return credentials.map(({ name, token }) => {
    const other = names.get(token);
    if (other !== undefined && other !== name) {
      throw new ConfigError([`${variable}: "${other}" and "${name}" have the same token.`]);
    }
    names.set(token, name);
    return { name, digest: sha256(token) };
  });
}

function digestOfToken(header: string | undefined): Buffer | undefined {
  const token = /^Bearer +([\x21-\x7e]+)$/i.exec(header ?? '')?.[1];
  return token === undefined ? undefined : sha256(token);
}

/** Looks at all of them, and at whole digests: the time taken tells nothing of how close a guess was. */
function nameOf(known: readonly DigestedCredential[], digest: Buffer): string | undefined {
  let found: string | undefined;
  for (const credential of known) {
    if (timingSafeEqual(credential.digest, digest)) found = credential.name;
  }
  return found;
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();

const unauthorized = (): Problem =>
  new Problem(PROTOCOL_PROBLEMS.unauthorized, { headers: { 'www-authenticate': 'Bearer' } });

const forbidden = (): Problem => new Problem(PROTOCOL_PROBLEMS.forbidden);
