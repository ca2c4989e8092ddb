import {
  clientHello,
  readAnswer,
  wireVersions,
  type HelloAnswer,
} from '../../../../src/executors/ssl/client-hello.ts';

/** Answers to a ClientHello: read without an error, and the same however they are cut. */

export const name = 'ssl-hello';
export const maxBytes = 40 * 1024;

/** Throws if the pieces of an answer change what it says. */
export function run(data: Buffer): void {
  const bytes = data.subarray(1);
  const whole = readAnswer(bytes);
  const size = 1 + ((data[0] ?? 0) % 64);
  let first: HelloAnswer | null = null;
  for (let end = 0; first === null && end < bytes.length; end += size)
    first = readAnswer(bytes.subarray(0, end));
  if (first !== null && JSON.stringify(first) !== JSON.stringify(whole)) {
    throw new Error(`${JSON.stringify(first)} became ${JSON.stringify(whole)}`);
  }
  if (whole !== null && 'refuses' in whole && whole.refuses.length > 100) throw new Error('a long reason');
}

/** A ServerHello with a session of `session` bytes. */
function serverHello(version: number, suite: number, session: number): Buffer {
  const body = Buffer.alloc(2 + 32 + 1 + session + 3);
  body.writeUInt16BE(version, 0);
  body[34] = session;
  body.writeUInt16BE(suite, 35 + session);
  const head = Buffer.from([22, 3, 3, 0, body.length + 4, 2, 0, 0, body.length]);
  return Buffer.concat([Buffer.from([7]), head, body]);
}

export const seeds = (): Buffer[] => [
  serverHello(wireVersions['TLS1.2'], 0xc02f, 32),
  serverHello(wireVersions['SSL3.0'], 0x0005, 0),
  serverHello(wireVersions['TLS1.2'], 0x1301, 32),
  Buffer.from([1, 21, 3, 1, 0, 2, 2, 40]),
  Buffer.from('\x03HTTP/1.1 400 Bad Request\r\n\r\n'),
  Buffer.concat([
    Buffer.from([5]),
    clientHello({ version: 'TLS1.2', suites: [1, 2, 3], serverName: 'shop.test' }),
  ]),
];

export const dictionary = [
  Buffer.from([22, 3, 3]),
  Buffer.from([21, 3, 0]),
  Buffer.from([2, 0, 0]),
  Buffer.from([0x13, 0x01]),
  Buffer.from([0x40, 0xff]),
];
