import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { executeApi } from '../../../src/executors/api.ts';
import { defaultSecureContext } from '../../../src/executors/http/tls.ts';
import { executeUrl } from '../../../src/executors/url.ts';
import { createAuthority, type Certificate } from '../../../src/targets/certificates.ts';
import {
  apiJob,
  listening,
  rawServer,
  startTestNetwork,
  sumOfPhases,
  testContext,
  urlJob,
  variable,
} from '../../helpers/network/http.ts';
import type { Running, TestNetwork } from '../../helpers/network/http.ts';
import { hasIpv6Loopback } from '../../helpers/machine.ts';

let target: Running;
let secure: Running;
let names: TestNetwork;
let certificate: Certificate;
const running: Running[] = [];
const asked: { line: string; headers: NodeJS.Dict<string | string[]> }[] = [];

beforeAll(async () => {
  names = await startTestNetwork({ 'proxy.test': ['127.0.0.1'] });
  const authority = await createAuthority({ commonName: 'Proxy Authority' });
  certificate = await authority.issue({
    commonName: 'localhost',
    names: ['localhost', '127.0.0.1', '::1', 'proxy.test', 'inside.test'],
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + 86_400_000),
  });
  // What NODE_EXTRA_CA_CERTS does for a process at its start.
  const { context } = defaultSecureContext() as { context: { addCACert: (pem: string) => void } };
  context.addCACert(authority.certificate.cert);
  target = await listening(
    createServer((request, response) => response.end(`plain ${request.headers.host} ${request.url}`)),
  );
  secure = await listening(createHttpsServer(certificate, (_request, response) => response.end('secure')));
});
afterAll(async () => {
  await target.close();
  await secure.close();
  await names.close();
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
  asked.length = 0;
  names.asked.length = 0;
});

/** A forward proxy to the two targets, whatever host is asked for. */
function serveAsProxy(server: Server): Promise<Running> {
  server.on('request', (request: IncomingMessage, response) => {
    asked.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    const { pathname, host } = new URL(request.url ?? '');
    httpRequest({ port: target.port, path: pathname, headers: { host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    }).end();
  });
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    asked.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    const out = connect(secure.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n');
      out.pipe(socket).pipe(out);
    });
    out.on('error', () => socket.destroy());
    socket.on('error', () => out.destroy()).on('close', () => out.destroy());
  });
  return listening(server).then((server_) => {
    running.push(server_);
    return server_;
  });
}

const context = (signal?: AbortSignal) =>
  testContext({ network: names.network, ...(signal === undefined ? {} : { signal }) });

