import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { classify, isRefusedContent } from '../../../src/agent/link/client.ts';
import { createTransport, type Transport } from '../../../src/agent/link/transport.ts';
import { Secret } from '../../../src/secrets/secret.ts';

let folder: string;
let tls: { key: Buffer; cert: Buffer };
const closing: (() => void)[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'transport-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      key,
      '-out',
      cert,
      ...subject,
    ],
    { stdio: 'ignore' },
  );
  tls = { key: readFileSync(key), cert: readFileSync(cert) };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listen(server: Server | https.Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

const body = async (request: IncomingMessage) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};
const echo: RequestListener = (request, response) => {
  void body(request).then((text) => {
    response.end(JSON.stringify({ url: request.url, text, headers: request.headers }));
  });
};

/** A forward proxy that notes what it was asked. */
async function startProxy(
  status = 200,
): Promise<{ port: number; asked: string[]; authorizations: (string | undefined)[] }> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const note = (request: IncomingMessage) => {
    asked.push(`${request.method} ${request.url}`);
    authorizations.push(request.headers['proxy-authorization']);
  };
  const server = http.createServer((request, response) => {
    note(request);
    const target = new URL(request.url ?? '');
    const onward = http.request(
      {
        host: target.hostname,
        port: target.port,
        path: target.pathname,
        method: request.method ?? '',
        headers: request.headers,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      },
    );
    request.pipe(onward);
  });
  server.on('connect', (request, socket: Socket) => {
    note(request);
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const [host, port] = (request.url ?? '').split(':');
    const onward = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  return { port: await listen(server), asked, authorizations };
}

async function transportTo(
  url: string,
  options: { http?: string; https?: string; noProxy?: string; ca?: string; connectTimeoutMs?: number } = {},
): Promise<Transport> {
  const secret = (value: string | undefined) => (value === undefined ? null : new Secret(value));
  const transport = await createTransport({
    serviceUrl: new URL(url),
    proxy: {
      httpProxy: secret(options.http),
      httpsProxy: secret(options.https),
      noProxy: options.noProxy ?? '',
    },
    extraCaFile: options.ca ?? null,
    headers: { authorization: 'Bearer key' },
    ...(options.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: options.connectTimeoutMs }),
  });
  closing.push(transport.close);
  return transport;
}

const calmly = { timeoutMs: 10_000, answerBytes: 1_000_000 };
const read = (answer: { body: Buffer }) =>
  JSON.parse(String(answer.body)) as { url: string; text: string; headers: Record<string, string> };

test('straight to the service, below the path of its URL', async () => {
  const port = await listen(http.createServer(echo));
  const answer = await (
    await transportTo(`http://127.0.0.1:${port}/base/`)
  ).post('/agent/v1/hello', '{"ä":1}', calmly);
  expect(answer.status).toBe(200);
  expect(read(answer)).toMatchObject({
    url: '/base/agent/v1/hello',
    text: '{"ä":1}',
    headers: { authorization: 'Bearer key', host: `127.0.0.1:${port}`, 'content-type': 'application/json' },
  });
});

