import { randomInt, timingSafeEqual } from 'node:crypto';
import { hashToken } from '../engine/keys.ts';

/** Creates a trigger token: 12 letters and digits, about 71 bits (facts, 5.5). */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
export const tokenLength = 12;

export function newToken(): string {
  return Array.from({ length: tokenLength }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
}

/** Compares in constant time. */
export const isToken = (token: string, hash: Buffer): boolean => timingSafeEqual(hashToken(token), hash);
