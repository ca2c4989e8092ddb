import { createHash, randomBytes } from 'node:crypto';

/** SHA-256 of a key or token, as the database keeps it: they are long and random, so a slow hash would add nothing. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The end of a key, by which people tell keys apart. */
export function maskKey(key: string): string {
  return `...${key.slice(-4)}`;
}

/** A new key of a location. */
export function newLocationKey(): string {
  return `pl_${randomBytes(16).toString('hex')}`;
}
