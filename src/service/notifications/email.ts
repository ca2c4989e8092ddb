import { connect, type Socket } from 'node:net';
import { createTransport } from 'nodemailer';
import type { NotificationConfig } from '../../config/notifications.ts';
import { toError } from '../../errors.ts';
import { alertTitle } from '../alerting/alert-types.ts';
import { alertFacts, resultLink } from './alert-variables.ts';
import { notConfigured, type Sender } from './sender.ts';

import { escaped } from '../../templates/escaping.ts';
import type { SendMail } from './mail.ts';

/** EMAIL: a mail as text and as HTML. */

/** Limits on each step of an SMTP conversation, and on the whole conversation with a very slow server. */
const stepMs = 10_000;
const totalMs = 60_000;

/** Creates the sender for SMTP_URL and SMTP_FROM. `publicUrl` supplies the host name if nothing else does. */
export function createMailer(
  { smtpUrl, smtpFrom }: Pick<NotificationConfig, 'smtpUrl' | 'smtpFrom'>,
  publicUrl: () => string,
  { longestMs = totalMs }: { longestMs?: number } = {},
): SendMail {
  if (smtpUrl === null) return async () => notConfigured('SMTP_URL');
  return async ({ to, subject, text, html, id, headers }) => {
    const host = hostOf(publicUrl());
    const from = smtpFrom ?? `Monitoring <monitoring@${host}>`;
    const domain = /@([^\s>]+)>?$/.exec(from)?.[1] ?? host;
    const conversation = converse(smtpUrl.reveal(), longestMs);
    try {
      const sent = await conversation.transport.sendMail({
        from,
        to: { name: '', address: to },
        subject: subject.replaceAll(/[\r\n]+/g, ' '),
        text,
        html,
        messageId: `<${id}@${domain}>`,
        headers: { 'auto-submitted': 'auto-generated', ...headers },
      });
      return { delivered: true, result: shownAnswer(String(sent.response)) };
    } catch (error) {
      if (conversation.isLate()) {
        const result = `the mail server did not accept the mail within ${longestMs / 1000} s`;
        return { delivered: false, result, retry: true };
      }
      const { message } = toError(error);
      const code =
        typeof error === 'object' && error !== null && 'responseCode' in error ? error.responseCode : 0;
      // A 5xx reply of a mail server is final (RFC 5321, 4.2.1).
      return { delivered: false, result: shownAnswer(message), retry: !(Number(code) >= 500) };
    } finally {
      conversation.end();
    }
  };
}

/** An answer of the mail server as a result. The database stores no NUL. */
const shownAnswer = (text: string): string => text.replaceAll('\u0000', '').slice(0, 500);

/** Uses one connection to the mail server, which is closed after `longestMs` in any case. */
function converse(url: string, longestMs: number) {
  let socket: Socket | undefined;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    socket?.destroy(new Error('the mail server is too slow'));
  }, longestMs);
  const transport = createTransport(
    {
      url,
      // The password goes there, whatever NODE_TLS_REJECT_UNAUTHORIZED says. The URL may switch this off.
      ...(/[?&]tls\.rejectUnauthorized=/.test(url) ? {} : { tls: { rejectUnauthorized: true } }),
      greetingTimeout: stepMs,
      socketTimeout: stepMs,
      getSocket: ({ host = 'localhost', port, secure = false }, callback) => {
        const opened = connect({ host, port: Number(port) || (secure ? 465 : 587), timeout: stepMs });
        socket = opened;
        const failed = (error: Error) => callback(error);
        opened.once('error', failed).once('timeout', () => opened.destroy(new Error('Connection timeout')));
        opened.once('connect', () => {
          opened.removeAllListeners('timeout').off('error', failed).setTimeout(0);
          callback(null, { connection: opened });
        });
      },
    },
    // Disables reading content from files or URLs.
    { disableFileAccess: true, disableUrlAccess: true },
  );
  const end = () => {
    clearTimeout(timer);
    socket?.destroy();
  };
  return { transport, isLate: () => isLate, end };
}

function hostOf(url: string): string {
  const { hostname } = new URL(url);
  return /^[a-z0-9.-]+\.[a-z]+$/i.test(hostname) ? hostname : 'localhost.localdomain';
}

export const sendEmail: Sender<'EMAIL'> = async (delivery, { sendMail }) => {
  const title = alertTitle(delivery.alert);
  const facts = alertFacts(delivery);
  const link = resultLink(delivery);
  return sendMail({
    to: delivery.config.address,
    subject: title.slice(0, 250),
    text: [
      title,
      '',
      ...facts.map(({ name, text }) => `${name}: ${text}`),
      ...(link === null ? [] : ['', link]),
      '',
    ].join('\n'),
    html: htmlMail(title, facts, link),
    id: delivery.notificationId,
  });
};

function htmlMail(
  title: string,
  facts: readonly { name: string; text: string }[],
  link: string | null,
): string {
  const html = (text: string) => escaped(text, 'html');
  const rows = facts.map(
    ({ name, text }) =>
      `<tr><th style="text-align:left;padding:4px 16px 4px 0;vertical-align:top;font-weight:normal;color:#666">${html(name)}</th>` +
      `<td style="padding:4px 0;white-space:pre-wrap">${html(text)}</td></tr>`,
  );
  return [
    '<!doctype html><html><body style="font-family:sans-serif;font-size:14px;color:#222">',
    `<h1 style="font-size:18px">${html(title)}</h1>`,
    `<table style="border-collapse:collapse">${rows.join('')}</table>`,
    ...(link === null ? [] : [`<p><a href="${html(link)}">See the result</a></p>`]),
    '</body></html>',
  ].join('\n');
}
