import { once } from 'node:events';
import { connect } from 'node:net';
import { maxResponseBytes, readResponse } from '../../../../src/executors/tcp/read.ts';
import { createAnsweringServer } from '../../engine/answering-server.ts';

/** Answers to TCP checks, over real connections: what was sent is read, up to the limit. */

export const name = 'tcp-response';
export const maxBytes = 100 * 1024;

const server = createAnsweringServer((socket, answer) => {
  const size = 1 + (answer[0] ?? 0) * 37;
  socket.write(answer.subarray(1, 1 + size));
  socket.end(answer.subarray(1 + size));
});

/** The first byte sets the size of the first piece. Throws if other bytes are read than were sent. */
export async function run(data: Buffer): Promise<void> {
  const port = await server.answerWith(data);
  for (const enough of [null, (seen: Buffer) => seen.includes('END')]) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('hello');
    const { data: read, ended } = await readResponse(socket, {
      signal: new AbortController().signal,
      enough,
    });
    socket.on('error', () => undefined).destroy();
    const sent = data.subarray(1, 1 + maxResponseBytes);
    if (!sent.subarray(0, read.length).equals(read)) throw new Error('other bytes than were sent');
    if (ended === 'closed' && read.length !== sent.length) throw new Error(`${read.length} bytes are read`);
  }
}

export const close = (): void => server.close();

export const seeds = (): (string | Buffer)[] => [
  '\x00hello',
  '\x01+PONG\r\nEND',
  Buffer.concat([Buffer.from([255]), Buffer.alloc(70_000, 'x')]),
];

export const dictionary = ['END', '\r\n', '\0', Buffer.alloc(1024, 'y')];
