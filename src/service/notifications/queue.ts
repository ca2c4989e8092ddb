import type { Background } from '../background.ts';
import type { Queryable } from '../db/database.ts';
import { insertNotification } from '../db/alert-notifications.ts';

/** The queue of notifications: what is put into it with an alert is delivered, however often the service restarts. */

export const notificationsQueue = 'notifications';

export type NotificationItem = { notificationId: string };

/**
 * Has a channel told of an alert, both of which must be there within `tx`. It is delivered after the commit; what becomes of
 * it stands in the log of notifications. Nothing happens when the channel is not one of the account.
 */
export async function queueNotification(
  tx: Queryable,
  background: Background,
  { accountId, channelId, alertId }: { accountId: string; channelId: number; alertId: string },
): Promise<void> {
  const notificationId = await insertNotification(tx, { accountId, channelId, alertId });
  if (notificationId !== null) await sendNotification(tx, background, notificationId);
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
