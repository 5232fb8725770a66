import { createHash } from 'node:crypto';

/** 128 bits of the digest: no two keys meet, and IDs stay far below the 255 characters that Temporal stores. */
const WORKFLOW_ID_DIGITS = 32;

/** Whose key it is, and of which operation. */
export interface OwnedKey {
  readonly tenant: string;
  /** The operation, such as `POST:/orders`: one key may serve two operations. */
  readonly scope: string;
  readonly key: string;
}

/** Hex SHA-256 of a key: what is looked up, logged and put into the memo instead of the key itself. */
export function digestOf(key: string): string {
  return sha256(key);
}

/**
 * The one workflow ID of a key.
 *
 * Not the key itself: Temporal shows IDs to everyone and encrypts none. Each part goes in behind its
 * length, so that tenant `a:b` with key `c` is not tenant `a` with key `b:c`.
 */
export function workflowIdFor(prefix: string, { tenant, scope, key }: OwnedKey): string {
  const parts = [tenant, scope, key].map((part) => `${Buffer.byteLength(part)}:${part}`);
  return prefix + sha256(parts.join('')).slice(0, WORKFLOW_ID_DIGITS);
}

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
