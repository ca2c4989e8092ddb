import { findApiKeyByHash, touchApiKey } from './statements.ts';
import type { Queryable } from '../../db/database.ts';
import { createKeyLookup } from '../../http/key-lookup.ts';

/** Whose API key a request carries. */
export type ApiKeyOwner = { accountId: string; apiKeyId: string; until: number | null };

/** When a key was last of use is noted no finer than this. */
const touchedMs = 60_000;

/**
 * As createKeyLookup, of API keys: one that has expired is refused from that moment on. `refuse` makes the error that is
 * thrown when the key is missing, not valid or expired.
 */
export function createApiKeyLookup(options: {
  db: Queryable;
  refuse: (reason: string) => Error;
  now: () => number;
}): (authorization: string | undefined) => Promise<ApiKeyOwner> {
  const { db, refuse, now } = options;
  const ownerOf = createKeyLookup<ApiKeyOwner>({
    find: async (hash) => {
      const key = await findApiKeyByHash(db, hash);
      if (key === undefined) return undefined;
      const time = now();
      const until = key.expiresAt?.getTime() ?? null;
      const isNoted = key.lastUsedAt !== null && key.lastUsedAt.getTime() > time - touchedMs;
      if (!isNoted && (until === null || until > time)) {
        // A full disk must not keep anybody from reading.
        await touchApiKey(db, { id: key.id, now: new Date(time), before: new Date(time - touchedMs) }).catch(
          () => undefined,
        );
      }
      return { accountId: key.accountId, apiKeyId: key.id, until };
    },
    refuse,
    now,
  });
  return async (authorization) => {
    const owner = await ownerOf(authorization);
    if (owner.until !== null && owner.until <= now()) throw refuse('has expired');
    return owner;
  };
}
