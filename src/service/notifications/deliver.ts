import { kindOfAddress } from '../../addresses/address-kind.ts';
import { notificationSecrets } from '../../config/notifications.ts';
import type { Log } from '../../log.ts';
import { createScrubber } from '../../secrets/scrubber/scrubber.ts';
import type { Background, BackgroundItem } from '../engine/background.ts';
import { findAlertChannel, type AlertChannelRow } from '../alert-channels/statements.ts';
import {
  countBefore,
  endsLastAlert,
  findNotification,
  updateNotification,
  type NotificationRow,
} from '../alert-channels/notification-statements.ts';
import { claimTry, releaseTry, renewTry } from '../alert-channels/sequence-statements.ts';
import { receivesGroupAlerts } from '../alert-channels/subscription-statements.ts';
import { allVariables } from '../accounts/variables/statements.ts';
import { analysisOf } from '../analyses/analysis-of-alert.ts';
import { findAlert, type AlertRow } from '../alerting/statements.ts';
import { findCheckGroup } from '../checks/storage/group-statements.ts';
import type { Db } from '../db/database.ts';
import { EncryptionError, isSecretVariable, openVariables, type Encryption } from '../engine/encryption.ts';
import { mergedVariables, type Variable } from '../checks/storage/settings.ts';
import { openConfig, secretsOfConfig, type ChannelType } from '../alert-channels/configs.ts';
import { sendChat, sendChatApp } from './chat.ts';
import type { Delivery, Sender, SendingDeps, Sent } from './sender.ts';
import { createMailer, sendEmail } from './email.ts';
import { sendPagingA, sendPagingB } from './paging.ts';
import { sendCall, sendSms } from './phone.ts';
import { notificationsQueue, sendNotification, type NotificationItem } from '../alert-channels/queue.ts';
import { testAlert } from './test-alert.ts';
import { whileRenewed } from '../engine/try-lease.ts';
import { createTurns, places, type Turns } from './turns.ts';
import { sendWebhook } from './webhook.ts';
import { hourMs } from '../../durations.ts';

/** Takes notifications from the queue, delivers them and logs the outcome of each. */

const senders: { readonly [T in ChannelType]: Sender<T> } = {
  EMAIL: sendEmail,
  CHAT_A: sendChat,
  CHAT_A_APP: sendChatApp,
  WEBHOOK: sendWebhook,
  SMS: sendSms,
  CALL: sendCall,
  PAGING_A: sendPagingA,
  PAGING_B: sendPagingB,
};

/** Facts, 4.4: up to 5 retries, 20 s apart. */
const retries = { retryLimit: 5, retryDelaySeconds: 20 };
/** Longer than the longest try, such as a mail through a slow server or messages to several rooms. */
const expireSeconds = 240;

/** How long a notification waits before it looks again whether an older one of its check is finished. */
const defaultOrderMs = 2_000;

/**
 * Notifications of a channel within an hour, for one check and in total, so that a flapping check does not flood it.
 */
const rateLimits = { ofCheck: 100, all: 1000 };

export type NotificationDeps = Omit<SendingDeps, 'signal'> & {
  db: Db;
  encryption: Encryption;
  log: Log;
  /** Base of links, without a trailing slash. */
  publicUrl: () => string;
  /** Delay between tries; tests use 0. */
  retryDelaySeconds?: number;
  /** Delay before a notification looks again whether it is its turn in its sequence; tests use 0. */
  orderMs?: number;
  /** Other limits, for tests. */
  limits?: typeof rateLimits;
};

/** Registers delivery with the service's own senders. Call before `background.prepare()`. */
export function createNotifications(
  background: Background,
  deps: Omit<NotificationDeps, 'calling' | 'sendMail'>,
): void {
  const { privateTargets } = deps.config;
  const calling = { privateTargets, kindOf: kindOfAddress, timeoutMs: 10_000 };
  handleNotifications(background, { ...deps, calling, sendMail: createMailer(deps.config, deps.publicUrl) });
}

/** Call before `background.prepare()`. */
export function handleNotifications(background: Background, deps: NotificationDeps): void {
  const retryDelaySeconds = deps.retryDelaySeconds ?? retries.retryDelaySeconds;
  const queue = {
    name: notificationsQueue,
    ...retries,
    retryDelaySeconds,
    expireSeconds,
    concurrency: places,
  };
  const turns = createTurns(deps.now);
  background.handle<NotificationItem>(queue, async ({ notificationId }, item) => {
    const notification = await findNotification(deps.db, notificationId);
    // The notification was deleted with its account, or delivered by a try that could not acknowledge its queue item.
    if (notification?.status !== 'IN_PROGRESS') return;
    const delayMs = await deliver({ ...deps, turns }, notification, item);
    // A new queue item, because waiting for a turn does not count as a try.
    if (delayMs !== null) await sendNotification(deps.db, background, notificationId, delayMs);
  });
}

/** This try failed and another one follows. */
class TryAgain extends Error {}

