import { hashToken } from '../engine/keys.ts';
import type { WrongKeys } from './wrong-keys.ts';

/** How many keys are cached and for how long. A deleted key stops working within that time. */
const cacheSize = 10_000;
const cacheMs = 5_000;

/**
 * Finds the owner of a request's key (`Authorization: Bearer <key>`). `find` searches for the key's SHA-256; `refuse`
 * creates the error for a missing or invalid key. An address that has sent too many wrong keys gets 429 for more of
 * them. A right key is always accepted: many clients may share one address.
 */
export function createKeyLookup<Owner extends object>(options: {
  find: (keyHash: Buffer) => Promise<Owner | undefined>;
  refuse: (reason: string) => Error;
  now: () => number;
  wrongKeys?: WrongKeys | undefined;
}): (authorization: string | undefined, address: string) => Promise<Owner> {
  const { find, refuse, now, wrongKeys } = options;
  const known = new Map<string, { owner: Owner; until: number }>();

  return async (authorization, address) => {
    if (authorization === undefined || authorization === '') throw refuse('is missing');
    const key = /^Bearer +(\S{1,512}) *$/i.exec(authorization)?.[1];
    if (key === undefined) throw refuse('is not in the Bearer form');
    const hash = hashToken(key);
    const name = hash.toString('base64');
    const cached = known.get(name);
    if (cached !== undefined && cached.until > now()) return cached.owner;
    const owner = await find(hash);
    known.delete(name);
    if (owner === undefined) {
      wrongKeys?.check(address);
      wrongKeys?.count(address);
      throw refuse('is not valid');
    }
    // A Map keeps insertion order, so the first key is the oldest.
    const [oldest] = known.keys();
    if (known.size >= cacheSize && oldest !== undefined) known.delete(oldest);
    known.set(name, { owner, until: now() + cacheMs });
    return owner;
  };
}
