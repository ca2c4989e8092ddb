import { randomBytes } from 'node:crypto';
import { dayMs } from '../../../durations.ts';
import type { Db, Queryable } from '../../db/database.ts';
import { uuidv7 } from '../../engine/ids.ts';
import { hashToken } from '../../engine/keys.ts';
import { HttpError } from '../../http/errors.ts';
import { createTokenLookup } from '../../http/key-lookup.ts';
import type { WrongKeys } from '../../http/wrong-keys.ts';
import type { ApiKeyOwner } from '../keys/lookup.ts';
import { touchApiKey } from '../keys/statements.ts';
import {
  deleteEndedWebSessions,
  deleteWebSession,
  findWebSession,
  insertSignInToken,
  insertWebSession,
  takeSignInToken,
  touchWebSession,
  trimWebSessions,
} from './statements.ts';

/**
 * Sessions of people who are signed in to the pages. A session belongs to an API key: it may do what the key may do, and
 * ends with it. The cookie has a random token, the database its hash.
 */

/** A session ends this long after its last use. */
export const sessionMs = 30 * dayMs;
/** The last use of a session is recorded with this precision. */
const touchedMs = 60_000;
/** Further sessions of one key take the place of those that were not used for longest. */
const sessionsPerKey = 100;
/** How long an address signs in. */
const signInTokenMs = 10 * 60_000;

const newToken = () => randomBytes(32).toString('base64url');

export type SessionOwner = ApiKeyOwner & { sessionId: string };

export type WebSessions = {
  /** The owner of a session token. Throws 401. */
  ownerOf(token: string, address: string): Promise<SessionOwner>;
  /** Starts a session and ends the one of `previous`. Null = the key was deleted or has expired. */
  start(apiKeyId: string, previous: string | null): Promise<{ id: string; token: string } | null>;
  /** Starts a session with a token of `createSignInToken`, which is used up. Null = it was used, or is too old. */
  startOnce(signInToken: string, previous: string | null): Promise<{ token: string } | null>;
  /** Ends a session. This replica knows it at once, others within five seconds. */
  end(token: string): Promise<void>;
};

const ended = () =>
  new HttpError(401, 'The session has ended: sign in again.', { cookie: ['is of a session that has ended'] });

/** The sessions of this replica's requests. Create it once, because it caches what it finds. */
export function createWebSessions({
  db,
  now,
  wrongKeys,
}: {
  db: Db;
  now: () => number;
  wrongKeys?: WrongKeys | undefined;
}): WebSessions {
  const lookup = createTokenLookup<SessionOwner>({
    find: async (tokenHash) => {
      const time = now();
      const row = await findWebSession(db, { tokenHash, usedAfter: new Date(time - sessionMs) });
      if (row === undefined) return undefined;
      const { id, accountId, apiKeyId, role, keyExpiresAt } = row;
      const until = keyExpiresAt?.getTime() ?? null;
      const before = new Date(time - touchedMs);
      if (row.lastUsedAt < before && (until === null || until > time)) {
        // A full disk must not prevent reading.
        await touchWebSession(db, { id, now: new Date(time), before }).catch(() => undefined);
        await touchApiKey(db, { id: apiKeyId, now: new Date(time), before }).catch(() => undefined);
      }
      return { sessionId: id, accountId, apiKeyId, role, until };
    },
    refuse: ended,
    now,
    wrongKeys,
  });

  async function end(token: string): Promise<void> {
    await deleteWebSession(db, hashToken(token));
    lookup.forget(token);
  }

  async function start(apiKeyId: string, previous: string | null) {
    const token = newToken();
    const id = uuidv7(now());
    const isStarted = await insertWebSession(db, {
      id,
      apiKeyId,
      tokenHash: hashToken(token),
      now: new Date(now()),
    });
    if (!isStarted) return null;
    await trimWebSessions(db, { apiKeyId, keep: sessionsPerKey });
    if (previous !== null) await end(previous);
    return { id, token };
  }

  return {
    ownerOf: async (token, address) => {
      const owner = await lookup.ownerOf(token, address);
      if (owner.until !== null && owner.until <= now()) throw ended();
      return owner;
    },
    start,
    startOnce: async (signInToken, previous) => {
      const time = new Date(now());
      const taken = await takeSignInToken(db, { tokenHash: hashToken(signInToken), now: time });
      return taken === undefined ? null : start(taken.apiKeyId, previous);
    },
    end,
  };
}

/** Creates a token that signs in once, as long as it is new. Null = there is no such API key, or it has expired. */
export async function createSignInToken(
  db: Queryable,
  { apiKey, now }: { apiKey: string; now: number },
): Promise<string | null> {
  const token = newToken();
  const isStored = await insertSignInToken(db, {
    tokenHash: hashToken(token),
    keyHash: hashToken(apiKey),
    now: new Date(now),
    expiresAt: new Date(now + signInTokenMs),
  });
  return isStored ? token : null;
}

/** Deletes sessions and tokens that have ended. */
export async function dropEndedSessions(db: Queryable, now: number): Promise<void> {
  const usedBefore = new Date(now - sessionMs);
  await deleteEndedWebSessions(db, { usedBefore, now: new Date(now), limit: 5_000 });
}
