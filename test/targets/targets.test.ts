import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleDocument } from '../../src/targets/http-routes.ts';
import { startTargets, type Targets } from '../../src/targets/targets.ts';

let targets: Targets;
beforeAll(async () => {
  targets = await startTargets({ routes: { mine: ({ response }) => void response.end('mine') } });
});
afterAll(() => targets.close());

const get = (path: string, init?: RequestInit) =>
  fetch(targets.http.url + path, { redirect: 'manual', ...init });

describe('the HTTP target', () => {
  test('answers, counts, and knows its own routes', async () => {
    const before = targets.http.requests();
    const ok = await get('/ok');
    expect([ok.status, await ok.text()]).toEqual([200, 'ok\n']);
    expect((await get('/status/418')).status).toBe(418);
    expect((await get('/status/204')).status).toBe(204);
    expect((await get('/status/700')).status).toBe(404);
    expect((await get('/nowhere')).status).toBe(404);
    expect(await (await get('/mine')).text()).toBe('mine');
    expect(await (await get('/json')).json()).toEqual(sampleDocument);
    expect(targets.http.requests() - before).toBe(7);
  });

  test('/flaky fails every third request', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 7; index += 1) statuses.push((await get('/flaky?name=a')).status);
    expect(statuses).toEqual([200, 200, 503, 200, 200, 503, 200]);
  });

  test('/slow and /drip take their time', async () => {
    const started = performance.now();
    const [slow, drip] = await Promise.all([get('/slow?ms=120'), get('/drip?bytes=4&ms=120')]);
    expect([slow.status, await drip.text()]).toEqual([200, '....']);
    expect(performance.now() - started).toBeGreaterThanOrEqual(115);
  });

  test('/echo returns the request', async () => {
    const response = await get('/echo?a=1', { method: 'POST', body: 'hello', headers: { 'x-mine': 'yes' } });
    expect(await response.json()).toMatchObject({
      method: 'POST',
      path: '/echo?a=1',
      query: { a: '1' },
      httpVersion: '1.1',
      headers: { 'x-mine': 'yes' },
      body: 'hello',
    });
  });

  test('/redirect/{n} takes n steps to /ok', async () => {
    expect((await get('/redirect/3')).headers.get('location')).toBe('/redirect/2');
    expect((await get('/redirect/1')).headers.get('location')).toBe('/ok');
    const end = await get('/redirect/3', { redirect: 'follow' });
    expect([new URL(end.url).pathname, await end.text()]).toEqual(['/ok', 'ok\n']);
  });

  test.each(['gzip', 'deflate', 'br'])('/%s is compressed so', async (encoding) => {
    const response = await get(`/${encoding}`);
    expect(response.headers.get('content-encoding')).toBe(encoding);
    expect(await response.json()).toEqual(sampleDocument);
  });

  test('/large has the requested size', async () => {
    expect((await (await get('/large?bytes=300000')).arrayBuffer()).byteLength).toBe(300_000);
  });

  test('/reset breaks the connection, /never waits for the client to go', async () => {
    await expect(get('/reset')).rejects.toThrow();
    const abort = new AbortController();
    const never = get('/never', { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('enough')), 50);
    await expect(never).rejects.toThrow('enough');
  });

  test('a client that leaves in the middle leaves no wait behind', async () => {
    const request = httpRequest(`${targets.http.url}/slow?ms=100000`);
    request.on('error', () => undefined);
    request.end();
    await once(request, 'socket');
    await new Promise((resolve) => setTimeout(resolve, 50));
    request.destroy();
    expect((await get('/ok')).status).toBe(200);
  });
});

describe('the HTTPS targets', () => {
  const secure = (url: string, options: RequestOptions = {}) =>
    new Promise<number | string>((resolve) => {
      httpsRequest(url, { ca: targets.caCertificate, agent: false, ...options }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
        .end();
    });

  test('each certificate is valid or has its own fault', async () => {
    expect({
      valid: await secure(`${targets.https.valid.url}/ok`),
      localhost: await secure(`https://localhost:${targets.https.valid.port}/ok`, { family: 4 }),
      untrusted: await secure(`${targets.https.valid.url}/ok`, { ca: [] }),
      expired: await secure(`${targets.https.expired.url}/ok`),
      wrongHost: await secure(`${targets.https.wrongHost.url}/ok`),
      selfSigned: await secure(`${targets.https.selfSigned.url}/ok`),
    }).toEqual({
      valid: 200,
      localhost: 200,
      untrusted: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      expired: 'CERT_HAS_EXPIRED',
      wrongHost: 'ERR_TLS_CERT_ALTNAME_INVALID',
      selfSigned: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
  });

  test('the certificate has its names, issuer and expiry', async () => {
    const socket = tlsConnect({
      host: '127.0.0.1',
      port: targets.https.valid.port,
      ca: targets.caCertificate,
    });
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    expect(certificate?.subject).toBe('CN=localhost');
    expect(certificate?.issuer).toBe('CN=Sample targets');
    expect(certificate?.subjectAltName).toBe(
      'IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:localhost',
    );
    const daysLeft = (Date.parse(certificate?.validTo ?? '') - Date.now()) / 86_400_000;
    expect(daysLeft).toBeGreaterThan(89.9);
    expect(daysLeft).toBeLessThan(90.1);
  });

  test('HTTP/2 is spoken with who asks for it', async () => {
    const session = http2Connect(targets.https.valid.url, { ca: targets.caCertificate });
    const fetchBody = async (path: string) => {
      const stream = session.request({ ':path': path });
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      let body = '';
      for await (const part of stream.setEncoding('utf8')) body += part;
      return { status: headers[':status'], body };
    };
    expect(await fetchBody('/ok')).toEqual({ status: 200, body: 'ok\n' });
    expect(await fetchBody('/drip?bytes=3&ms=10')).toEqual({ status: 200, body: '...' });
    expect((await fetchBody('/large?bytes=200000')).body).toHaveLength(200_000);
    expect(JSON.parse((await fetchBody('/echo')).body)).toMatchObject({ method: 'GET', httpVersion: '2.0' });
    session.close();
  });
});

describe('the TCP targets', () => {
  const open = async (port: number): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };

  test('echo, banner, silent and closing do as they are called', async () => {
    const echo = await open(targets.tcp.echo.port);
    echo.write('hello');
    expect(String((await once(echo, 'data'))[0])).toBe('hello');
    echo.destroy();

    const banner = await open(targets.tcp.banner.port);
    expect(String((await once(banner, 'data'))[0])).toBe('220 sample ready\r\n');
    banner.write('NOOP\r\n');
    expect(String((await once(banner, 'data'))[0])).toBe('250 ok\r\n');
    banner.destroy();

    const closing = await open(targets.tcp.closing.port);
    closing.resume();
    await once(closing, 'end');

    const silent = await open(targets.tcp.silent.port);
    let heard = 0;
    silent.on('data', () => (heard += 1));
    silent.write('anybody?');
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect([heard, silent.destroyed]).toEqual([0, false]);
    silent.destroy();
  });
});

test('closing drops open connections and frees the ports; ports can be chosen', async () => {
  const first = await startTargets();
  const socket = connect(first.tcp.silent.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.resume();
  const ended = once(socket, 'close');
  await first.close();
  await ended;
  await first.close();
  const second = await startTargets({ ports: first.ports });
  expect(second.ports).toEqual(first.ports);
  await expect(startTargets({ ports: { dns: first.ports.dns } })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  await second.close();
});
