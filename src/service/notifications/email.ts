import { createTransport } from 'nodemailer';
import type { NotificationConfig } from '../../config/notifications.ts';
import { toError } from '../../errors.ts';
import { alertTitle } from '../alerting/alert-types.ts';
import { alertFacts, resultLink } from './alert-variables.ts';
import { notConfigured, type Sender } from './delivery.ts';
import type { Outcome } from './http-call.ts';
import { escaped } from './template.ts';

/** EMAIL: a real mail, as text and as HTML. */

export type Mail = {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The same at every try: the mail's id is made of it. */
  id: string;
  headers?: { readonly [name: string]: string };
};

export type SendMail = (mail: Mail) => Promise<Outcome>;

/** Of each step of a conversation with a mail server. */
const stepMs = 10_000;

/** How mail leaves: by SMTP_URL, from SMTP_FROM. `publicUrl` gives the host's name where nothing else does. */
export function createMailer(
  { smtpUrl, smtpFrom }: Pick<NotificationConfig, 'smtpUrl' | 'smtpFrom'>,
  publicUrl: () => string,
): SendMail {
  if (smtpUrl === null) return async () => notConfigured('SMTP_URL');
  const transport = createTransport(
    {
      url: smtpUrl.reveal(),
      connectionTimeout: stepMs,
      greetingTimeout: stepMs,
      socketTimeout: stepMs,
      dnsTimeout: stepMs,
    },
    // Nothing of a mail is ever read from a file or an address.
    { disableFileAccess: true, disableUrlAccess: true },
  );
  return async ({ to, subject, text, html, id, headers }) => {
    const host = hostOf(publicUrl());
    const from = smtpFrom ?? `Monitoring <monitoring@${host}>`;
    const domain = /@([^\s>]+)>?$/.exec(from)?.[1] ?? host;
    try {
      const sent = await transport.sendMail({
        from,
        to: { name: '', address: to },
        subject: subject.replaceAll(/[\r\n]+/g, ' '),
        text,
        html,
        messageId: `<${id}@${domain}>`,
        headers: { 'auto-submitted': 'auto-generated', ...headers },
      });
      return { delivered: true, result: String(sent.response).slice(0, 500) };
    } catch (error) {
      const { message } = toError(error);
      const code =
        typeof error === 'object' && error !== null && 'responseCode' in error ? error.responseCode : 0;
      // 5xx of a mail server is final (RFC 5321, 4.2.1).
      return { delivered: false, result: message.slice(0, 500), retry: !(Number(code) >= 500) };
    }
  };
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
