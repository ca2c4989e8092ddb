import { randomBytes } from 'node:crypto';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import {
  confirmSubscriber,
  deleteSubscriber,
  deleteUnconfirmed,
  findSubscriberByToken,
  insertSubscriber,
  lockSubscriberCount,
  takeSecondAsking,
  type SubscriberOfPage,
} from './subscriber-statements.ts';
import type { Encryption } from '../engine/encryption.ts';
import { uuidv7 } from '../engine/ids.ts';
import { askToConfirm } from './subscriber-mails.ts';
import { hourMs, dayMs } from '../../durations.ts';
import { hashToken } from '../engine/keys.ts';

/** Subscribers of a status page. An address receives no messages before it has confirmed. */

/** Subscribers of one page. */
export const maxSubscribers = 5000;
/** How often an unconfirmed address may get another confirmation mail, and when it is deleted. */
const askAgainMs = hourMs;
const forgetMs = 7 * dayMs;

export type SubscriptionDeps = { db: Db; background: Background; encryption: Encryption; now: () => number };

/** Normalises an address, so that different spellings of the same address are equal. Null = not a valid address. */
export function mailAddress(text: string): string | null {
  const address = text.trim().toLowerCase();
  const form = /^[^\s<>@",;:\\()[\]\p{Cc}]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/u;
  return address.length <= 254 && form.test(address) && !address.includes('..') ? address : null;
}

/**
 * Sends a confirmation mail, unless the address got one recently or has confirmed. False = the page has too many
 * subscribers.
 */
export async function subscribe(
  { db, background, encryption, now }: SubscriptionDeps,
  { pageId, email }: { pageId: string; email: string },
): Promise<boolean> {
  const time = now();
  const at = new Date(time);
  return db.tx(async (tx) => {
    const count = await lockSubscriberCount(tx, pageId);
    const again = await takeSecondAsking(tx, { pageId, email, before: new Date(time - askAgainMs), now: at });
    if (again !== null) {
      await askToConfirm(tx, background, again);
      return true;
    }
    if (count >= maxSubscribers) {
      await deleteUnconfirmed(tx, { pageId, before: new Date(time - forgetMs) });
      if ((await lockSubscriberCount(tx, pageId)) >= maxSubscribers) return false;
    }
    const id = uuidv7(time);
    const token = randomBytes(24).toString('base64url');
    const sealed = encryption.seal(token);
    const isNew = await insertSubscriber(tx, {
      id,
      pageId,
      email,
      token: sealed,
      tokenHash: hashToken(token),
      now: at,
    });
    if (isNew) await askToConfirm(tx, background, id);
    return true;
  });
}

/** Finds the subscriber of a token; undefined = no subscriber of this page has it. */
export async function subscriberOf(
  { db }: Pick<SubscriptionDeps, 'db'>,
  { pageUrl, token }: { pageUrl: string; token: string },
): Promise<SubscriberOfPage | undefined> {
  if (!/^[A-Za-z0-9_-]{32}$/.test(token)) return undefined;
  return findSubscriberByToken(db, { pageUrl, tokenHash: hashToken(token) });
}

export async function confirm({ db, now }: SubscriptionDeps, subscriber: SubscriberOfPage): Promise<void> {
  await confirmSubscriber(db, { id: subscriber.id, now: new Date(now()) });
}

export async function unsubscribe({ db }: SubscriptionDeps, { pageId, id }: SubscriberOfPage): Promise<void> {
  await deleteSubscriber(db, { pageId, id });
}
