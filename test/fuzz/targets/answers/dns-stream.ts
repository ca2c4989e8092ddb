import { once } from 'node:events';
import { connect } from 'node:net';
import { createServer, connect as connectTls, type Server, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { encode } from 'dns-packet';
import { ExchangeError } from '../../../../src/executors/dns/errors.ts';
import { askByHttps } from '../../../../src/executors/dns/https.ts';
import { DnsMalformed, encodeQuery } from '../../../../src/executors/dns/message.ts';
import { exchangeStream } from '../../../../src/executors/dns/stream.ts';
import { newTrace } from '../../../../src/executors/dns/trace.ts';
import { createAnsweringServer } from '../../engine/answering-server.ts';
import { refuseBugs } from '../../engine/own-error.ts';
import { usualCertificates } from '../../engine/usual-certificates.ts';

/** Answers of name servers over TCP and HTTPS, over real connections: an answer is read, or the server is at fault. */

export const name = 'dns-stream';
export const maxBytes = 80 * 1024;

const query = encodeQuery({ id: 4711, name: 'shop.test', type: 1, edns: true });
const longestMs = 5000;
const server = createAnsweringServer((socket, answer) => {
  const size = 1 + ((answer[0] ?? 0) % 32);
  socket.write(answer.subarray(1, 1 + size));
  socket.end(answer.subarray(1 + size));
});
let answer: Buffer = Buffer.alloc(0);
let tls: Promise<Server> | null = null;

async function startTlsServer(): Promise<Server> {
  const { server: identity } = await usualCertificates();
  const started = createServer({ ...identity, ALPNProtocols: ['http/1.1', 'h2'] }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  });
  started.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  await once(started, 'listening');
  started.unref();
  return started;
}

/** The first byte chooses: a stream (even), HTTP/1.1 (1, 5, …) or HTTP/2 (3, 7, …). */
export async function run(data: Buffer): Promise<void> {
  const kind = data[0] ?? 0;
  const signal = AbortSignal.timeout(longestMs);
  try {
    await (kind % 2 === 0 ? byStream(data, signal) : byHttps(data.subarray(1), kind % 4 === 3, signal));
  } catch (error) {
    if (signal.aborted) throw new Error('the end of the connection is not noticed', { cause: error });
    if (error instanceof DnsMalformed || error instanceof ExchangeError) return;
    refuseBugs(error);
  }
}

async function byStream(data: Buffer, signal: AbortSignal): Promise<void> {
  const socket = connect(await server.answerWith(data), '127.0.0.1');
  await once(socket, 'connect');
  try {
    await exchangeStream(socket, query, signal);
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

async function byHttps(bytes: Buffer, isNew: boolean, signal: AbortSignal): Promise<void> {
  answer = bytes;
  tls ??= startTlsServer();
  const { port } = (await tls).address() as AddressInfo; // it listens on TCP
  const ALPNProtocols = [isNew ? 'h2' : 'http/1.1'];
  const socket: TLSSocket = connectTls({ port, host: '127.0.0.1', ALPNProtocols, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  try {
    const way = { host: 'shop.test', port, path: '/dns-query', query };
    await askByHttps(socket, way, { trace: newTrace(), signal });
  } finally {
    socket.destroy();
  }
}

export const close = async (): Promise<void> => {
  server.close();
  (await tls)?.close();
};

const message = Buffer.from(
  encode({
    type: 'response',
    id: 4711,
    flags: 384,
    questions: [{ type: 'A', name: 'shop.test' }],
    answers: [{ type: 'A', name: 'shop.test', ttl: 60, class: 'IN', data: '10.0.0.1' }],
  }),
);
const head = (length: number, type = 'application/dns-message') =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;
/** A frame of HTTP/2 of stream `id`. */
const frame = (type: number, flags: number, id: number, payload: Buffer): Buffer => {
  const bytes = Buffer.alloc(9);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(id, 5);
  return Buffer.concat([bytes, payload]);
};
// :status 200 of the static table, then content-type as a literal.
const fields = Buffer.concat([Buffer.from([0x88, 0x0f, 0x10, 23]), Buffer.from('application/dns-message')]);

export const seeds = (): Buffer[] => [
  Buffer.concat([Buffer.from([0, 0, message.length]), message]),
  Buffer.concat([Buffer.from([6, 0, message.length + 5]), message]),
  Buffer.concat([Buffer.from([1]), Buffer.from(head(message.length)), message]),
  Buffer.concat([Buffer.from([1]), Buffer.from(head(5, 'text/html; a=b')), Buffer.from('hello')]),
  Buffer.from('\x01HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n'),
  Buffer.concat([
    Buffer.from([3]),
    frame(4, 0, 0, Buffer.alloc(0)),
    frame(4, 1, 0, Buffer.alloc(0)),
    frame(1, 4, 1, fields),
    frame(0, 1, 1, message),
  ]),
];

export const dictionary = [
  '\r\n',
  'HTTP/1.1 200 OK\r\n',
  'transfer-encoding: chunked\r\n\r\n',
  'content-type: application/dns-message\r\n',
  '0\r\n\r\n',
  Buffer.from([0x12, 0x67]),
  frame(3, 0, 1, Buffer.alloc(4)),
  frame(7, 0, 0, Buffer.alloc(8)),
  frame(6, 0, 0, Buffer.alloc(8)),
  frame(5, 4, 1, Buffer.alloc(5)),
];
