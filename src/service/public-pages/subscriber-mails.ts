import type { Log } from '../../log.ts';
import type { Background, BackgroundItem } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import { claimSubscriberUpdates } from '../incidents/update-statements.ts';
import type { MaintenanceEvent } from '../maintenance/event-statements.ts';
import {
  confirmedSubscribers,
  findSubscriberById,
  findSubscriberUpdate,
  pagesOfMaintenance,
  type SubscriberOfPage,
} from './subscriber-statements.ts';
import type { Encryption } from '../engine/encryption.ts';
import { whileRenewed } from '../engine/try-lease.ts';
import { incidentMessagesQueue, type IncidentMessage } from '../incidents/messages.ts';
import type { MaintenanceEventFollower } from '../maintenance/events.ts';
import type { Mail, SendMail } from '../notifications/mail.ts';
import { escaped } from '../../templates/escaping.ts';
import {
  claimMail,
  deleteMails,
  failTry,
  findMail,
  insertMails,
  releaseMail,
  renewMail,
  type Message,
} from './mail-statements.ts';
import { momentText, wordOf } from './words.ts';

/**
 * Sends mails to subscribers of status pages, with one item of a durable queue per mail. The mails of one incident or
 * maintenance reach a subscriber in their order: none is sent after a newer one.
 */

const mailsQueue = 'subscriber-mails-in-order';
/** Mails without an order. Also that of earlier versions, which would drop mails that they do not know. */
const plainQueue = 'subscriber-mails';

/** A mail with its order. Confirmations, and mails that an earlier version queued, have none. */
type MailItem = { mailId: string };
type PlainMail = { subscriberId: string; message: Message | 'confirm' };

/** Retries of a mail, 20 s apart. */
const retryLimit = 5;
/** How long a mail waits before it looks again whether an older one of its subject is finished. */
const defaultOrderMs = 2_000;

export type SubscriberMailDeps = {
  db: Db;
  encryption: Encryption;
  log: Log;
  now: () => number;
  sendMail: SendMail;
  /** Base of links, without a trailing slash. */
  publicUrl: () => string;
  /** Delay between tries; tests use 0. */
  retryDelaySeconds?: number;
  /** Delay before a mail looks again whether it is its turn; tests use 0. */
  orderMs?: number;
};

/** Handles the queues of incident messages and mails. Call before `background.prepare()`. */
export function handleSubscriberMails(background: Background, deps: SubscriberMailDeps): void {
  const { db, now } = deps;
  background.handle<IncidentMessage>(
    {
      name: incidentMessagesQueue,
      retryLimit: 10,
      retryDelaySeconds: 30,
      expireSeconds: 120,
      concurrency: 2,
    },
    async ({ kind, updateId }) => {
      await db.tx(async (tx) => {
        // Earlier updates of the incident first: the try of one may have failed.
        for (const id of await claimSubscriberUpdates(tx, kind, { id: updateId, now: new Date(now()) })) {
          const update = await findSubscriberUpdate(tx, kind, id);
          if (update === undefined) continue;
          await mailSubscribers(tx, background, {
            pageIds: update.pageIds,
            about: `incident ${update.incidentId}`,
            now: now(),
            message: {
              name: id,
              subject: `${wordOf(update.status)}: ${update.name}`,
              lines: [
                update.name,
                `Status: ${wordOf(update.status)}`,
                `Severity: ${wordOf(update.severity)}`,
                momentText(update.createdAt),
                '',
                update.description,
              ],
            },
          });
        }
      });
    },
  );
  const mails = {
    retryLimit,
    retryDelaySeconds: deps.retryDelaySeconds ?? 20,
    expireSeconds: 120,
    concurrency: 4,
  };
  background.handle<MailItem>({ name: mailsQueue, ...mails }, async ({ mailId }, item) =>
    sendInOrder(deps, background, mailId, item),
  );
  background.handle<PlainMail>({ name: plainQueue, ...mails }, async (data) => {
    const sent = await sendTo(deps, data);
    if (sent === null || sent.delivered) return;
    if (sent.retry) throw new Error(`mail to a subscriber was not sent: ${sent.result}`);
    deps.log.warn(
      { subscriber: data.subscriberId, result: sent.result },
      'mail to a subscriber was not sent',
    );
  });
}

/** Sends a mail if it is its turn, or queues it again for later. Throws if another try follows. */
async function sendInOrder(
  deps: SubscriberMailDeps,
  background: Background,
  mailId: string,
  item: BackgroundItem,
): Promise<void> {
  const { db, log, now } = deps;
  const mail = await findMail(db, mailId);
  // Sent by a try that could not acknowledge its queue item, or replaced by a newer mail.
  if (mail === undefined) return;
  const next = await claimMail(db, { ...mail, now: new Date(now()) });
  if (next === 'wait') {
    // A new queue item, because waiting does not count as a try.
    const delayMs = deps.orderMs ?? defaultOrderMs;
    return background.send(db, mailsQueue, { mailId } satisfies MailItem, { delayMs });
  }
  if (next !== 'try') return;
  const { subscriberId } = mail;
  const lease = {
    renew: () => renewMail(db, mailId),
    release: () => releaseMail(db, mailId),
    log,
    facts: { subscriber: subscriberId },
  };
  const sent = await whileRenewed(lease, () => sendTo(deps, mail));
  const attempts = Math.max(item.attempt, mail.attempts + 1);
  if (sent?.delivered === false && sent.retry && !item.isLast && attempts <= retryLimit) {
    await failTry(db, { id: mailId, attempts, now: new Date(now()) });
    throw new Error(`mail to a subscriber was not sent: ${sent.result}`);
  }
  await deleteMails(db, [mailId]);
  if (sent?.delivered === false) {
    log.warn({ subscriber: subscriberId, result: sent.result }, 'mail to a subscriber was not sent');
  }
}

