import { createHash, randomBytes } from 'node:crypto';

/** 256 bits: there is nothing to guess, so a fast digest keeps them safe at rest. */
const TOKEN_BYTES = 32;

/** So that people, and programs that search for leaked secrets, know one when they see it. */
const TOKEN_PREFIX = 'osaga_';

export const mintToken = (): string =>
  TOKEN_PREFIX + randomBytes(TOKEN_BYTES).toString('base64url');

/** Hex SHA-256: what is kept of a token. */
export const digestOfToken = (token: string): string =>
  createHash('sha256').update(token, 'utf8').digest('hex');
