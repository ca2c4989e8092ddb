import { once } from 'node:events';
import { connect } from 'node:net';
import { connectThroughSocks } from '../../../../src/agent/link/socks.ts';
import { HttpFailure } from '../../../../src/executors/http/failures.ts';
import { openTunnel, parseProxy } from '../../../../src/executors/http/proxy.ts';
import { createAnsweringServer } from '../../engine/answering-server.ts';

/** Answers of proxies, over real connections: SOCKS5 for the agent's own traffic and CONNECT for checks. */

export const name = 'proxy-answers';
export const maxBytes = 20 * 1024;

const server = createAnsweringServer((socket, answer) => {
  // In the pieces that the first byte gives, so that an answer is cut at any place.
  const size = 1 + ((answer[0] ?? 0) % 32);
  socket.write(answer.subarray(1, 1 + size));
  socket.end(answer.subarray(1 + size));
});

/** Throws if an answer is neither taken nor refused. */
export async function run(data: Buffer): Promise<void> {
  const port = await server.answerWith(data);
  const user = (data[0] ?? 0) > 127 ? 'user:password@' : '';
  const way = { host: 'shop.test', port: 443, timeoutMs: 5000 };
  try {
    const socket = await connectThroughSocks({
      ...way,
      proxy: new URL(`socks5h://${user}127.0.0.1:${port}`),
    });
    socket.on('error', () => undefined).destroy();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) throw error;
    if (/within/.test(error.message))
      throw new Error('the answer is waited for after its end', { cause: error });
  }
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    const proxy = parseProxy(`http://${user}127.0.0.1:${port}`);
    await openTunnel(socket, { host: 'shop.test', port: 443, proxy, signal: new AbortController().signal });
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

export const close = (): void => server.close();

export const seeds = (): Buffer[] =>
  [
    [9, 5, 0, 5, 0, 0, 1, 10, 0, 0, 1, 0, 80, 65, 66],
    [1, 5, 0, 5, 0, 0, 4, ...Buffer.alloc(16), 0, 80],
    [1, 5, 0, 5, 0, 0, 3, 4, 97, 98, 99, 100, 0, 80],
    [200, 5, 2, 1, 0, 5, 0, 0, 1, 10, 0, 0, 1, 0, 80],
    [200, 5, 2, 1, 1],
    [1, 5, 255],
    [1, 5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0],
    [20, ...Buffer.from('HTTP/1.1 200 Connection established\r\nx: y\r\n\r\nrest')],
    [7, ...Buffer.from('HTTP/1.0 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n')],
  ].map((bytes) => Buffer.from(bytes));

export const dictionary = [
  'HTTP/1.1 ',
  '\r\n\r\n',
  ' 407 ',
  ' 200',
  Buffer.from([5, 0]),
  Buffer.from([5, 2]),
];
