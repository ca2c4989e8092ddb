import http, { type Server } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { createTransport, type StreamedCall, type Transport } from '../../../src/agent/link/transport.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { makeCertificate } from '../../helpers/network/dns-server.ts';

/** Streams, and proxies that behave badly. */

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listen(server: Server | https.Server | net.Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port; // it listens on a TCP port
}

async function transportTo(url: string, proxy: { http?: string; https?: string } = {}): Promise<Transport> {
  const transport = await createTransport({
    serviceUrl: new URL(url),
    proxy: {
      httpProxy: proxy.http === undefined ? null : new Secret(proxy.http),
      httpsProxy: proxy.https === undefined ? null : new Secret(proxy.https),
      noProxy: '',
    },
    extraCaFile: null,
    headers: { authorization: 'Bearer key' },
  });
  closing.push(transport.close);
  return transport;
}

const calmly = { timeoutMs: 10_000, answerBytes: 1_000_000 };
const upload = (body: Readable, more: Partial<StreamedCall> = {}): StreamedCall => ({
  method: 'PUT',
  path: '/file',
  headers: {},
  body,
  idleMs: 10_000,
  answerBytes: 1000,
  signal: new AbortController().signal,
  ...more,
});

test('an upload arrives complete', async () => {
  const parts = Array.from({ length: 40 }, (_, index) => Buffer.alloc(100_000, index));
  const server = http.createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => response.end(`${bytes} ${request.headers['content-length']}`));
  });
  const transport = await transportTo(`http://127.0.0.1:${await listen(server)}`);
  const body = Readable.from(parts, { objectMode: false });
  const answer = await transport.send(upload(body, { headers: { 'content-length': 4_000_000 } }));
  expect(String(answer.body)).toBe('4000000 4000000');
  expect(body.destroyed).toBe(true);
});

test('a response before the end of an upload is used, and the rest is not sent', async () => {
  const server = http.createServer((_request, response) => response.writeHead(413).end('too much'));
  const transport = await transportTo(`http://127.0.0.1:${await listen(server)}`);
  const body = new Readable({ read: () => undefined });
  body.push('the first part');
  const answer = await transport.send(upload(body));
  expect([answer.status, String(answer.body)]).toEqual([413, 'too much']);
  expect(body.destroyed).toBe(true);
});

test('a stalled call is aborted', async () => {
  const transport = await transportTo(`http://127.0.0.1:${await listen(http.createServer(() => undefined))}`);
  const body = new Readable({ read: () => undefined });
  await expect(transport.send(upload(body, { idleMs: 50 }))).rejects.toMatchObject({
    code: 'SERVICE_UNREACHABLE',
    message: 'no progress for 50 ms',
  });
  expect(body.destroyed).toBe(true);
});

test('a body that fails fails the call', async () => {
  const transport = await transportTo(`http://127.0.0.1:${await listen(http.createServer(() => undefined))}`);
  const body = new Readable({ read: () => body.destroy(new Error('the disk is gone')) });
  await expect(transport.send(upload(body))).rejects.toMatchObject({
    code: 'SERVICE_UNREACHABLE',
    message: 'the disk is gone',
  });
});

test('the caller aborts a call before it is connected', async () => {
  // A proxy that says nothing: the tunnel is never open.
  let asked = () => undefined as void;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  const port = await listen(http.createServer().on('connect', () => asked()));
  const transport = await transportTo('https://service.test', { https: `http://127.0.0.1:${port}` });
  const controller = new AbortController();
  const call = transport.post('/x', '{}', { ...calmly, signal: controller.signal });
  await isAsked;
  controller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
});

test('a proxy that closes each connection is asked once for a call', async () => {
  let asked = 0;
  const server = net.createServer((socket) => {
    socket.once('data', () => {
      asked += 1;
      socket.end();
    });
  });
  const transport = await transportTo('https://service.test', {
    https: `http://127.0.0.1:${await listen(server)}`,
  });
  await expect(transport.post('/x', '{}', calmly)).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
  expect(asked).toBe(1);
});

test('a fresh connection that the service resets costs one call, for it may have arrived', async () => {
  let calls = 0;
  const server = http.createServer((request) => {
    calls += 1;
    request.socket.resetAndDestroy();
  });
  const transport = await transportTo(`http://127.0.0.1:${await listen(server)}`);
  await expect(transport.post('/x', '1', calmly)).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
  expect(calls).toBe(1);
});

test('an http service behind an https proxy is asked in absolute form, and TLS names the proxy', async () => {
  const names: string[] = [];
  const server = https.createServer({
    ...makeCertificate(),
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  });
  const port = await listen(server);
  const transport = await transportTo('http://service.test', { http: `https://localhost:${port}` });
  // Node itself reads NODE_EXTRA_CA_CERTS for proxies; here nobody has, so the handshake fails after the name was sent.
  await expect(transport.post('/x', '{}', calmly)).rejects.toMatchObject({
    message: expect.stringContaining('self-signed certificate'),
  });
  expect(names).toEqual(['localhost']);
});
