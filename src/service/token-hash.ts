import { createHash } from 'node:crypto';

/** SHA-256 of a key or token, as the database keeps it: they are long and random, so a slow hash would add nothing. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
