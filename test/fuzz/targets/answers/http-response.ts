import { connect } from 'node:net';
import { once } from 'node:events';
import { exchange, type Received } from '../../../../src/executors/http/exchange.ts';
import { startPhases } from '../../../../src/executors/http/phases.ts';
import { createAnsweringServer } from '../../engine/answering-server.ts';

/** Whole HTTP/1.1 answers of a target, over a real connection: an answer is read or the attempt fails. */

export const name = 'http-response';
export const maxBytes = 32 * 1024;

const limit = 16 * 1024;
const server = createAnsweringServer((socket, answer) => socket.end(answer));

/** Throws if more is kept than the limit, or if an answer leads to an error that is none of the library's. */
export async function run(data: Buffer): Promise<void> {
  const port = await server.answerWith(data);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let received: Received | null = null;
  try {
    await exchange(
      socket,
      { origin: `http://127.0.0.1:${port}`, path: '/', method: 'GET', headers: [], body: null },
      {
        intake: { limit, keep: true, wantsBody: () => true },
        record: startPhases(),
        signal: new AbortController().signal,
        onHead: (head) => (received = head),
      },
    );
  } catch (error) {
    if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) throw error;
  }
  const kept = (received as Received | null)?.chunks.reduce((sum, chunk) => sum + chunk.length, 0) ?? 0; // set by a callback
  if (kept > limit) throw new Error(`kept ${kept} bytes`);
}

export const close = (): void => server.close();

export const seeds = (): string[] => [
  'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\ntrailer: a\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 302 Found\r\nlocation: /x\r\nset-cookie: a=b\r\n\r\n',
  'HTTP/1.0 204 No Content\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
];

export const dictionary = [
  '\r\n',
  '\n',
  ': ',
  'HTTP/1.1 ',
  'HTTP/2 ',
  '100 ',
  '304 ',
  'content-length: ',
  'transfer-encoding: chunked',
  'connection: close',
  'keep-alive',
  '\r\n\r\n',
  '0\r\n\r\n',
  'ffffffff\r\n',
  '\0',
];
