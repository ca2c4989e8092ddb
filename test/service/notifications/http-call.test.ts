import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { callTarget, type Call, type Calling } from '../../../src/service/notifications/http-call.ts';
import { kindOfAddress, type AddressKind } from '../../../src/addresses/address-kind.ts';
import { startReceiver, type Receiver, type Received } from '../../helpers/service/notification-targets.ts';

/** Calls of notifications to targets that are slow, down, redirect, or are where nothing may go. */

const open: { close: () => Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function receiver(...options: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...options);
  open.push(started);
  return started;
}

/** For tests this machine's first address is the internet, and the others are the own network. */
const kindOf = (address: string): AddressKind =>
  address === '127.0.0.1' ? 'public' : kindOfAddress(address);
const calling: Calling = { privateTargets: 'allow', kindOf, timeoutMs: 5000 };
const never = new AbortController().signal;

const post = (url: string, fields: Partial<Call> = {}): Call => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'text/plain', authorization: 'secret' },
  ownHeaders: ['authorization'],
  body: 'told',
  ...fields,
});
const go = (call: Call, options: Partial<Calling> = {}) =>
  callTarget(call, { ...calling, ...options }, never);
const redirectTo =
  (status: number, location: string) =>
  (_request: Received, response: { writeHead: Function; end: Function }) => {
    response.writeHead(status, { location });
    response.end();
  };

test.each<[address: string, kind: AddressKind]>([
  ['93.184.216.34', 'public'],
  ['2606:4700::1111', 'public'],
  ['127.0.0.1', 'private'],
  ['10.1.2.3', 'private'],
  ['192.168.1.1', 'private'],
  ['172.16.0.1', 'private'],
  ['100.64.0.1', 'private'],
  ['0.0.0.0', 'private'],
  ['::1', 'private'],
  ['::', 'private'],
  ['fd12:3456::1', 'private'],
  ['::ffff:10.0.0.1', 'private'],
  ['64:ff9b::a00:1', 'private'],
  ['169.254.169.254', 'never'],
  ['::ffff:169.254.169.254', 'never'],
  ['fe80::1', 'never'],
  ['fd00:ec2::254', 'never'],
  ['100.100.100.200', 'never'],
  ['224.0.0.1', 'never'],
  ['255.255.255.255', 'never'],
  ['nonsense', 'never'],
])('%s is %s', (address, kind) => {
  expect(kindOfAddress(address)).toBe(kind);
});

test('a call is made once, and returns the part of the response that was read', async () => {
  const target = await receiver((_request, response) => response.end(`yes${'x'.repeat(1_000_000)}`));
  const outcome = await go(post(`${target.url}/path?a=b`));
  expect(outcome).toEqual({ delivered: true, result: expect.stringMatching(/^HTTP 200: yesx+$/) });
  expect(outcome.result.length).toBeLessThan(4200);
  expect(target.received).toEqual([
    expect.objectContaining({ method: 'POST', path: '/path?a=b', body: 'told' }),
  ]);
});

test.each([400, 404, 429, 500, 503])('status %i is no delivery, and is tried again', async (status) => {
  const target = await receiver((_request, response) => response.writeHead(status).end('no'));
  expect(await go(post(target.url))).toEqual({ delivered: false, result: `HTTP ${status}: no`, retry: true });
});

test('a target that is down, unknown or silent', async () => {
  const gone = await receiver();
  await gone.close();
  expect(await go(post(gone.url))).toEqual({
    delivered: false,
    result: expect.stringContaining('ECONNREFUSED'),
    retry: true,
  });
  expect(await go(post('http://nowhere.invalid/'))).toMatchObject({ delivered: false, retry: true });
  const silent = await receiver(() => undefined);
  expect(await go(post(silent.url), { timeoutMs: 200 })).toEqual({
    delivered: false,
    result: 'no answer within 0.2 s',
    retry: true,
  });
});

