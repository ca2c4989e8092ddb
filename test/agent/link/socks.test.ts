import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { connectThroughSocks } from '../../../src/agent/link/socks.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A proxy that answers each message in turn, byte by byte, and notes what it received. */
async function scripted(
  answers: readonly (readonly number[])[],
): Promise<{ port: number; received: Buffer[] }> {
  const received: Buffer[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    let turn = 0;
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      const answer = answers[turn++];
      if (answer === undefined) return;
      if (answer.length === 0) return void socket.destroy();
      const send = (at: number) => {
        if (at < answer.length)
          socket.write(Buffer.from([answer[at] ?? 0]), () => setImmediate(send, at + 1));
      };
      send(0);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, received };
}

const granted = [5, 0, 0, 1, 127, 0, 0, 1, 0x12, 0x34];
const go = (
  port: number,
  host: string,
  options: { scheme?: string; user?: string; timeoutMs?: number } = {},
) =>
  connectThroughSocks({
    proxy: new URL(`${options.scheme ?? 'socks5h'}://${options.user ?? ''}127.0.0.1:${port}`),
    host,
    port: 4400,
    timeoutMs: options.timeoutMs ?? 10_000,
  });

test('user and password are sent as RFC 1929 says, and bytes after the answer belong to the connection', async () => {
  const { port, received } = await scripted([
    [5, 2],
    [1, 0],
    [...granted, 104, 105],
  ]);
  const socket = await go(port, 'service.test', { user: 'me:p%3Aw%25@' });
  const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  expect(first.toString()).toMatch(/^hi?$/);
  expect(received.map((chunk) => chunk.toString('latin1'))).toEqual([
    '\x05\x02\x00\x02',
    '\x01\x02me\x04p:w%',
    '\x05\x01\x00\x03\x0cservice.test\x11\x30',
  ]);
});

test.each([
  ['socks5h', '10.1.2.3', [1, 10, 1, 2, 3]],
  ['socks5h', '2001:db8::1:ff', [4, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0xff]],
  ['socks5h', '::ffff:10.1.2.3', [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3]],
  ['socks5', 'localhost', null],
])('%s sends %s as its kind of address', async (scheme, host, bytes) => {
  const { port, received } = await scripted([[5, 0], granted]);
  await go(port, host, { scheme });
  const address = [...(received[1] ?? [])].slice(3, -2);
  if (bytes === null) expect([1, 4]).toContain(address[0]);
  else expect(address).toEqual(bytes);
});

test.each<[string, number[][], RegExp]>([
  ['another protocol', [[72, 84]], /does not speak SOCKS5/],
  ['a proxy that wants a password', [[5, 0xff]], /requires a user and password/],
  [
    'a refused connection',
    [
      [5, 0],
      [5, 5, 0, 1, 0, 0, 0, 0, 0, 0],
    ],
    /could not connect: connection refused/,
  ],
  [
    'a rule',
    [
      [5, 0],
      [5, 2, 0, 1, 0, 0, 0, 0, 0, 0],
    ],
    /its rules do not allow this/,
  ],
  [
    'an unknown reply',
    [
      [5, 0],
      [5, 77, 0, 1, 0, 0, 0, 0, 0, 0],
    ],
    /reply 77/,
  ],
  ['an end in the middle', [[5, 0], []], /closed the connection/],
])('%s is named', async (_name, answers, message) => {
  const { port } = await scripted(answers);
  await expect(go(port, '10.0.0.1')).rejects.toThrow(message);
});

test('a wrong password is named, and not shown', async () => {
  const { port } = await scripted([
    [5, 2],
    [1, 1],
  ]);
  await expect(go(port, '10.0.0.1', { user: 'me:hidden@' })).rejects.toThrow(
    /^the proxy refused the user and password$/,
  );
});

test('a proxy that is silent is given up', async () => {
  const { port } = await scripted([]);
  await expect(go(port, '10.0.0.1', { timeoutMs: 50 })).rejects.toThrow(/did not answer within 50 ms/);
});
