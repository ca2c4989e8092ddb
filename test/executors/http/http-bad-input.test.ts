import { createSecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { executeApi } from '../../../src/executors/api.ts';
import { executeUrl } from '../../../src/executors/url.ts';
import { selfSigned } from '../../../src/targets/certificates.ts';
import {
  apiJob,
  listening,
  rawServer,
  testContext,
  urlJob,
  type Running,
} from '../../helpers/network/http.ts';

const running: Running[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

async function serve(answer: (socket: Socket, head: string) => void): Promise<string> {
  const server = await rawServer(answer);
  running.push(server);
  return `127.0.0.1:${server.port}`;
}

function signalIn(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new JobAborted('deadline')), ms);
  return controller.signal;
}

/** Runs both executors against the same kind of answer: the reason must be the same, and the message name the peer. */
async function reasonsOf(answer: (socket: Socket, head: string) => void, signal?: () => AbortSignal) {
  const peer = await serve(answer);
  const context = () => testContext(signal === undefined ? {} : { signal: signal() });
  const byUrl = await executeUrl(urlJob({ url: `http://${peer}/` }), context());
  const byApi = await executeApi(apiJob({ url: `http://${peer}/` }), context());
  const reasonOf = ({ base }: typeof byUrl) => (base.ok ? null : base.reason);
  expect(reasonOf(byApi)?.code).toEqual(reasonOf(byUrl)?.code);
  return { reason: reasonOf(byUrl), peer, byUrl, byApi };
}