test('a header that trickles does not hold up longer than the limit; a body that does was delivered', async () => {
  const sockets = new Set<Socket>();
  const trickling = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write('x-a: b\r\n'), 50);
    socket.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => trickling.listen(0, '127.0.0.1', resolve));
  open.push({
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => trickling.close(resolve));
    },
  });
  const { port } = trickling.address() as AddressInfo; // it listens on TCP
  const url = `http://127.0.0.1:${port}/`;
  expect(await go(post(url), { timeoutMs: 300 })).toMatchObject({ delivered: false, retry: true });
  const slow = await receiver((_request, response) => {
    response.write('first');
  });
  expect(await go(post(slow.url), { timeoutMs: 300 })).toEqual({
    delivered: true,
    result: 'HTTP 200: first',
  });
});

test('follows redirects: 307 and 308 repeat the request, the others use GET', async () => {
  const end = await receiver();
  for (const [status, method, body] of [
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'told'],
    [308, 'POST', 'told'],
  ] as const) {
    const start = await receiver(redirectTo(status, `${end.url}/end`));
    const signature = { header: 'x-signature', of: (sent: string) => `over ${sent}` };
    const outcome = await go(post(start.url, { signature }));
    expect(outcome).toEqual({ delivered: true, result: `HTTP 200 from ${end.url}, after a redirect: ok` });
    const got = end.received.at(-1)!;
    // What only the first host may know stays there.
    expect([got.method, got.body, got.headers.authorization]).toEqual([method, body, undefined]);
    expect(start.received[0]!.headers.authorization).toBe('secret');
    expect(start.received[0]!.headers['x-signature']).toBe('over told');
    expect(got.headers['x-signature']).toBe(`over ${body}`.trim());
    expect(got.headers['content-type']).toBe(body === '' ? undefined : 'text/plain');
  }
});

test('at most three redirects', async () => {
  let count = 0;
  const target: Receiver = await receiver((_request, response) => {
    count += 1;
    redirectTo(307, `/${count}`)(_request, response);
  });
  expect(await go(post(target.url))).toEqual({
    delivered: false,
    result: 'redirected more than 3 times',
    retry: false,
  });
  expect(count).toBe(4);
});

test.each([
  'http://127.0.0.2:PORT/',
  'http://localhost:PORT/',
  'http://[::1]:PORT/',
  'http://2130706434:PORT/',
  'http://169.254.169.254/latest',
  'http://0.0.0.0:PORT/',
])('a redirect to %s, which is inside, is not followed', async (location) => {
  // The name of this machine is its second address here.
  const inside = await receiver(undefined, '127.0.0.2');
  const strict = (address: string): AddressKind => kindOf(address);
  const start = await receiver(redirectTo(307, location.replace('PORT', String(inside.port))));
  const outcome = await go(post(start.url), {
    kindOf: location.includes('localhost')
      ? (address) => (start.received.length > 0 ? 'private' : strict(address))
      : strict,
  });
  expect(outcome).toEqual({
    delivered: false,
    result: expect.stringMatching(
      /is an internal address, and redirects to internal addresses are not followed/,
    ),
    retry: false,
  });
  expect(inside.received).toEqual([]);
});

test.each(['file:///etc/passwd', 'ftp://127.0.0.1/', 'http://', 'http://a:b:c/'])(
  'a redirect to %s is not followed',
  async (location) => {
    const start = await receiver(redirectTo(302, location));
    expect(await go(post(start.url))).toMatchObject({ delivered: false, retry: false });
  },
);

test('private addresses are refused if so configured, and special addresses always', async () => {
  const inside = await receiver(undefined, '127.0.0.2');
  expect(await go(post(inside.url))).toMatchObject({ delivered: true });
  for (const url of [inside.url, `http://localhost:${inside.port}`]) {
    expect(await go(post(url), { privateTargets: 'refuse', kindOf: kindOfAddress })).toEqual({
      delivered: false,
      result: expect.stringMatching(/which NOTIFICATION_PRIVATE_TARGETS=refuse does not allow$/),
      retry: false,
    });
  }
  expect(await go(post('http://169.254.169.254/latest/meta-data'))).toEqual({
    delivered: false,
    result: '169.254.169.254 is an address to which notifications are never sent',
    retry: false,
  });
  expect(inside.received).toHaveLength(1);
});

test('a stop of the service is not a failure of the target', async () => {
  const silent = await receiver(() => undefined);
  const ending = new AbortController();
  const called = callTarget(post(silent.url), calling, ending.signal);
  setTimeout(() => ending.abort(), 50);
  await expect(called).rejects.toThrow();
});
