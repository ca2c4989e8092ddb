import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTransport, type Transport } from '../../../src/agent/link/transport.ts';
import { readAgentConfig } from '../../../src/config.ts';
import { createProxies, missingProxies, password, user, type Proxy } from '../../helpers/network/proxies.ts';

/** Management traffic through proxies that people really run. */

const missing = missingProxies();
if (missing !== null) console.log(`skipped: management traffic through real proxies: ${missing}`);

describe.skipIf(missing !== null)('management traffic', { timeout: 60_000 }, () => {
  const proxies = createProxies();
  const transports: Transport[] = [];
  const sockets = new Set<Socket>();
  let folder: string;
  let plain: Server;
  let secure: https.Server;
  let certificates: { first: Pair; second: Pair };
  type Pair = { key: string; cert: string; file: string };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('error', () => response.destroy());
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ length: Buffer.concat(chunks).length, path: request.url }));
    });
  };
  const listen = async (server: Server | https.Server) => {
    server.on('connection', (socket: Socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
  const portOf = (server: Server | https.Server) => (server.address() as AddressInfo).port;

  function certificate(name: string): Pair {
    const [key, file] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)];
    const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    execFileSync(
      'openssl',
      ['req', '-x509', ...curve, '-keyout', key, '-out', file, '-days', '30', ...subject],
      {
        stdio: 'ignore',
      },
    );
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(file, 'utf8'), file };
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'real-proxies-'));
    certificates = { first: certificate('first'), second: certificate('second') };
    plain = http.createServer(answer);
    secure = https.createServer(certificates.first, answer);
    await Promise.all([listen(plain), listen(secure)]);
  }, 60_000);
  afterAll(async () => {
    for (const transport of transports) transport.close();
    plain.close();
    secure.close();
    for (const socket of sockets) socket.destroy();
    await proxies.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The agent's own transport, configured by its own variables. */
  async function transportTo(
    serviceUrl: string,
    proxyUrl: string,
    caFile = certificates.first.file,
  ): Promise<Transport> {
    const config = readAgentConfig({
      SERVICE_URL: serviceUrl,
      API_KEY: 'pl_a_key_of_a_test',
      HTTP_PROXY: proxyUrl,
      HTTPS_PROXY: proxyUrl,
      NODE_EXTRA_CA_CERTS: caFile,
    });
    const transport = await createTransport({
      serviceUrl: config.serviceUrl,
      proxy: config.proxy,
      extraCaFile: config.extraCaFile,
      headers: {},
      connectTimeoutMs: 5_000,
    });
    transports.push(transport);
    return transport;
  }
  const call = { timeoutMs: 10_000, answerBytes: 65_536 };
  const plainUrl = () => `http://127.0.0.1:${portOf(plain)}`;
  const secureUrl = () => `https://127.0.0.1:${portOf(secure)}`;
  const received = (body: Buffer) => JSON.parse(body.toString()) as { length: number; path: string };

  const kinds = [
    { kind: 'squid', scheme: 'http', secret: password },
    { kind: 'tinyproxy', scheme: 'http', secret: password.replace(/[^A-Za-z0-9]/g, '') },
    // A system account: only the tests of wrong credentials use it.
    { kind: 'dante', scheme: 'socks5', secret: password },
    { kind: 'dante', scheme: 'socks5h', secret: password },
  ] as const;

  describe.each(kinds)('through $kind ($scheme)', ({ kind, scheme, secret }) => {
    let open: Proxy;
    let locked: Proxy;
    beforeAll(async () => {
      [open, locked] = await Promise.all([proxies.start(kind), proxies.start(kind, { auth: true })]);
    }, 60_000);
    const credentials = (name: string, word: string) =>
      `${encodeURIComponent(name)}:${encodeURIComponent(word)}@`;

    test('http and https services answer, with small and large bodies', async () => {
      for (const url of [plainUrl(), secureUrl()]) {
        const transport = await transportTo(url, `${scheme}://127.0.0.1:${open.port}`);
        for (const length of [0, 10, 3_000_000]) {
          const { status, body } = await transport.post('/agent/v1/results', Buffer.alloc(length, 97), call);
          expect({ status, ...received(body) }).toEqual({ status: 200, length, path: '/agent/v1/results' });
        }
      }
    });

    // Dante asks the system's accounts; socks.test.ts has its user and password.
    if (kind !== 'dante')
      test('user and password are sent', async () => {
        for (const url of [plainUrl(), secureUrl()]) {
          const transport = await transportTo(
            url,
            `${scheme}://${credentials(user, secret)}127.0.0.1:${locked.port}`,
          );
          expect((await transport.post('/x', 'a', call)).status).toBe(200);
        }
      });

    test('a wrong password and none are refused, and no error shows the password', async () => {
      for (const name of [credentials(user, 'a wrong password'), '']) {
        const transport = await transportTo(secureUrl(), `${scheme}://${name}127.0.0.1:${locked.port}`);
        const refused = transport.post('/x', 'a', call);
        await expect(refused).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', retryable: true });
        await expect(refused).rejects.toThrow(/user and password/);
        await expect(refused).rejects.not.toThrow(/wrong/);
      }
    });

    test('a proxy that is killed and started again is used again', async () => {
      const transport = await transportTo(secureUrl(), `${scheme}://127.0.0.1:${open.port}`);
      expect((await transport.post('/x', 'a', call)).status).toBe(200);
      await open.kill();
      await expect(transport.post('/x', 'a', call)).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
      await open.start();
      expect((await transport.post('/x', 'a', call)).status).toBe(200);
    });

    test('a service that nobody listens for is unreachable, and says why', async () => {
      const transport = await transportTo('https://127.0.0.1:1', `${scheme}://127.0.0.1:${open.port}`);
      await expect(transport.post('/x', 'a', call)).rejects.toThrow(
        /status 50\d|connection refused|status 403/,
      );
    });
  });

  test('a proxy that limits the size of bodies answers 413, which is not the service', async () => {
    const proxy = await proxies.start('squid', { lines: ['request_body_max_size 10 KB'] });
    const transport = await transportTo(plainUrl(), `http://127.0.0.1:${proxy.port}`);
    const { status, body } = await transport.post('/agent/v1/results', Buffer.alloc(100_000, 97), call);
    expect(status).toBe(413);
    expect(body.toString()).toContain('<html');
    expect((await transport.post('/agent/v1/results', Buffer.alloc(1_000, 97), call)).status).toBe(200);
  });

  test('a load balancer that speaks HTTP/2 and ends connections early is no obstacle', async () => {
    const pem = join(folder, 'haproxy.pem');
    writeFileSync(pem, certificates.first.cert + certificates.first.key);
    const proxy = await proxies.start('haproxy', {
      lines: [
        '  timeout http-keep-alive 100ms',
        'frontend front',
        `  bind 127.0.0.1:PORT ssl crt ${pem} alpn h2,http/1.1`,
        '  default_backend back',
        'backend back',
        `  server one 127.0.0.1:${portOf(plain)}`,
      ],
    });
    const transport = await transportTo(`https://127.0.0.1:${proxy.port}`, '');
    for (let round = 0; round < 5; round++) {
      const { body } = await transport.post('/agent/v1/jobs/claim', 'abc', call);
      expect(received(body).length).toBe(3);
      // Its idle connection is closed meanwhile, on the side of the load balancer.
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    await proxy.kill();
    await expect(transport.post('/x', 'a', call)).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
    await proxy.start();
    expect((await transport.post('/x', 'a', call)).status).toBe(200);
  });

  test('an answer of 429 by a load balancer is shown with its Retry-After', async () => {
    const proxy = await proxies.start('haproxy', {
      lines: [
        'frontend front',
        '  bind 127.0.0.1:PORT',
        '  http-request return status 429 content-type text/plain string "slow down" hdr Retry-After 7',
      ],
    });
    const transport = await transportTo(`http://127.0.0.1:${proxy.port}`, '');
    const { status, headers } = await transport.post('/x', 'a', call);
    expect({ status, after: headers['retry-after'] }).toEqual({ status: 429, after: '7' });
  });

  test("a service's new certificate is accepted if it is trusted, and refused if it is not", async () => {
    const server = https.createServer(certificates.first, answer);
    const port = await listen(server);
    const proxy = await proxies.start('tinyproxy');
    const transport = await transportTo(`https://127.0.0.1:${port}`, `http://127.0.0.1:${proxy.port}`);
    expect((await transport.post('/x', 'a', call)).status).toBe(200);
    server.setSecureContext(certificates.second);
    for (const socket of sockets) socket.destroy();
    await expect(transport.post('/x', 'a', call)).rejects.toThrow(/self-signed|certificate/);
    server.setSecureContext(certificates.first);
    expect((await transport.post('/x', 'a', call)).status).toBe(200);
    server.close();
  });
});
