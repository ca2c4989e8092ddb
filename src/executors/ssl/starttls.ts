import type { Socket } from 'node:net';
import type { StartTlsProtocol } from '../../protocol/ssl.ts';
import { shortened } from '../../shortened.ts';
import { encode, tags } from './der.ts';

/**
 * The exchange before the handshake for protocols that begin in plain text. Nothing of it is kept but the last line, for
 * the message of a failure.
 */

/** The server did not agree to begin TLS. */
export class StartTlsError extends Error {
  override readonly name = 'StartTlsError';
}

/** A greeting may have several lines; servers do not need more. */
const maxBytes = 16_384;

/** Reads what a server sends, piece by piece, and takes every byte from the socket before the handshake does. */
type Reader = { until: (isWhole: (all: Buffer) => boolean) => Promise<Buffer> };

function readerOf(socket: Socket, signal: AbortSignal): Reader {
  return {
    until: (isWhole) =>
      new Promise((resolve, reject) => {
        let all: Buffer = Buffer.alloc(0);
        const end = () => {
          socket.off('data', onData);
          socket.off('error', onError);
          socket.off('close', onClose);
          signal.removeEventListener('abort', onAbort);
          socket.pause();
        };
        const fail = (error: unknown) => {
          end();
          reject(error as Error);
        };
        const onData = (chunk: Buffer) => {
          all = Buffer.concat([all, chunk]);
          if (isWhole(all)) {
            end();
            resolve(all);
          } else if (all.length > maxBytes) fail(new StartTlsError('the greeting is longer than 16 kB'));
        };
        const onError = (error: Error) => fail(error);
        const onClose = () => fail(new StartTlsError('the server closed the connection before TLS began'));
        const onAbort = () => fail(signal.reason);
        if (signal.aborted) {
          reject(signal.reason as Error);
          return;
        }
        socket.on('data', onData);
        socket.once('error', onError);
        socket.once('close', onClose);
        signal.addEventListener('abort', onAbort, { once: true });
        socket.resume();
      }),
  };
}

const lineOf = (bytes: Buffer) => bytes.toString('latin1').trimEnd().split(/\r?\n/).at(-1) ?? '';

/** Whether a reply of SMTP or FTP is complete: its last line has a space after the code (RFC 5321, section 4.2.1). */
const isReply = (all: Buffer) => all.at(-1) === 0x0a && /^\d{3}(?: |$)/.test(lineOf(all));
const isLine = (all: Buffer) => all.at(-1) === 0x0a;

async function replyOf(reader: Reader, code: string): Promise<void> {
  const line = lineOf(await reader.until(isReply));
  if (!line.startsWith(code))
    throw new StartTlsError(`the server answered ${JSON.stringify(shortened(line, 200))}`);
}

async function lineThat(reader: Reader, pattern: RegExp, isWhole: (all: Buffer) => boolean): Promise<void> {
  const line = lineOf(await reader.until(isWhole));
  if (!pattern.test(line))
    throw new StartTlsError(`the server answered ${JSON.stringify(shortened(line, 200))}`);
}

/** The LDAP extended operation StartTLS (RFC 4511, section 4.14): messageID 1, requestName [0]. */
const ldapRequest = encode(
  tags.sequence,
  encode(tags.integer, Buffer.from([1])),
  encode(0x77, encode(0x80, Buffer.from('1.3.6.1.4.1.1466.20037'))),
);

/** Whether the bytes are a complete LDAP message. */
function isMessage(all: Buffer): boolean {
  const first = all[1];
  if (first === undefined) return false;
  if (first < 0x80) return all.length >= 2 + first;
  const size = first & 0x7f;
  return (
    all.length >= 2 + size &&
    all.length >= 2 + size + Number.parseInt(all.toString('hex', 2, 2 + size) || '0', 16)
  );
}

const exchanges: { readonly [P in StartTlsProtocol]: (socket: Socket, reader: Reader) => Promise<void> } = {
  // RFC 3207
  SMTP: async (socket, reader) => {
    await replyOf(reader, '220');
    socket.write('EHLO location-agent.invalid\r\n');
    await replyOf(reader, '250');
    socket.write('STARTTLS\r\n');
    await replyOf(reader, '220');
  },
  // RFC 3501, section 6.2.1
  IMAP: async (socket, reader) => {
    await lineThat(reader, /^\* OK/i, isLine);
    socket.write('a1 STARTTLS\r\n');
    await lineThat(reader, /^a1 OK/i, (all) => isLine(all) && /^a1 /m.test(all.toString('latin1')));
  },
  // RFC 2595, section 4
  POP3: async (socket, reader) => {
    await lineThat(reader, /^\+OK/i, isLine);
    socket.write('STLS\r\n');
    await lineThat(reader, /^\+OK/i, isLine);
  },
  // RFC 4217
  FTP: async (socket, reader) => {
    await replyOf(reader, '220');
    socket.write('AUTH TLS\r\n');
    await replyOf(reader, '234');
  },
  LDAP: async (socket, reader) => {
    socket.write(ldapRequest);
    const answer = await reader.until(isMessage);
    // ExtendedResponse [APPLICATION 24] with resultCode success: an enumerated 0.
    if (!answer.includes(Buffer.from([tags.enumerated, 1, 0]))) {
      throw new StartTlsError('the server refused StartTLS');
    }
  },
  // SSLRequest of the frontend/backend protocol: length 8, code 80877103; the answer is one byte.
  POSTGRESQL: async (socket, reader) => {
    socket.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
    const answer = await reader.until((all) => all.length > 0);
    if (answer.length !== 1 || answer[0] !== 0x53) {
      throw new StartTlsError('the server does not offer TLS');
    }
  },
};

/**
 * Speaks the protocol over a fresh connection until TLS may begin. Rejects with StartTlsError if the server does not
 * agree, with the connection's error, or with `signal.reason`.
 */
export async function startTls(
  socket: Socket,
  protocol: StartTlsProtocol,
  signal: AbortSignal,
): Promise<void> {
  await exchanges[protocol](socket, readerOf(socket, signal));
}
