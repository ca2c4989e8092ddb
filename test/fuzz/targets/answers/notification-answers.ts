import { createMailer } from '../../../../src/service/notifications/email.ts';
import { sendChatApp } from '../../../../src/service/notifications/chat.ts';
import type { NotificationConfig } from '../../../../src/config/notifications.ts';
import { callTarget, type Calling } from '../../../../src/service/notifications/http-call.ts';
import type { SendingDeps, Sent } from '../../../../src/service/notifications/sender.ts';
import { testAlert } from '../../../../src/service/notifications/test-alert.ts';
import { Secret } from '../../../../src/secrets/secret.ts';
import { createAnsweringServer } from '../../engine/answering-server.ts';
import { createConversingServer, partsOf } from '../../engine/conversing-server.ts';

/** Answers to notifications, over real connections: HTTP receivers, a chat's API and mail servers. None throws. */

export const name = 'notification-answers';
export const maxBytes = 32 * 1024;

const web = createAnsweringServer((socket, answer) => socket.end(answer));
const mail = createConversingServer({ greets: true });
const signal = new AbortController().signal;
const timeoutMs = 4000;
const calling: Calling = { privateTargets: 'allow', kindOf: () => 'public', timeoutMs };
const none = { url: null, token: null };

/** The first byte chooses: mail (0), an HTTP receiver (1), a chat's API (2). Throws if a result is not one. */
export async function run(data: Buffer): Promise<void> {
  const bytes = data.subarray(1);
  const kind = (data[0] ?? 0) % 3;
  const sent = kind === 0 ? await byMail(bytes) : await byHttp(bytes, kind === 2);
  if (sent.result.length > 5000) throw new Error(`a result of ${sent.result.length} characters`);
  if (sent.result.includes('\u0000')) throw new Error('a result that the database cannot store');
  // The server ends each conversation.
  if (/within \d+ s$/.test(sent.result)) throw new Error(sent.result);
}

async function byMail(bytes: Buffer): Promise<Sent> {
  const port = await mail.say(partsOf(bytes));
  const smtpUrl = new Secret(`smtp://user:password@127.0.0.1:${port}`);
  const send = createMailer({ smtpUrl, smtpFrom: null }, () => 'http://127.0.0.1', { longestMs: timeoutMs });
  return send({ to: 'a@shop.test', subject: 'Shop failed', text: 'text', html: '<p>', id: '1' });
}

async function byHttp(bytes: Buffer, isChat: boolean): Promise<Sent> {
  const url = `http://127.0.0.1:${await web.answerWith(bytes)}/`;
  const call = { method: 'POST', url, headers: { 'content-type': 'text/plain' }, body: 'a' };
  if (!isChat) return callTarget(call, calling, signal);
  const config: NotificationConfig = {
    smtpUrl: null,
    smtpFrom: null,
    privateTargets: 'allow',
    chatAApp: { url, token: null },
    pagingAUrl: null,
    pagingBUrl: null,
    pagingBEuUrl: null,
    pagingBScheme: '',
    sms: none,
    call: none,
  };
  const deps: SendingDeps = {
    config,
    calling,
    sendMail: async () => ({ delivered: true, result: '' }),
    now: () => 0,
    signal,
  };
  return sendChatApp(
    {
      notificationId: '1',
      alert: testAlert('a', new Date(0)),
      config: { channels: ['#a'] } as never, // this sender reads only the rooms
      publicUrl: 'http://127.0.0.1',
      environment: {},
      reached: [],
    },
    deps,
  );
}

export const close = (): void => {
  web.close();
  mail.close();
};

const ok = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

export const seeds = (): string[] => [
  '\x00220 mail.test ESMTP\r\n\x00250-mail.test\r\n250-AUTH PLAIN LOGIN CRAM-MD5\r\n250 8BITMIME\r\n\x00235 ok\r\n\x00250 ok\r\n\x00250 ok\r\n\x00354 go\r\n\x00250 queued as 1\r\n\x00221 bye\r\n',
  '\x00220 a\r\n\x00250 a\r\n\x00535 no\r\n',
  '\x00421 later\r\n',
  `\x01${ok('taken')}`,
  '\x01HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n',
  '\x01HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n3\r\na\0b\r\n0\r\n\r\n',
  `\x02${ok('{"ok":false,"error":"no such room"}')}`,
  `\x02${ok('{"ok":true}')}`,
];

export const dictionary = [
  '\r\n',
  '\n',
  '\0',
  '220 ',
  '250-',
  '250 STARTTLS\r\n',
  '334 ',
  '354 ',
  '550 ',
  'HTTP/1.1 ',
  ' 307 ',
  'location: ',
  '//[::1]/',
  'transfer-encoding: chunked\r\n',
  'content-length: ',
  'content-encoding: gzip\r\n',
  '{"ok":false',
  ',"error":{"toString":1}}',
  '"error":',
];