test('http in absolute form, the target never resolved', async () => {
  const proxy = await serveAsProxy(createServer());
  const outcome = await executeApi(
    apiJob(
      { url: 'http://inside.test/path?x=1#part' },
      { proxyUrl: `http://us%40er:p%3Aw@127.0.0.1:${proxy.port}` },
    ),
    context(),
  );
  expect(outcome.base).toEqual({ ok: true });
  expect(outcome.details['response']).toMatchObject({ body: 'plain inside.test /path' });
  expect(asked).toEqual([
    {
      line: 'GET http://inside.test/path?x=1',
      headers: expect.objectContaining({
        host: 'inside.test',
        'proxy-authorization': `Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
      }),
    },
  ]);
  expect(names.asked).toEqual([]);
  expect(outcome.timings).not.toHaveProperty('tunnel');
  expect(JSON.stringify(outcome)).not.toContain('p%3Aw');
  expect(JSON.stringify(outcome.details)).not.toContain(Buffer.from('us@er:p:w').toString('base64'));
});

test('https through CONNECT with a phase of its own, the target never resolved', async () => {
  const proxy = await serveAsProxy(createServer());
  const outcome = await executeUrl(
    urlJob({ url: 'https://inside.test/' }, { proxyUrl: `http://user:pass@proxy.test:${proxy.port}` }),
    context(),
  );
  expect(outcome.base).toEqual({ ok: true });
  expect(asked).toEqual([
    {
      line: 'CONNECT inside.test:443',
      headers: {
        host: 'inside.test:443',
        'proxy-authorization': `Basic ${Buffer.from('user:pass').toString('base64')}`,
      },
    },
  ]);
  expect(names.asked).toEqual([]);
  expect(outcome.timings).toEqual({
    dns: expect.any(Number),
    connect: expect.any(Number),
    tunnel: expect.any(Number),
    tls: expect.any(Number),
    firstByte: expect.any(Number),
    download: expect.any(Number),
    remainder: expect.any(Number),
    total: expect.any(Number),
  });
  expect(sumOfPhases(outcome.timings ?? {})).toBeCloseTo(outcome.responseTime, 9);
  expect(outcome.details).toMatchObject({
    certificate: { subject: 'CN=localhost', authorized: true },
    addresses: [{ address: '127.0.0.1' }],
  });
});

test.each(['http', 'https'])('an https proxy for %s', async (scheme) => {
  const proxy = await serveAsProxy(createHttpsServer(certificate));
  const outcome = await executeUrl(
    urlJob({ url: `${scheme}://inside.test/` }, { proxyUrl: `https://proxy.test:${proxy.port}` }),
    context(),
  );
  expect(outcome.base).toEqual({ ok: true });
  expect(asked[0]?.line).toBe(scheme === 'https' ? 'CONNECT inside.test:443' : 'GET http://inside.test/');
  expect(outcome.timings).toHaveProperty('tunnel');
});

test.skipIf(!hasIpv6Loopback)('an https proxy at an IPv6 address', async () => {
  const proxy = createHttpsServer(certificate, (request, response) => response.end(request.url));
  await new Promise<void>((resolve) => void proxy.listen(0, '::1', resolve));
  const { port } = proxy.address() as AddressInfo; // listening on TCP
  const outcome = await executeUrl(
    urlJob({ url: 'http://inside.test/' }, { proxyUrl: `https://[::1]:${port}` }),
    context(),
  );
  expect(outcome.base).toEqual({ ok: true });
  proxy.close();
});

test('IPv6 literals are bracketed in CONNECT', async () => {
  const proxy = await serveAsProxy(createServer());
  await executeUrl(
    urlJob({ url: 'https://[::1]:8443/', skipSSL: true }, { proxyUrl: `http://127.0.0.1:${proxy.port}` }),
    context(),
  );
  expect(asked[0]?.line).toBe('CONNECT [::1]:8443');
});

test('variables in proxyUrl, as the whole value and as a part', async () => {
  const proxy = await serveAsProxy(createServer());
  const run = async (proxyUrl: string, value: string) => {
    asked.length = 0;
    await executeUrl(
      urlJob({ url: 'http://inside.test/' }, { proxyUrl, environmentVariables: [variable('PROXY', value)] }),
      context(),
    );
    return asked.length;
  };
  expect(await run('{{PROXY}}', `http://127.0.0.1:${proxy.port}`)).toBe(1);
  expect(await run('http://{{PROXY}}:' + String(proxy.port), '127.0.0.1')).toBe(1);
  // A location whose variable is empty has no proxy.
  expect(await run('{{PROXY}}', '')).toBe(0);
  expect(names.asked).not.toEqual([]);
});

describe('failures are the proxy’s', () => {
  const answers: [string, string, string][] = [
    ['refuses', 'HTTP/1.1 403 Forbidden\r\n\r\n', 'refused CONNECT inside.test:443: HTTP/1.1 403 Forbidden'],
    [
      'wants credentials',
      'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      "refused CONNECT inside.test:443: HTTP/1.1 407 Proxy Authentication Required; set user and password in the location's proxyUrl",
    ],
    ['talks nonsense', 'SSH-2.0-test\r\n\r\n', 'refused CONNECT inside.test:443: SSH-2.0-test'],
    ['talks without end', 'x'.repeat(20_000), 'answered CONNECT with more than 16 KiB'],
  ];
  test.each(answers)('%s', async (_name, answer, message) => {
    const proxy = await rawServer((socket) => void socket.write(answer));
    running.push(proxy);
    const outcome = await executeUrl(
      urlJob({ url: 'https://inside.test/' }, { proxyUrl: `http://user:secret@127.0.0.1:${proxy.port}` }),
      context(),
    );
    expect(outcome.base).toEqual({
      ok: false,
      reason: {
        code: 'PROXY_FAILED',
        owner: 'target',
        message: `the proxy 127.0.0.1:${proxy.port} ${message}`,
      },
    });
  });

  test('closes', async () => {
    const proxy = await rawServer((socket) => void socket.end());
    running.push(proxy);
    const outcome = await executeUrl(
      urlJob({ url: 'https://inside.test/' }, { proxyUrl: `http://127.0.0.1:${proxy.port}` }),
      context(),
    );
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'PROXY_FAILED' } });
  });

  test.each([
    [
      'refused',
      'http://127.0.0.1:1',
      'no connection to the proxy 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1',
    ],
    [
      'unknown',
      'http://nowhere.test:3128',
      'no connection to the proxy nowhere.test:3128: nowhere.test has no IPv4 address',
    ],
    [
      'of another scheme',
      'socks5://127.0.0.1:1080',
      "the location's proxyUrl has the scheme socks5; http and https are supported",
    ],
    ['no URL', 'http://:::', "the location's proxyUrl is not a URL; use http://host:port"],
  ])('%s', async (_name, proxyUrl, message) => {
    const outcome = await executeUrl(urlJob({ url: 'http://inside.test/' }, { proxyUrl }), context());
    expect(outcome.base).toEqual({ ok: false, reason: { code: 'PROXY_FAILED', owner: 'target', message } });
  });

  test('an https proxy with another name in its certificate', async () => {
    const proxy = await serveAsProxy(createHttpsServer(certificate));
    const outcome = await executeUrl(
      urlJob({ url: 'http://inside.test/', skipSSL: true }, { proxyUrl: `https://127.0.0.2:${proxy.port}` }),
      context(),
    );
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'PROXY_FAILED' } });
  });

  test('stays silent until the deadline', async () => {
    const proxy = await rawServer(() => undefined);
    running.push(proxy);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new JobAborted('deadline')), 100);
    const outcome = await executeUrl(
      urlJob({ url: 'https://inside.test/' }, { proxyUrl: `http://127.0.0.1:${proxy.port}` }),
      context(controller.signal),
    );
    expect(outcome.base).toMatchObject({
      reason: { code: 'TIMEOUT', message: `the deadline passed in the phase tunnel (127.0.0.1:443)` },
    });
  });
});
