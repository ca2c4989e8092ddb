import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listening } from '../../helpers/network/http.ts';
import { show, startSslLab, verdictOf, type SslLab } from '../../helpers/network/ssl-lab.ts';

/** SSL checks of protocols that begin in plain text. */

let lab: SslLab;
beforeAll(async () => {
  lab = await startSslLab();
});
afterAll(() => lab.close());

type Turn = { expects: RegExp; says: string | Buffer };
type Dialogue = { greeting: string; turns: readonly Turn[] };

const dialogues = {
  SMTP: {
    greeting: '220-mail.test ready\r\n220 go on\r\n',
    turns: [
      { expects: /^EHLO \S+\r\n$/, says: '250-mail.test\r\n250-SIZE 1000\r\n250 STARTTLS\r\n' },
      { expects: /^STARTTLS\r\n$/, says: '220 ready\r\n' },
    ],
  },
  IMAP: {
    greeting: '* OK ready\r\n',
    turns: [{ expects: /^a1 STARTTLS\r\n$/, says: '* CAPABILITY X\r\na1 OK go\r\n' }],
  },
  POP3: { greeting: '+OK ready\r\n', turns: [{ expects: /^STLS\r\n$/, says: '+OK go\r\n' }] },
  FTP: { greeting: '220 ready\r\n', turns: [{ expects: /^AUTH TLS\r\n$/, says: '234 go\r\n' }] },
  LDAP: {
    greeting: '',
    turns: [
      {
        expects: /1\.3\.6\.1\.4\.1\.1466\.20037/,
        says: Buffer.from('300c02010178070a010004000400', 'hex'),
      },
    ],
  },
  POSTGRESQL: { greeting: '', turns: [{ expects: /\xd2.\/$/s, says: 'S' }] },
} as const satisfies { [protocol: string]: Dialogue };
type Protocol = keyof typeof dialogues;
const protocols = Object.keys(dialogues) as Protocol[]; // Object.keys loses the key type

/** A server that speaks the dialogue, one byte at a time if `drips`, and then TLS. */
async function serve(dialogue: Dialogue, { drips = false } = {}): Promise<number> {
  const context = createSecureContext(show(await lab.leaf(), lab.middle));
  const say = async (socket: Socket, text: string | Buffer) => {
    for (const piece of drips ? Buffer.from(text) : [null]) {
      socket.write(piece === null ? text : Buffer.from([piece]));
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const turns = [...dialogue.turns];
    void say(socket, dialogue.greeting);
    let got = '';
    const onData = (chunk: Buffer) => {
      got += chunk.toString('latin1');
      const [turn] = turns;
      if (turn === undefined || !turn.expects.test(got)) return;
      got = '';
      turns.shift();
      const isLast = turns.length === 0;
      if (isLast) socket.off('data', onData);
      void say(socket, turn.says).then(() => {
        if (!isLast) return;
        new TLSSocket(socket, { isServer: true, secureContext: context }).on('error', () => undefined);
      });
    };
    socket.on('data', onData);
  });
  return lab.keep(await listening(server));
}

test.each(protocols)('%s', async (startTls) => {
  const port = await serve(dialogues[startTls]);
  const outcome = await lab.check(port, { startTls });
  expect(verdictOf(outcome)).toBe('passed');
  expect(outcome.details).toMatchObject({
    tlsVersion: 'TLS1.3',
    response: { certificate: { subjectCN: 'good.test' } },
  });
});

test.each(protocols)('%s, a byte at a time', async (startTls) => {
  const port = await serve(dialogues[startTls], { drips: true });
  expect(verdictOf(await lab.check(port, { startTls }))).toBe('passed');
});

test.each([
  ['SMTP', { greeting: '554 no\r\n', turns: [] }, /554 no/],
  [
    'SMTP',
    {
      greeting: '220 ok\r\n',
      turns: [
        { expects: /EHLO/, says: '250 ok\r\n' },
        { expects: /STARTTLS/, says: '502 no\r\n' },
      ],
    },
    /502 no/,
  ],
  ['IMAP', { greeting: '* OK\r\n', turns: [{ expects: /a1/, says: 'a1 BAD no\r\n' }] }, /a1 BAD no/],
  ['POP3', { greeting: '-ERR no\r\n', turns: [] }, /-ERR no/],
  ['FTP', { greeting: '220 ok\r\n', turns: [{ expects: /AUTH/, says: '500 no\r\n' }] }, /500 no/],
  [
    'LDAP',
    { greeting: '', turns: [{ expects: /1466/, says: Buffer.from('300c02010178070a010204000400', 'hex') }] },
    /refused StartTLS/,
  ],
  ['POSTGRESQL', { greeting: '', turns: [{ expects: /\0/, says: 'N' }] }, /does not offer TLS/],
  ['SMTP', { greeting: `220-${'x'.repeat(20_000)}`, turns: [] }, /longer than 16 kB/],
] as readonly [Protocol, Dialogue, RegExp][])('%s refuses: %j', async (startTls, dialogue, message) => {
  const outcome = await lab.check(await serve(dialogue), { startTls });
  expect(verdictOf(outcome)).toBe('failed TLS_ERROR handshake');
  expect(outcome.details['requestError']).toMatch(message);
});

test.each(protocols)('%s: a server that says nothing runs into the time limit', async (startTls) => {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  const port = lab.keep(await listening(server));
  const outcome = await lab.check(port, { startTls, handshakeTimeoutMs: 1000 });
  expect(verdictOf(outcome)).toBe('failed SOCKET_TIMEOUT timeout');
});
