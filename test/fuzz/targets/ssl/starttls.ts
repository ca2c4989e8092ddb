import { once } from 'node:events';
import { connect } from 'node:net';
import { startTls, StartTlsError } from '../../../../src/executors/ssl/starttls.ts';
import type { StartTlsProtocol } from '../../../../src/protocol/ssl.ts';
import { createConversingServer, partsOf } from '../../engine/conversing-server.ts';

/** What servers say before TLS begins, over real connections: TLS may begin, or the server is named as the reason. */

export const name = 'starttls';
export const maxBytes = 40 * 1024;

const protocols: readonly StartTlsProtocol[] = ['SMTP', 'IMAP', 'POP3', 'FTP', 'LDAP', 'POSTGRESQL'];
const greeting = createConversingServer({ greets: true });
const silent = createConversingServer({ greets: false });
const longestMs = 5000;

/** The first byte chooses the protocol; the parts of the server are separated by bytes of zero (by 0x7f for LDAP). */
export async function run(data: Buffer): Promise<void> {
  const protocol = protocols[(data[0] ?? 0) % protocols.length] ?? 'SMTP';
  const waits = protocol === 'LDAP' || protocol === 'POSTGRESQL';
  const said = waits ? [data.subarray(1)] : partsOf(data.subarray(1));
  const port = await (waits ? silent : greeting).say(said);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const signal = AbortSignal.timeout(longestMs);
  try {
    await startTls(socket, protocol, signal);
  } catch (error) {
    if (signal.aborted) throw new Error('the end of the connection is not noticed', { cause: error });
    const isOfConnection = error instanceof Error && 'code' in error;
    if (!(error instanceof StartTlsError) && !isOfConnection) throw error;
    if (error instanceof StartTlsError && error.message.length > 1300)
      throw new Error('a long message', { cause: error });
  } finally {
    socket.destroy();
  }
}

export const close = (): void => {
  greeting.close();
  silent.close();
};

export const seeds = (): (string | Buffer)[] => [
  '\x00220-a\r\n220 mail.test\r\n\x00250-mail.test\r\n250 STARTTLS\r\n\x00220 go\r\n',
  '\x00220 mail.test\r\n\x00554 no\r\n',
  '\x01* OK ready\r\n\x00* CAPABILITY\r\na1 OK begin\r\n',
  '\x02+OK\r\n\x00+OK\r\n',
  '\x03220 ftp\r\n\x00234 go\r\n',
  Buffer.from([4, 0x30, 12, 2, 1, 1, 0x78, 7, 0x0a, 1, 0, 4, 0, 4, 0]),
  Buffer.from([4, 0x30, 0x84, 0, 0, 0, 3, 0x0a, 1, 0]),
  Buffer.from([5, 0x53]),
  Buffer.from([5, 0x4e]),
];

export const dictionary = [
  '220 ',
  '220-',
  '250 ',
  '\r\n',
  '\n',
  'a1 OK',
  'a1 NO',
  '* OK',
  '+OK',
  '-ERR',
  '\0',
  '\x0a\x01\x00',
];
