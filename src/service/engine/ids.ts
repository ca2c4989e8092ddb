import { randomFillSync } from 'node:crypto';
import { maxUuidTime, uuidOfTime } from '../../protocol/schedule.ts';

/** Ids are UUIDv7 (RFC 9562, section 5.7). They begin with their time, so an id is enough to find its partition. */

/** A UUID of any version in the database's lower-case form. Nothing else may reach a uuid column. */
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The same for request schemas, where capitals are allowed (http/ids-in-requests.ts). */
export const sentUuidPattern = '^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';

// Random bytes are drawn for many ids at once, because a call per id costs more than the id.
const pool = Buffer.alloc(4096);
let used = pool.length;

/** Returns a new id whose time is `milliseconds` since the epoch (an integer, not negative). */
export function uuidv7(milliseconds: number = Date.now()): string {
  if (used + 10 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.toString('hex', used, used + 10);
  used += 10;
  return uuidOfTime(milliseconds, random);
}

/** Returns a function that makes ids of one millisecond in ascending order. */
export function uuidv7Series(milliseconds: number): () => string {
  const first = uuidv7(milliseconds);
  const head = first.slice(0, 24);
  let tail = Number.parseInt(first.slice(24), 16);
  return () => `${head}${(tail++ % 2 ** 48).toString(16).padStart(12, '0')}`;
}

/** A UUIDv7 not later than any other of that time: a limit for lists in id order. */
export function firstUuidv7(milliseconds: number): string {
  return uuidOfTime(Math.min(Math.max(0, Math.floor(milliseconds)), maxUuidTime), '0'.repeat(20));
}

/** Milliseconds since the epoch in a UUIDv7; null for anything else. */
export function timeOfUuidv7(id: string): number | null {
  if (!uuidPattern.test(id) || id.charAt(14) !== '7') return null;
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
