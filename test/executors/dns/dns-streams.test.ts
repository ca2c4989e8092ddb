import { createSecureServer } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { type ReceivedQuery } from '../../helpers/network/dns-server.ts';
import { a, certificate, codeOf, deadlineIn, dnsAttempts, portOf } from './dns-attempt.ts';

/** DNS checks over TCP, TLS and HTTPS: broken streams, certificates, answers of HTTP. */

const { run, serve, servers } = dnsAttempts();

describe.each(['TCP', 'DOT'] as const)('a stream by %s', (protocol) => {
  const cases: [
    string,
    (query: ReceivedQuery) => { raw: Buffer; end?: boolean; reset?: boolean } | Buffer,
    string,
  ][] = [
    ['a length of nothing', () => ({ raw: Buffer.from([0, 0]) }), 'DNS_MALFORMED'],
    [
      'a length that is not kept',
      () => ({ raw: Buffer.from([0, 200, 1, 2, 3]), end: true }),
      'DNS_MALFORMED',
    ],
    ['a length that is never reached', () => ({ raw: Buffer.from([0xff, 0xff, 1, 2, 3]) }), 'TIMEOUT'],
    ['an end without an answer', () => ({ raw: Buffer.alloc(0), end: true }), 'DNS_MALFORMED'],
    ['a reset', () => ({ raw: Buffer.alloc(0), reset: true }), 'ECONNRESET'],
    [
      'another id',
      (query) => {
        const message = query.reply();
        message.writeUInt16BE(message.readUInt16BE(0) ^ 1);
        return message;
      },
      'DNS_MALFORMED',
    ],
    [
      'more behind the answer',
      (query) => {
        const message = query.reply([a('192.0.2.1')]);
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        return { raw: Buffer.concat([length, message, Buffer.alloc(1_000_000)]) };
      },
      'ok',
    ],
  ];
  test.each(cases)('%s', async (_title, answer, code) => {
    const server = await serve(answer, { certificate });
    const outcome = await run({ protocol, port: portOf(server, protocol) }, { signal: deadlineIn(1000) });
    expect(codeOf(outcome)).toBe(code);
  });
});

describe('certificates', () => {
  test.each(['DOT', 'DOH'] as const)('%s refuses an untrusted certificate', async (protocol) => {
    const server = await serve((query) => query.reply(), { certificate });
    const outcome = await run({ protocol, port: portOf(server, protocol), skipSSL: false });
    expect(outcome.base).toMatchObject({
      ok: false,
      reason: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', owner: 'target' },
    });
    expect(Object.keys(outcome.timings ?? {}).sort()).toEqual(['connect', 'remainder', 'tls', 'total']);
  });

  test.each(['DOT', 'DOH'] as const)('%s to a server without TLS', async (protocol) => {
    const server = await serve(() => ({ raw: Buffer.from('220 hello\r\n'), end: true }));
    const plain = createServer(
      (socket) =>
        void socket
          .on('error', () => {})
          .resume()
          .end('220 hello\r\n'),
    );
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as AddressInfo; // listening on TCP
    // Only the text of OpenSSL, without its source locations.
    expect((await run({ protocol, port })).base).toMatchObject({
      reason: { code: 'TLS_ERROR', message: 'wrong version number' },
    });
    plain.close();
    await server.close();
    servers.delete(server);
  });
});

describe('DOH', () => {
  test('by HTTP/1.1, at a URL', async () => {
    const server = await serve((query) => query.reply([a('192.0.2.1')]), { certificate, alpn: ['http/1.1'] });
    const nameServer = `https://localhost:${server.dohPort}/custom{?dns}`;
    const outcome = await run({ protocol: 'DOH', nameServer, port: 1 });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({
      httpVersion: '1.1',
      nameServerInfo: { name: nameServer, host: '127.0.0.1', port: server.dohPort },
    });
    expect(server.queries[0]?.http).toMatchObject({ version: '1.1', path: '/custom' });
    expect(server.queries[0]?.bytes.readUInt16BE(0)).toBe(0);
  });

  test.each([
    ['a status', { status: 503, body: Buffer.from('busy') }, 'HTTP_STATUS'],
    ['a redirect', { status: 302, body: Buffer.from('') }, 'HTTP_STATUS'],
    ['a web page', { status: 200, contentType: 'text/html', body: Buffer.from('<p>') }, 'DNS_MALFORMED'],
    ['an empty body', { status: 200, body: Buffer.alloc(0) }, 'DNS_MALFORMED'],
    ['a body without end', { status: 200, body: Buffer.alloc(2_000_000) }, 'DNS_MALFORMED'],
  ])('%s', async (_title, reply, code) => {
    for (const alpn of [['h2'], ['http/1.1']]) {
      const server = await serve(() => reply, { certificate, alpn });
      const outcome = await run({ protocol: 'DOH', port: server.dohPort }, { signal: deadlineIn(5000) });
      expect(codeOf(outcome)).toBe(code);
    }
  });

  test.each(['h2', 'http/1.1'])('a server that answers without end or disconnects, %s', async (alpn) => {
    const server = createSecureServer({ ...certificate, allowHTTP1: true, ALPNProtocols: [alpn] });
    let leaves = false;
    server.on('request', (request, response) => {
      if (leaves) {
        request.socket.destroy();
        return;
      }
      response.writeHead(200, { 'content-type': 'application/dns-message' });
      const timer = setInterval(() => void response.write(Buffer.alloc(16_384)), 5);
      const stop = () => clearInterval(timer);
      response.on('close', stop).on('error', stop);
    });
    server.on('sessionError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // listening on TCP
    const endless = await run({ protocol: 'DOH', port }, { signal: deadlineIn(5000) });
    expect(endless.base).toMatchObject({
      reason: { code: 'DNS_MALFORMED', message: 'the answer is longer than 65535 bytes' },
    });
    leaves = true;
    const left = await run({ protocol: 'DOH', port }, { signal: deadlineIn(5000) });
    expect(['CONNECTION_CLOSED', 'ECONNRESET']).toContain(codeOf(left));
    server.close();
  });

  test.each([['h2'], ['http/1.1']])('a server that leaves after the handshake, %s', async (alpn) => {
    const server = createTlsServer({ ...certificate, ALPNProtocols: [alpn] }, (socket) =>
      // Read to the end, or newer Nodes keep the server's socket open.
      socket
        .on('error', () => {})
        .resume()
        .end(),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // listening on TCP
    const outcome = await run({ protocol: 'DOH', port }, { signal: deadlineIn(5000) });
    server.close();
    expect(['CONNECTION_CLOSED', 'ECONNRESET']).toContain(codeOf(outcome));
  });

  test.each(['http://127.0.0.1/dns-query', 'https://user:secret@127.0.0.1/', 'https://'])(
    '%s is refused',
    async (url) => {
      const outcome = await run({ protocol: 'DOH', nameServer: url });
      expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'INVALID_URL' } });
      expect(JSON.stringify(outcome.base)).not.toContain('secret');
    },
  );
});
