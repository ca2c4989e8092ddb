import { findApiKeyByHash, touchApiKey } from './statements.ts';
import type { Queryable } from '../../db/database.ts';
import type { Role } from '../../http/fields/roles.ts';
import { createKeyLookup } from '../../http/key-lookup.ts';
import type { WrongKeys } from '../../http/wrong-keys.ts';

/** The owner of a request's API key. `until`: expiry in milliseconds since the epoch; null = none. */
export type ApiKeyOwner = { accountId: string; apiKeyId: string; role: Role; until: number | null };

/** The last use of a key is recorded with this precision. */
const touchedMs = 60_000;

/**
 * Like createKeyLookup, for API keys. An expired key is refused at once. `refuse` creates the error for a missing,
 * invalid or expired key.
 */
export function createApiKeyLookup(options: {
  db: Queryable;
  refuse: (reason: string) => Error;
  now: () => number;
  wrongKeys?: WrongKeys | undefined;
}): (authorization: string | undefined, address: string) => Promise<ApiKeyOwner> {
  const { db, refuse, now, wrongKeys } = options;
  const ownerOf = createKeyLookup<ApiKeyOwner>({
    find: async (hash) => {
      const key = await findApiKeyByHash(db, hash);
      if (key === undefined) return undefined;
      const time = now();
      const until = key.expiresAt?.getTime() ?? null;
      const isNoted = key.lastUsedAt !== null && key.lastUsedAt.getTime() > time - touchedMs;
      if (!isNoted && (until === null || until > time)) {
        // A full disk must not prevent reading.
        await touchApiKey(db, { id: key.id, now: new Date(time), before: new Date(time - touchedMs) }).catch(
          () => undefined,
        );
      }
      return { accountId: key.accountId, apiKeyId: key.id, role: key.role, until };
    },
    refuse,
    now,
    wrongKeys,
  });
  return async (authorization, address) => {
    const owner = await ownerOf(authorization, address);
    if (owner.until !== null && owner.until <= now()) throw refuse('has expired');
    return owner;
  };
}
