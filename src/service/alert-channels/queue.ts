import type { Background } from '../engine/background.ts';
import type { Queryable } from '../db/database.ts';
import { insertNotifications } from './notification-statements.ts';

/** The queue of notifications: what is put into it with an alert is delivered, however often the service restarts. */

export const notificationsQueue = 'notifications';

export type NotificationItem = { notificationId: string };

/**
 * Has channels told of an alert, all of which must be there within `tx`: two statements, however many they are. It is delivered
 * after the commit; what becomes of it stands in the log of notifications. Channels that are not of the account are left out.
 */
export async function queueNotifications(
  tx: Queryable,
  background: Background,
  about: { accountId: string; channelIds: readonly number[]; alertId: string },
): Promise<void> {
  if (about.channelIds.length === 0) return;
  const items = (await insertNotifications(tx, about)).map((notificationId): NotificationItem => ({
    notificationId,
  }));
  await background.sendAll(tx, notificationsQueue, items);
}

/** Queues one that stands in the log already, for `startAfter` if that is given. */
export async function sendNotification(
  tx: Queryable,
  background: Background,
  notificationId: string,
  startAfter?: Date,
): Promise<void> {
  const item: NotificationItem = { notificationId };
  await background.send(tx, notificationsQueue, item, startAfter === undefined ? {} : { startAfter });
}