/** Sends a mail; null = its subscriber does not get it any more. */
async function sendTo(
  deps: SubscriberMailDeps,
  { subscriberId, message }: { subscriberId: string; message: Message | 'confirm' },
): Promise<Awaited<ReturnType<SendMail>> | null> {
  const subscriber = await findSubscriberById(deps.db, subscriberId);
  if (subscriber === undefined) return null;
  // Confirmation mails go only to unconfirmed subscribers, all other mails only to confirmed ones.
  if ((message === 'confirm') === (subscriber.confirmedAt !== null)) return null;
  return deps.sendMail(mailOf(deps, subscriber, message));
}

async function mailSubscribers(
  tx: Db,
  background: Background,
  about: { pageIds: readonly string[]; about: string; now: number; message: Message },
): Promise<void> {
  const subscriberIds = await confirmedSubscribers(tx, about.pageIds);
  if (subscriberIds.length === 0) return;
  const ids = await insertMails(tx, {
    subscriberIds,
    subject: about.about,
    message: about.message,
    now: new Date(about.now),
  });
  await background.sendAll(
    tx,
    mailsQueue,
    ids.map((mailId): MailItem => ({ mailId })),
  );
}

/** Queues a mail that asks an address to confirm, with the commit of `tx`. */
export async function askToConfirm(tx: Db, background: Background, subscriberId: string): Promise<void> {
  await background.send(tx, plainQueue, { subscriberId, message: 'confirm' } satisfies PlainMail);
}

const kinds: { readonly [K in MaintenanceEvent['kind']]: string } = {
  REMINDER: 'Scheduled maintenance',
  STARTED: 'Maintenance has started',
  ENDED: 'Maintenance is completed',
  CANCELLED: 'Maintenance is cancelled',
  UPDATED: 'Maintenance',
};

/** Queues mails about a maintenance for subscribers of the pages that show it. */
export function mailMaintenanceEvents(
  background: Background,
  { now }: Pick<SubscriberMailDeps, 'now'>,
): MaintenanceEventFollower {
  return async (tx, { id, accountId, windowId, kind, startsAt, endsAt, body }) => {
    const { name, description, timezone, text, statusPageIds } = body;
    await mailSubscribers(tx, background, {
      pageIds: await pagesOfMaintenance(tx, { accountId, statusPageIds }),
      about: `maintenance ${windowId} ${startsAt.toISOString()}`,
      now: now(),
      message: {
        name: id,
        subject: `${kinds[kind]}: ${name}`,
        lines: [
          `${kinds[kind]}: ${name}`,
          `From ${momentText(startsAt, timezone)} to ${momentText(endsAt, timezone)}`,
          '',
          text ?? description ?? '',
        ],
      },
    });
  };
}

function mailOf(
  { encryption, publicUrl }: SubscriberMailDeps,
  { email, pageName, pageUrl, token, id, askedAt }: SubscriberOfPage,
  message: Message | 'confirm',
): Mail {
  const base = `${publicUrl()}/status/${pageUrl}`;
  const named = `token=${encryption.open(token)}`;
  if (message === 'confirm') {
    return composed({
      to: email,
      id: `${id}.${askedAt.getTime()}`,
      subject: `${pageName}: confirm your email subscription`,
      lines: [
        `Someone, probably you, asked to send emails about incidents and maintenance of ${pageName} to this address.`,
        'If this was not you, ignore this email. You will not receive any others.',
      ],
      links: [{ text: 'Confirm', href: `${base}/confirm?${named}` }],
    });
  }
  const end = `${base}/unsubscribe?${named}`;
  return composed({
    to: email,
    id: `${message.name}.${id}`,
    subject: `[${pageName}] ${message.subject}`,
    lines: message.lines,
    links: [
      { text: pageName, href: base },
      { text: 'Unsubscribe', href: end },
    ],
    headers: {
      'list-unsubscribe': `<${end}>`,
      // One-click unsubscribe requires HTTPS (RFC 8058, section 3.1).
      ...(end.startsWith('https:') ? { 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' } : {}),
    },
  });
}

function composed(
  mail: Pick<Mail, 'to' | 'subject' | 'id' | 'headers'> & {
    lines: string[];
    links: { text: string; href: string }[];
  },
): Mail {
  const { to, id, subject, lines, links, headers } = mail;
  const html = (text: string) => escaped(text, 'html');
  return {
    to,
    id,
    subject: subject.slice(0, 250),
    ...(headers === undefined ? {} : { headers }),
    text: [...lines, '', ...links.map(({ text, href }) => `${text}: ${href}`), ''].join('\n'),
    html: [
      '<!doctype html><html><body style="font-family:sans-serif;font-size:14px;color:#222">',
      ...lines
        .filter((line) => line !== '')
        .map((line) => `<p style="white-space:pre-wrap">${html(line)}</p>`),
      `<p>${links.map(({ text, href }) => `<a href="${html(href)}">${html(text)}</a>`).join(' · ')}</p>`,
      '</body></html>',
    ].join('\n'),
  };
}
