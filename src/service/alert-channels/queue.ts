import type { Background } from '../engine/background.ts';
import type { Queryable } from '../db/database.ts';
import { insertNotifications } from './notification-statements.ts';

/** The notification queue. An item queued together with its alert is delivered, however often the service restarts. */

export const notificationsQueue = 'notifications';

export type NotificationItem = { notificationId: string };

/**
 * Notifies channels of an alert, all of which must exist within `tx`. It takes two statements for any number of
 * channels. Delivery happens after the commit; the notification log shows its result. Channels of other accounts are
 * ignored.
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

/** Queues a notification that is already in the log, delayed by `delayMs` if given. */
export async function sendNotification(
  tx: Queryable,
  background: Background,
  notificationId: string,
  delayMs = 0,
): Promise<void> {
  const item: NotificationItem = { notificationId };
  await background.send(tx, notificationsQueue, item, { delayMs });
}
