import { createHash, randomBytes } from 'node:crypto';

/** SHA-256 of a key or token, as the database stores it. Keys are long and random, so a slow hash would add nothing. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The last characters of a key, by which people distinguish keys. */
export function maskKey(key: string): string {
  return `...${key.slice(-4)}`;
}

/** Creates a new location key. */
export function newLocationKey(): string {
  return `pl_${randomBytes(16).toString('hex')}`;
}