describe('proxies', () => {
  test('an http service is asked in absolute form', async () => {
    const port = await listen(http.createServer(echo));
    const proxy = await startProxy();
    const transport = await transportTo(`http://127.0.0.1:${port}`, {
      http: `http://user:p%40ss@127.0.0.1:${proxy.port}`,
    });
    const answer = read(await transport.post('/agent/v1/hello', '{}', calmly));
    expect(answer).toMatchObject({ url: '/agent/v1/hello', headers: { host: `127.0.0.1:${port}` } });
    expect(proxy.asked).toEqual([`POST http://127.0.0.1:${port}/agent/v1/hello`]);
    expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('user:p@ss').toString('base64')}`]);
  });

  test('an https service is reached through CONNECT, once for several calls', async () => {
    const port = await listen(https.createServer(tls, echo));
    const proxy = await startProxy();
    const transport = await transportTo(`https://localhost:${port}`, {
      https: `http://user:secret@127.0.0.1:${proxy.port}`,
      ca: join(folder, 'cert.pem'),
    });
    for (const text of ['1', '2', '3'])
      expect(read(await transport.post('/x', text, calmly)).text).toBe(text);
    expect(proxy.asked).toEqual([`CONNECT localhost:${port}`]);
    expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('user:secret').toString('base64')}`]);
  });

  test('an https service uses HTTP_PROXY where there is no other', async () => {
    const port = await listen(https.createServer(tls, echo));
    const proxy = await startProxy();
    const options = { http: `http://127.0.0.1:${proxy.port}`, ca: join(folder, 'cert.pem') };
    await (await transportTo(`https://localhost:${port}`, options)).post('/x', '', calmly);
    expect(proxy.asked).toEqual([`CONNECT localhost:${port}`]);
  });

  test('hosts in NO_PROXY are reached without the proxy', async () => {
    const port = await listen(http.createServer(echo));
    const proxy = await startProxy();
    const options = { http: `http://127.0.0.1:${proxy.port}`, noProxy: '127.0.0.1' };
    await (await transportTo(`http://127.0.0.1:${port}`, options)).post('/x', '', calmly);
    expect(proxy.asked).toEqual([]);
  });

  test('a proxy that refuses is trouble that passes', async () => {
    const port = await listen(https.createServer(tls, echo));
    const proxy = await startProxy(407);
    const transport = await transportTo(`https://localhost:${port}`, {
      https: `http://127.0.0.1:${proxy.port}`,
    });
    await expect(transport.post('/x', '', calmly)).rejects.toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      retryable: true,
      message: 'the proxy refused the tunnel with status 407: check the user and password in its URL',
    });
  });
});

test('a proxy that opens the tunnel and then stays silent holds no connection', async () => {
  const sockets = new Set<Socket>();
  const proxy = http.createServer();
  proxy.on('connect', (_request, socket: Socket) => {
    sockets.add(socket);
    socket.on('end', () => sockets.delete(socket)).on('error', () => undefined);
    socket.resume();
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
  });
  const port = await listen(proxy);
  const transport = await transportTo('https://127.0.0.1:1', {
    https: `http://127.0.0.1:${port}`,
    connectTimeoutMs: 300,
  });
  await expect(transport.post('/x', '{}', { ...calmly, timeoutMs: 100 })).rejects.toMatchObject({
    code: 'SERVICE_UNREACHABLE',
  });
  expect(sockets.size).toBe(1);
  await expect.poll(() => sockets.size, { timeout: 5000 }).toBe(0);
});

describe('certificates', () => {
  test('an unknown one is refused, a file of extra ones helps', async () => {
    const port = await listen(https.createServer(tls, echo));
    const unknown = await transportTo(`https://localhost:${port}`);
    await expect(unknown.post('/x', '', calmly)).rejects.toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      retryable: true,
    });
    const known = await transportTo(`https://localhost:${port}`, { ca: join(folder, 'cert.pem') });
    expect(read(await known.post('/x', 'hi', calmly)).text).toBe('hi');
  });

  test('a file that is not there is named', async () => {
    const ca = join(folder, 'nowhere.pem');
    await expect(transportTo('https://localhost:1', { ca })).rejects.toMatchObject({
      code: 'CONFIGURATION',
      exitCode: 78,
      message: expect.stringContaining(`NODE_EXTRA_CA_CERTS: cannot use ${ca}`),
    });
  });
});

