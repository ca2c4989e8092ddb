import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** Receivers of notifications: an HTTP server that remembers what it got, and a mail server. */

export type Received = {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
};

export type Receiver = {
  url: string;
  port: number;
  received: Received[];
  close: () => Promise<void>;
};

/** `answer`: handles a request once it is complete; default 200 and "ok". */
export async function startReceiver(
  answer: (request: Received, response: ServerResponse) => void = (_request, response) => response.end('ok'),
  host = '127.0.0.1',
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://${host}:${port}`,
    port,
    received,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type MailServer = {
  /** For SMTP_URL. */
  url: string;
  mails: { from: string; to: string[]; raw: Buffer }[];
  /** Null = takes the next mails; else refuses them with this status. */
  refuseWith: (status: number | null) => void;
  close: () => Promise<void>;
};

/** Takes mail from user `ops` with the password `pass word`. */
export async function startMailServer(): Promise<MailServer> {
  const mails: MailServer['mails'] = [];
  let refusal: number | null = null;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) => {
      if (username === 'ops' && password === 'pass word') done(null, { user: username });
      else done(new Error('wrong password'));
    },
    onRcptTo: (_address, _session, done) => {
      if (refusal === null) return done();
      done(Object.assign(new Error('no such user'), { responseCode: refusal }));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        mails.push({ from, to: rcptTo.map(({ address }) => address), raw: Buffer.concat(chunks) });
        done(null, 'queued as 1');
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo; // it listens on TCP
  return {
    url: `smtp://ops:pass%20word@127.0.0.1:${port}`,
    mails,
    refuseWith: (status) => (refusal = status),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