describe('servers that break the rules', () => {
  test.each([
    ['closes without an answer', (socket: Socket) => socket.end(), 'CONNECTION_CLOSED'],
    ['resets', (socket: Socket) => socket.resetAndDestroy(), 'ECONNRESET'],
    [
      'closes within the headers',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'),
      'CONNECTION_CLOSED',
    ],
    [
      'answers garbage',
      (socket: Socket) => socket.end('\x00\x01\x02 garbage\r\n\r\n'),
      'HTTP_PROTOCOL_ERROR',
    ],
    [
      'answers another protocol',
      (socket: Socket) => socket.end('220 mail.test ESMTP\r\n'),
      'HTTP_PROTOCOL_ERROR',
    ],
    [
      'answers with a bad header',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nbad header\r\n\r\n'),
      'HTTP_PROTOCOL_ERROR',
    ],
    [
      'gives two lengths',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
      'HTTP_PROTOCOL_ERROR',
    ],
    [
      'switches protocols unasked',
      (socket: Socket) =>
        socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      'HTTP_PROTOCOL_ERROR',
    ],
    [
      'promises more than it sends',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'),
      'HTTP_BODY_INCOMPLETE',
    ],
    [
      'breaks off a chunked body',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'),
      'HTTP_BODY_INCOMPLETE',
    ],
    [
      'sends a chunk size that is none',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n'),
      'HTTP_PROTOCOL_ERROR',
    ],
  ] as const)('%s', async (_name, answer, code) => {
    const { reason, peer, byUrl } = await reasonsOf((socket) => void answer(socket));
    expect(reason).toMatchObject({ code, owner: 'target' });
    expect(reason?.message).toContain(peer);
    expect(byUrl.assertions).toEqual([]);
    expect(byUrl.details['requestError']).toBe(reason?.message);
  });

  test('resets within the body: the received part is kept', async () => {
    const { reason, byApi } = await reasonsOf((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nfirst part',
        () => setTimeout(() => socket.resetAndDestroy(), 20),
      );
    });
    expect(reason?.code).toBe('ECONNRESET');
    expect(byApi.details['response']).toMatchObject({ status: 200, body: 'first part', truncated: true });
  });

  test('sends more than it promises: the promise counts', async () => {
    const { reason, byApi } = await reasonsOf((socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello and more');
    });
    expect(reason).toBeNull();
    expect(byApi.details['response']).toMatchObject({ body: 'hello', size: 5, truncated: false });
  });

  test('answers before it is asked everything, with 1xx in front', async () => {
    const { reason, byApi } = await reasonsOf((socket) => {
      socket.end(
        'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Type: text/plain\r\n\r\nuntil the end',
      );
    });
    expect(reason).toBeNull();
    expect(byApi.details['response']).toMatchObject({
      status: 200,
      statusText: 'Fine',
      body: 'until the end',
    });
  });

  test.each([204, 304])('announces a body length with %i, which has no body', async (status) => {
    const { reason, byApi } = await reasonsOf(
      (socket) => void socket.write(`HTTP/1.1 ${status} None\r\ncontent-length: 5\r\n\r\n`),
    );
    expect(reason).toBe(null);
    expect(byApi.details['response']).toMatchObject({ status, size: 0, truncated: false, body: '' });
  });

  test('answers with a status that there is not', async () => {
    const { reason, peer } = await reasonsOf((socket) => void socket.end('HTTP/1.1 000 None\r\n\r\n'));
    expect(reason).toMatchObject({
      code: 'HTTP_PROTOCOL_ERROR',
      message: `${peer}: the status of the answer is not valid in HTTP`,
    });
  });

  test('sends endless headers', async () => {
    const { reason } = await reasonsOf((socket) =>
      endless(socket, 'HTTP/1.1 200 OK\r\n', `x-more: ${'y'.repeat(1000)}\r\n`),
    );
    expect(reason).toMatchObject({ code: 'HTTP_HEADERS_TOO_LARGE' });
  });

  test('sends one endless header', async () => {
    const { reason } = await reasonsOf((socket) =>
      endless(socket, 'HTTP/1.1 200 OK\r\nx-more: ', 'y'.repeat(1000)),
    );
    expect(reason).toMatchObject({ code: 'HTTP_HEADERS_TOO_LARGE' });
  });

  test('sends endless 1xx responses until the deadline', async () => {
    const { reason } = await reasonsOf(
      (socket) => endless(socket, '', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
      () => signalIn(200),
    );
    expect(reason).toMatchObject({ code: 'TIMEOUT' });
  });

  test('drips its headers until the deadline, in the phase after the first byte', async () => {
    const { reason, peer } = await reasonsOf(
      (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx-drip: 1\r\n'.repeat(50)),
      () => signalIn(200),
    );
    expect(reason).toEqual({
      code: 'TIMEOUT',
      owner: 'target',
      message: `the deadline passed in the phase download (${peer})`,
    });
  });

  test('drips its body until the deadline', async () => {
    const { reason, byUrl } = await reasonsOf(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
        drip(socket, 'x'.repeat(100_000));
      },
      () => signalIn(250),
    );
    expect(reason).toMatchObject({ code: 'TIMEOUT' });
    expect(byUrl.timings?.download).toBeGreaterThan(100);
    expect(byUrl.details['response']).toMatchObject({ status: 200 });
  });

  test('sends an endless body: reading stops at 25 MB', async () => {
    const { reason, byUrl, byApi } = await reasonsOf((socket) =>
      endless(socket, 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n', 'x'.repeat(65_536)),
    );
    expect(reason).toBeNull();
    expect(byUrl.details['response']).toMatchObject({ size: 25 * 1024 * 1024, truncated: true });
    const stored = byApi.details['response'] as { size: number; truncated: boolean; body: string };
    expect({ size: stored.size, truncated: stored.truncated, kept: stored.body.length }).toEqual({
      size: 25 * 1024 * 1024,
      truncated: true,
      kept: 256 * 1024,
    });
  });

  test('speaks plain HTTP where TLS is expected, and TLS where plain HTTP is', async () => {
    const plain = await serve((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const overTls = await executeUrl(urlJob({ url: `https://${plain}/` }), testContext());
    expect(overTls.base).toMatchObject({ ok: false, reason: { code: 'TLS_ERROR' } });
    expect(overTls.timings).toMatchObject({ connect: expect.any(Number), tls: expect.any(Number) });

    const { cert, key } = await selfSigned({ commonName: 'localhost', ...validity() });
    const secure = await listening(createSecureServer({ cert, key, allowHTTP1: true }));
    running.push(secure);
    const overPlain = await executeUrl(urlJob({ url: `http://127.0.0.1:${secure.port}/` }), testContext());
    expect(overPlain.base).toMatchObject({ ok: false, reason: { code: 'CONNECTION_CLOSED' } });
  });

  test('never completes the TLS handshake', async () => {
    const silent = await serve(() => undefined);
    const outcome = await executeUrl(
      urlJob({ url: `https://${silent}/` }),
      testContext({ signal: signalIn(150) }),
    );
    expect(outcome.base).toMatchObject({
      reason: { code: 'TIMEOUT', message: `the deadline passed in the phase tls (${silent})` },
    });
  });

  test('closes during the TLS handshake', async () => {
    const peer = await serve((socket) => void socket.end());
    const outcome = await executeUrl(urlJob({ url: `https://${peer}/` }), testContext());
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ECONNRESET' } });
  });
});

describe('HTTP/2 servers that break the rules', () => {
  const cases = {
    '/reset': 'the stream is reset',
    '/session': 'the session is destroyed',
    '/half': 'the body breaks off',
    '/endless': 'the headers are endless',
    '/silent': 'nothing comes',
  } as const;

  test.each(Object.entries(cases))('%s: %s', async (path) => {
    const { cert, key } = await selfSigned({ commonName: 'localhost', ...validity() });
    const server = createSecureServer({ cert, key, maxSendHeaderBlockLength: 10_000_000 });
    server.on('sessionError', () => undefined);
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      if (path === '/reset') stream.close(2);
      if (path === '/session') stream.session?.destroy();
      if (path === '/half') {
        stream.respond({ ':status': 200, 'content-length': '100' });
        stream.write('part', () => setTimeout(() => stream.close(2), 20));
      }
      if (path === '/endless') {
        const headers = Object.fromEntries(
          Array.from({ length: 200 }, (_x, i) => [`x-${i}`, 'y'.repeat(2000)]),
        );
        stream.respond({ ':status': 200, ...headers });
        stream.end('body');
      }
    });
    const target = await listening(server);
    running.push(target);
    const outcome = await executeUrl(
      urlJob({ url: `https://localhost:${target.port}${path}`, skipSSL: true }),
      testContext({ signal: signalIn(path === '/silent' ? 200 : 5000) }),
    );
    const expected = {
      '/reset': ['HTTP_PROTOCOL_ERROR'],
      '/session': ['CONNECTION_CLOSED'],
      '/half': ['HTTP_PROTOCOL_ERROR', 'HTTP_BODY_INCOMPLETE'],
      '/endless': ['HTTP_PROTOCOL_ERROR', 'CONNECTION_CLOSED', 'HTTP_HEADERS_TOO_LARGE'],
      '/silent': ['TIMEOUT'],
    }[path as keyof typeof cases];
    expect(outcome.base.ok ? 'passed' : outcome.base.reason.code).toBeOneOf(expected);
  });
});

/** Writes `head`, then `part` endlessly, as fast as the other side reads it. */
function endless(socket: Socket, head: string, part: string): void {
  if (head !== '') socket.write(head);
  const more = () => {
    while (!socket.destroyed && socket.write(part)) {
      // until the buffer is full
    }
  };
  socket.on('drain', more);
  more();
}

function drip(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || at >= text.length) clearInterval(timer);
    else socket.write(text[at++] ?? '');
  }, 10);
  socket.on('close', () => clearInterval(timer));
}

function validity() {
  return { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 86_400_000) };
}