describe('bounds', () => {
  test('a response that never arrives', async () => {
    const port = await listen(http.createServer(() => undefined));
    const transport = await transportTo(`http://127.0.0.1:${port}`);
    await expect(transport.post('/x', '', { ...calmly, timeoutMs: 100 })).rejects.toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      message: 'no complete answer within 100 ms',
    });
  });

  test('an answer that drips', async () => {
    const port = await listen(
      http.createServer((_request, response) => {
        const timer = setInterval(() => response.write('x'), 10);
        response.on('close', () => clearInterval(timer));
      }),
    );
    const transport = await transportTo(`http://127.0.0.1:${port}`);
    await expect(transport.post('/x', '', { ...calmly, timeoutMs: 200 })).rejects.toMatchObject({
      message: 'no complete answer within 200 ms',
    });
  });

  test('an answer that is too long', async () => {
    const port = await listen(http.createServer((_request, response) => response.end('x'.repeat(5000))));
    const transport = await transportTo(`http://127.0.0.1:${port}`);
    await expect(transport.post('/x', '', { ...calmly, answerBytes: 4999 })).rejects.toMatchObject({
      message: 'the answer is longer than 4999 bytes',
    });
    expect((await transport.post('/x', '', { ...calmly, answerBytes: 5000 })).body).toHaveLength(5000);
  });

  test('nobody listens', async () => {
    const server = http.createServer();
    const port = await listen(server);
    server.close();
    await new Promise((resolve) => server.once('close', resolve));
    const transport = await transportTo(`http://127.0.0.1:${port}`);
    await expect(transport.post('/x', '', calmly)).rejects.toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('the caller’s signal aborts a call with its reason', async () => {
    const port = await listen(http.createServer(() => undefined));
    const transport = await transportTo(`http://127.0.0.1:${port}`);
    const controller = new AbortController();
    const call = transport.post('/x', '', { ...calmly, signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 50);
    await expect(call).rejects.toThrow('enough');
    await expect(transport.post('/x', '', { ...calmly, signal: controller.signal })).rejects.toThrow(
      'enough',
    );
  });
});

test('a keep-alive connection that the service has closed fails no call', async () => {
  const sockets = new Set<Socket>();
  let calls = 0;
  const server = http.createServer((request, response) => {
    calls += 1;
    if (calls === 2) return request.socket.resetAndDestroy();
    response.end('{}');
  });
  server.on('connection', (socket) => sockets.add(socket));
  const transport = await transportTo(`http://127.0.0.1:${await listen(server)}`);
  await transport.post('/x', '1', calmly);
  expect((await transport.post('/x', '2', calmly)).status).toBe(200);
  expect([calls, sockets.size]).toEqual([3, 2]);
});

describe('response statuses', () => {
  const own = Buffer.from(JSON.stringify({ message: 'no', attributes: {} }));
  const foreign = Buffer.from('<html>no</html>');
  const url = new URL('https://user:pw@service.test:8443/x?y=z');
  const of = (status: number, text: Buffer, headers: Record<string, string> = {}) => {
    const error = classify('results', { status, body: text, headers }, url);
    return 'retryable' in error
      ? [error.code, error.retryable, isRefusedContent(error)]
      : [error.code, error.exitCode];
  };
  test.each([
    [401, own, ['KEY_REFUSED', 77]],
    [401, foreign, ['SERVICE_UNREACHABLE', true, false]],
    [401, Buffer.from('{"message":"no"}'), ['SERVICE_UNREACHABLE', true, false]],
    [401, Buffer.from('{"error":"no","attributes":{}}'), ['SERVICE_UNREACHABLE', true, false]],
    [400, own, ['SERVICE_REFUSED', false, true]],
    [413, own, ['SERVICE_REFUSED', false, true]],
    [422, own, ['SERVICE_REFUSED', false, true]],
    [400, foreign, ['SERVICE_UNREACHABLE', true, false]],
    [413, foreign, ['SERVICE_UNREACHABLE', true, false]],
    [403, own, ['SERVICE_REFUSED', false, false]],
    [404, own, ['SERVICE_REFUSED', false, false]],
    [404, foreign, ['SERVICE_UNREACHABLE', true, false]],
    [408, own, ['SERVICE_REFUSED', true, false]],
    [429, own, ['SERVICE_REFUSED', true, false]],
    [500, own, ['SERVICE_REFUSED', true, false]],
    [502, foreign, ['SERVICE_UNREACHABLE', true, false]],
    [503, own, ['SERVICE_REFUSED', true, false]],
    [301, foreign, ['SERVICE_UNREACHABLE', true, false]],
    [302, Buffer.alloc(0), ['SERVICE_UNREACHABLE', true, false]],
  ])('%d %#', (status, text, expected) => {
    expect(of(status, text)).toEqual(expected);
  });

  test('the line about a refused key shows no password and no path', () => {
    const { message } = classify('hello', { status: 401, body: own, headers: {} }, url);
    expect(message).toBe(
      'API_KEY was refused by https://service.test:8443: set it to an active key of the private location',
    );
  });

  test.each([
    ['3', 3000],
    ['0', undefined],
    ['7200', 60_000],
    ['soon', undefined],
  ])('Retry-After %s', (value, expected) => {
    const error = classify('claim', { status: 503, body: own, headers: { 'retry-after': value } }, url);
    expect('retryAfterMs' in error ? error.retryAfterMs : null).toBe(expected);
  });
});
