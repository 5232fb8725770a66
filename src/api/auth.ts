import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ConfigError } from '../config.js';
import type { Credential } from '../config.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import type { RateLimits } from './rate-limits.js';
import type { StoredTokens } from './stored-tokens.js';

/** Whose token it is: one token of the environment may be a tenant's and an operator's. */
export interface Bearer {
  readonly tenant?: string | undefined;
  readonly operator?: string | undefined;
}

export interface Authentication {
  /** A hook for `onRequest`, hence before a body is read. @throws Problem `unauthorized` or `forbidden`. */
  readonly requireTenant: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** A hook as well: only for operators, who see the orders of all tenants. */
  readonly requireOperator: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** A hook as well: for tenants and operators. */
  readonly requireAnyone: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** The operator whose token the request bore; undefined where it was a tenant's. */
  readonly operatorOf: (request: FastifyRequest) => string | undefined;
  /** Whose token the request bore, let in or not; undefined where it was nobody's. */
  readonly bearerOf: (request: FastifyRequest) => Bearer | undefined;
  /** Whose token the request bore; the tenant is never read from anything else. */
  readonly tenantOf: (request: FastifyRequest) => string;
}

export interface AuthenticationDependencies {
  readonly apiKeys: readonly Credential[];
  readonly operatorKeys: readonly Credential[];
  readonly storedTokens: StoredTokens;
  readonly limits: RateLimits;
}

/**
 * Knows tenants and operators by their bearer tokens: those of the environment first, then those that are
 * kept in Postgres. Counts every request for the rate limits, refused ones by address.
 *
 * @throws ConfigError where one token stands for two names: whose order would it be?
 */
export function createAuthentication(dependencies: AuthenticationDependencies): Authentication {
  const { storedTokens, limits } = dependencies;
  const tenants = digested(dependencies.apiKeys, 'API_KEYS');
  const operators = digested(dependencies.operatorKeys, 'OPERATOR_KEYS');
  const bearers = new WeakMap<FastifyRequest, Bearer>();
  const tenantOfRequest = new WeakMap<FastifyRequest, string>();
  const operatorOfRequest = new WeakMap<FastifyRequest, string>();

  const findBearer = async (request: FastifyRequest): Promise<Bearer> => {
    const digest = digestOfToken(request);
    if (digest === undefined) return {};
    const tenant = nameOf(tenants, digest);
    const operator = nameOf(operators, digest);
    if (tenant !== undefined || operator !== undefined) return { tenant, operator };
    const stored = await storedTokens.find(digest.toString('hex'), () =>
      limits.refuseUnknown(request),
    );
    return stored === undefined ? {} : { [stored.kind]: stored.name };
  };

  const require = (mayBe: 'tenant' | 'operator' | 'anyone') => {
    return async (request: FastifyRequest): Promise<void> => {
      const bearer = await findBearer(request);
      const { tenant, operator } = bearer;
      if (tenant === undefined && operator === undefined) {
        await limits.countUnknown(request);
        throw unauthorized();
      }
      bearers.set(request, bearer);
      await limits.countKnown(request, `${tenant ?? ''}:${operator ?? ''}`);
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
    bearerOf: (request) => bearers.get(request),
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

function digestOfToken({ raw, headers }: FastifyRequest): Buffer | undefined {
  const token = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1];
  // Node reads the first of two, a proxy before us perhaps the last: nobody's word counts then.
  const sent = raw.rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization',
  );
  return token === undefined || sent.length > 1 ? undefined : sha256(token);
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
