import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGuardingProxy, type GuardingProxy } from '../../../src/service/agentic/guarding-proxy.ts';

/** What a browser asks the proxy for, as it asks. */

let shop: Server;
let host = '';
let proxy: GuardingProxy;

beforeAll(async () => {
  shop = createServer((incoming, response) => response.end(`${incoming.method} ${incoming.url}`));
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(shop.address() as AddressInfo).port}`; // it listens on TCP
  proxy = await startGuardingProxy();
});
afterAll(async () => {
  await proxy.close();
  shop.closeAllConnections();
  await new Promise((resolve) => shop.close(resolve));
});

async function get(url: string): Promise<string> {
  const { hostname, port } = new URL(proxy.url);
  const sent = request({ host: hostname, port, path: url, agent: false }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return `${answer.statusCode} ${Buffer.concat(chunks).toString()}`;
}

async function tunnel(authority: string): Promise<string> {
  const { hostname, port } = new URL(proxy.url);
  const sent = request({ host: hostname, port, method: 'CONNECT', path: authority, agent: false }).end();
  const [answer, socket] = (await once(sent, 'connect')) as [IncomingMessage, Socket];
  if (answer.statusCode !== 200) {
    socket.destroy();
    return String(answer.statusCode);
  }
  socket.end('GET /inside HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n');
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return `200 ${Buffer.concat(chunks).toString().split('\r\n\r\n')[1] ?? ''}`;
}

test('requests and tunnels reach their target', async () => {
  expect(await get(`http://${host}/a?b=c`)).toBe('200 GET /a?b=c');
  expect(await tunnel(host)).toBe('200 GET /inside');
});

test.each([
  'http://169.254.169.254/latest',
  'http://[fd00:ec2::254]/latest',
  'http://[::ffff:169.254.169.254]/',
  'http://100.100.100.200/',
  'ftp://127.0.0.1/',
  '/relative',
  'http://',
])('%s is refused', async (url) => {
  expect(await get(url)).toMatch(/^502 /);
});

test.each(['169.254.169.254:80', '[fd00:ec2::254]:443', '127.0.0.1', '127.0.0.1:0', '127.0.0.1:70000'])(
  'a tunnel to %s is refused',
  async (authority) => {
    expect(await tunnel(authority)).toBe('502');
  },
);