/** Returns null when finished, or the milliseconds to wait before another try. Throws TryAgain. */
async function deliver(
  deps: NotificationDeps & { turns: Turns },
  notification: NotificationRow,
  item: BackgroundItem,
): Promise<number | null> {
  const { id, told, channelId, alertId, accountId } = notification;
  // Counts tries of earlier queue items, and a try whose process was killed.
  const attempt = Math.max(item.attempt, notification.attempts + 1);
  const isLast = item.isLast || attempt > retries.retryLimit;
  const ended = async (
    status: NotificationRow['status'],
    result: string,
    reachedNow: readonly string[] = told,
  ) => {
    await updateNotification(deps.db, {
      id,
      status,
      result: result.slice(0, 8000),
      attempts: attempt,
      told: [...reachedNow],
      now: new Date(deps.now()),
    });
    return null;
  };
  const channel = await findAlertChannel(deps.db, { accountId, id: channelId });
  if (channel === undefined) return ended('FAILURE', 'the channel was deleted');
  const alert =
    alertId === null ? testAlert(accountId, new Date(deps.now())) : await findAlert(deps.db, alertId);
  if (alert === undefined) return ended('FAILURE', 'the alert was deleted');
  if (attempt === 1) {
    const limited = await limitReached(deps, notification);
    // At most one recovery for each alert that was within the limit.
    if (limited !== null && !(await endsLastAlert(deps.db, notification))) {
      return ended('RATE_LIMITED', limited);
    }
  }
  const turn = deps.turns.begin(channel, accountId);
  if (!turn.isNow) return turn.waitMs;
  let sent: Sent;
  try {
    const next = await claimTry(deps.db, { ...notification, now: new Date(deps.now()) });
    if (next === 'wait') return deps.orderMs ?? defaultOrderMs;
    if (next !== 'try') return null;
    const { db, log } = deps;
    const lease = {
      renew: () => renewTry(db, id),
      release: () => releaseTry(db, id),
      log,
      facts: { notification: id },
    };
    sent = await whileRenewed(lease, () =>
      sendTo(deps, { notification, channel, alert, signal: item.signal }),
    );
  } finally {
    turn.end();
  }
  if (sent.delivered) return ended('SUCCESS', sent.result, sent.reached);
  if (!sent.retry || isLast) {
    deps.log.warn(
      { notification: id, channelId, channelType: channel.type },
      'notification was not delivered',
    );
    return ended('FAILURE', sent.result, sent.reached);
  }
  await ended('IN_PROGRESS', sent.result, sent.reached);
  throw new TryAgain(`try ${attempt} of notification ${id} failed`);
}

async function limitReached(
  { db, limits = rateLimits }: NotificationDeps,
  notification: NotificationRow,
): Promise<string | null> {
  const since = new Date(notification.createdAt.getTime() - hourMs);
  const { all, ofCheck } = await countBefore(db, { ...notification, since, maxOfCheck: limits.ofCheck });
  if (ofCheck >= limits.ofCheck) {
    return `this channel has had ${limits.ofCheck} notifications of this check within an hour`;
  }
  return all >= limits.all ? `this channel has had ${limits.all} notifications within an hour` : null;
}

async function sendTo(
  deps: NotificationDeps,
  options: { notification: NotificationRow; channel: AlertChannelRow; alert: AlertRow; signal: AbortSignal },
): Promise<Sent> {
  const { notification, channel, alert, signal } = options;
  try {
    const config = openConfig(channel.type, channel.config, deps.encryption);
    const variables = channel.type === 'WEBHOOK' ? await environmentOf(deps, alert, channel.id) : [];
    const delivery = {
      notificationId: notification.id,
      alert,
      config,
      publicUrl: deps.publicUrl(),
      analysis: channel.type === 'WEBHOOK' ? await analysisOf(deps.db, alert) : undefined,
      environment: Object.fromEntries(variables.map(({ key, value }) => [key, value])),
      reached: notification.told,
    };
    // In each row, the config has the type of the channel.
    const send = senders[channel.type] as unknown as (delivery: object, deps: SendingDeps) => Promise<Sent>;
    // Whoever may test a channel could otherwise read what hosts answer that only the service reaches.
    const calling = { ...deps.calling, showsBody: notification.alertId !== null };
    const sent = await send(delivery satisfies Omit<Delivery, 'config'>, { ...deps, calling, signal });
    // Receivers may echo what they were sent, including secrets.
    const secrets = [
      ...secretsOfConfig(channel.type, config),
      ...secretValues(variables),
      ...Object.values(notificationSecrets(deps.config)).map((secret) => secret?.reveal() ?? ''),
    ];
    const scrubber = createScrubber(secrets.map((value, index) => ({ name: `secret ${index}`, value })));
    return { ...sent, result: scrubber.text(sent.result) };
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error;
    return { delivered: false, result: `its secrets cannot be read: ${error.message}`, retry: false };
  }
}

const secretValues = (variables: readonly Variable[]) =>
  variables
    .filter((variable) => isSecretVariable(variable) && variable.value !== '')
    .map(({ value }) => value);

/** Reads the account's variables, plus the group's if the channel is notified through the group (facts, 4.4). */
async function environmentOf(
  { db, encryption }: NotificationDeps,
  alert: AlertRow,
  channelId: number,
): Promise<Variable[]> {
  const { accountId, groupId } = alert;
  const global = openVariables(await allVariables(db, accountId), encryption);
  if (groupId === null || !(await receivesGroupAlerts(db, { channelId, groupId }))) return global;
  const group = await findCheckGroup(db, { accountId, id: groupId });
  const own = (group?.definition['environmentVariables'] ?? []) as Variable[]; // written by toGroupDefinition
  return mergedVariables(openVariables(own, encryption), global);
}
