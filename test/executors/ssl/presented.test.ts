import { once } from 'node:events';
import { X509Certificate } from 'node:crypto';
import { connect } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  createServer,
  TLSSocket,
  type SecureContext,
  type Server,
} from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../../src/durations.ts';
import { contextOf, shake } from '../../../src/executors/ssl/handshake.ts';
import { createPresentedReader } from '../../../src/executors/ssl/presented.ts';
import { closer, listen } from '../../../src/targets/tcp-target.ts';
import { createAuthority } from '../../../src/targets/certificates.ts';

/** Certificates in the order in which a server sends them, without a loss of memory in each handshake. */

const own = TLSSocket.prototype.getPeerX509Certificate;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  TLSSocket.prototype.getPeerX509Certificate = own;
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** Counts the calls that lose the memory of what the server has sent besides its own certificate. */
function countCalls(): { calls: number } {
  const count = { calls: 0 };
  TLSSocket.prototype.getPeerX509Certificate = function counted(this: TLSSocket) {
    count.calls += 1;
    return own.call(this);
  };
  return count;
}

async function startServer(): Promise<{
  port: number;
  show: (pem: string) => void;
  leaf: string;
  issuer: string;
  other: string;
}> {
  const authority = await createAuthority({ commonName: 'the issuer' });
  const stranger = await createAuthority({ commonName: 'a stranger' });
  const { cert, key } = await authority.issue({
    commonName: 'shop.test',
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + 90 * dayMs),
  });
  let context: SecureContext = createSecureContext({ cert, key });
  const server: Server = createServer({ SNICallback: (_name, done) => done(null, context) });
  server.on('secureConnection', (socket) => socket.on('error', () => socket.destroy()).resume());
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  closers.push(closer(server));
  return {
    port: await listen(server, {}),
    show: (pem) => void (context = createSecureContext({ cert: pem, key })),
    leaf: cert,
    issuer: authority.certificate.cert,
    other: stranger.certificate.cert,
  };
}

async function presented(port: number): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const shown = await shake(socket, {
    serverName: 'shop.test',
    context: contextOf(null),
    signal: AbortSignal.timeout(10_000),
  });
  return shown.presented.map((raw) => new X509Certificate(raw).subject);
}

const names = { leaf: 'CN=shop.test', issuer: 'CN=the issuer', other: 'CN=a stranger' };

test('the exact list is read once for each chain of a server, and is right for each handshake', async () => {
  const server = await startServer();
  const count = countCalls();
  server.show(server.leaf + server.issuer);
  for (let round = 0; round < 5; round++)
    expect(await presented(server.port)).toEqual([names.leaf, names.issuer]);
  expect(count.calls).toBe(1);
  server.show(server.leaf);
  for (let round = 0; round < 3; round++) expect(await presented(server.port)).toEqual([names.leaf]);
  expect(count.calls).toBe(2);
  server.show(server.leaf + server.issuer);
  expect(await presented(server.port)).toEqual([names.leaf, names.issuer]);
  expect(count.calls).toBe(2);
});

test('what does not belong to the chain is kept, in its place', async () => {
  const server = await startServer();
  server.show(server.leaf + server.other + server.issuer);
  for (let round = 0; round < 2; round++)
    expect(await presented(server.port)).toEqual([names.leaf, names.other, names.issuer]);
});

/** A reader with a clock of its own, and the number of certificates that it finds. */
function readerOf(port: number): { clock: { now: number }; readOnce: () => Promise<number> } {
  const clock = { now: 0 };
  const read = createPresentedReader(() => clock.now);
  const readOnce = async (): Promise<number> => {
    const secure = connectTls({
      socket: connect(port, '127.0.0.1'),
      servername: 'shop.test',
      rejectUnauthorized: false,
    });
    await once(secure, 'secureConnect');
    const { length } = read(secure, 'shop.test');
    secure.destroy();
    return length;
  };
  return { clock, readOnce };
}

test('the exact list is read again after a day', async () => {
  const server = await startServer();
  server.show(server.leaf + server.issuer);
  const { clock, readOnce } = readerOf(server.port);
  const count = countCalls();
  expect([await readOnce(), await readOnce()]).toEqual([2, 2]);
  expect(count.calls).toBe(1);
  clock.now = dayMs + 1;
  expect([await readOnce(), await readOnce()]).toEqual([2, 2]);
  expect(count.calls).toBe(2);
});

test('a list with a certificate too many is read again after minutes, so that its repair is noticed', async () => {
  const server = await startServer();
  server.show(server.leaf + server.issuer + server.other);
  const { clock, readOnce } = readerOf(server.port);
  expect([await readOnce(), await readOnce()]).toEqual([3, 3]);
  server.show(server.leaf + server.issuer);
  clock.now = 5 * minuteMs + 1;
  expect(await readOnce()).toBe(2);
});
