import { hashToken } from '../engine/keys.ts';
import type { WrongKeys } from './wrong-keys.ts';

/** How many keys are cached and for how long. A deleted key stops working within that time, if nobody is told of it. */
const cacheSize = 10_000;
const cacheMs = 5_000;

type Options<Owner> = {
  /** Searches for the SHA-256 of a key. */
  find: (keyHash: Buffer) => Promise<Owner | undefined>;
  /** Creates the error for a missing or invalid key. */
  refuse: (reason: string) => Error;
  now: () => number;
  wrongKeys?: WrongKeys | undefined;
};

/** Finds the owners of keys and tokens. */
export type TokenLookup<Owner> = {
  ownerOf(token: string, address: string): Promise<Owner>;
  /** Drops a token from the cache, because it has ended. */
  forget(token: string): void;
  /** Like `forget`, by the token's SHA-256 in base64. */
  forgetHash(hash: string): void;
  /** Drops all tokens. */
  clear(): void;
};

/**
 * Finds the owner of a key. An address that has sent too many wrong keys gets 429 for more of them. A right key is always
 * accepted: many clients may share one address.
 */
export function createTokenLookup<Owner extends object>(options: Options<Owner>): TokenLookup<Owner> {
  const { find, refuse, now, wrongKeys } = options;
  const known = new Map<string, { owner: Owner; until: number }>();
  /** Counts calls of `forget`, so that a search that began earlier does not put the token back. */
  let forgotten = 0;
  const forgetHash = (hash: string): void => {
    forgotten++;
    known.delete(hash);
  };

  return {
    ownerOf: async (token, address) => {
      const hash = hashToken(token);
      const name = hash.toString('base64');
      const cached = known.get(name);
      if (cached !== undefined && cached.until > now()) return cached.owner;
      const before = forgotten;
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
      if (before === forgotten) known.set(name, { owner, until: now() + cacheMs });
      return owner;
    },
    forget: (token) => forgetHash(hashToken(token).toString('base64')),
    forgetHash,
    clear: () => {
      forgotten++;
      known.clear();
    },
  };
}

/** Finds the owner of a request's key (`Authorization: Bearer <key>`), as createTokenLookup does. */
export function createKeyLookup<Owner extends object>(
  options: Options<Owner>,
): (authorization: string | undefined, address: string) => Promise<Owner> {
  return byBearer(createTokenLookup(options), options);
}

/** Finds the owner of a request's key with this lookup. */
export function byBearer<Owner extends object>(
  lookup: TokenLookup<Owner>,
  { refuse }: Pick<Options<Owner>, 'refuse'>,
): (authorization: string | undefined, address: string) => Promise<Owner> {
  return async (authorization, address) => {
    if (authorization === undefined || authorization === '') throw refuse('is missing');
    const key = /^Bearer +(\S{1,512}) *$/i.exec(authorization)?.[1];
    if (key === undefined) throw refuse('is not in the Bearer form');
    return lookup.ownerOf(key, address);
  };
}
