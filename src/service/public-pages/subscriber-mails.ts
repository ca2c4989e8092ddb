import type { Log } from '../../log.ts';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import { claimSubscriberUpdate } from '../incidents/update-statements.ts';
import type { MaintenanceEvent } from '../maintenance/event-statements.ts';
import {
  confirmedSubscribers,
  findSubscriberById,
  findSubscriberUpdate,
  pagesOfMaintenance,
  type SubscriberOfPage,
} from './subscriber-statements.ts';
import type { Encryption } from '../engine/encryption.ts';
import { incidentMessagesQueue, type IncidentMessage } from '../incidents/messages.ts';
import type { MaintenanceEventFollower } from '../maintenance/events.ts';
import type { Mail, SendMail } from '../notifications/mail.ts';
import { escaped } from '../../templates/escaping.ts';
import { momentText, wordOf } from './words.ts';

/** Sends mails to subscribers of status pages, with one item of a durable queue per mail. */

const mailsQueue = 'subscriber-mails';

/**
 * The content of a mail. The page's name and links are added. `name` identifies the message, so that a retry sends the
 * same mail.
 */
type Message = { name: string; subject: string; lines: string[] };
type MailItem = { subscriberId: string; message: Message | 'confirm' };

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
        const update = await findSubscriberUpdate(tx, kind, updateId);
        // The update was deleted, or sent by a try that could not acknowledge its queue item.
        if (update === undefined) return;
        if (!(await claimSubscriberUpdate(tx, kind, { id: updateId, now: new Date(now()) }))) return;
        await mailSubscribers(tx, background, {
          pageIds: update.pageIds,
          message: {
            name: updateId,
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
      });
    },
  );
  background.handle<MailItem>(
    {
      name: mailsQueue,
      retryLimit: 5,
      retryDelaySeconds: deps.retryDelaySeconds ?? 20,
      expireSeconds: 120,
      concurrency: 4,
    },
    async ({ subscriberId, message }) => {
      const subscriber = await findSubscriberById(db, subscriberId);
      if (subscriber === undefined) return;
      // Confirmation mails go only to unconfirmed subscribers, all other mails only to confirmed ones.
      if ((message === 'confirm') === (subscriber.confirmedAt !== null)) return;
      const sent = await deps.sendMail(mailOf(deps, subscriber, message));
      if (sent.delivered) return;
      if (sent.retry) throw new Error(`mail to a subscriber was not sent: ${sent.result}`);
      deps.log.warn({ subscriber: subscriberId, result: sent.result }, 'mail to a subscriber was not sent');
    },
  );
}

async function mailSubscribers(
  tx: Db,
  background: Background,
  { pageIds, message }: { pageIds: readonly string[]; message: Message },
): Promise<void> {
  for (const subscriberId of await confirmedSubscribers(tx, pageIds)) {
    await background.send(tx, mailsQueue, { subscriberId, message } satisfies MailItem);
  }
}

/** Queues a mail that asks an address to confirm, with the commit of `tx`. */
export async function askToConfirm(tx: Db, background: Background, subscriberId: string): Promise<void> {
  await background.send(tx, mailsQueue, { subscriberId, message: 'confirm' } satisfies MailItem);
}

const kinds: { readonly [K in MaintenanceEvent['kind']]: string } = {
  REMINDER: 'Scheduled maintenance',
  STARTED: 'Maintenance has started',
  ENDED: 'Maintenance is completed',
  CANCELLED: 'Maintenance is cancelled',
  UPDATED: 'Maintenance',
};

/** Queues mails about a maintenance for subscribers of the pages that show it. */
export function mailMaintenanceEvents(background: Background): MaintenanceEventFollower {
  return async (tx, { id, accountId, kind, startsAt, endsAt, body }) => {
    const { name, description, timezone, text, statusPageIds } = body;
    await mailSubscribers(tx, background, {
      pageIds: await pagesOfMaintenance(tx, { accountId, statusPageIds }),
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
