import { createServer, type ServerHttp2Stream, type Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { executeGrpc } from '../../../src/executors/grpc.ts';
import { Writer } from '../../../src/executors/grpc/wire.ts';
import { shopProto } from '../../../src/targets/grpc-target.ts';
import { grpcJob } from '../../helpers/network/grpc-server.ts';
import { testContext } from '../../helpers/network/http.ts';

/** Servers that break the rules of gRPC, or send without end. Results are clear, and memory is bounded. */

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

type Behaviour = (stream: ServerHttp2Stream, path: string, body: Buffer) => void;

async function serve(behave: Behaviour): Promise<number> {
  const sessions = new Set<Http2Session>();
  const server = createServer();
  server.on('session', (session) => sessions.add(session.on('error', () => undefined)));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => behave(stream, String(headers[':path']), Buffer.concat(parts)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  );
  return (server.address() as AddressInfo).port; // of a listening TCP server
}

const head = { ':status': 200, 'content-type': 'application/grpc' };
const frame = (message: Buffer, flag = 0) => {
  const start = Buffer.alloc(5);
  start[0] = flag;
  start.writeUInt32BE(message.length, 1);
  return Buffer.concat([start, message]);
};

/** Answers with a body and a status. */
function answer(
  stream: ServerHttp2Stream,
  body: Buffer,
  { status = '0', ...headers }: Record<string, string> = {},
): void {
  stream.respond({ ...head, ...headers }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
  stream.end(body);
}

async function outcomeOf(behave: Behaviour, config: object = {}, request: object = {}) {
  const shop = { method: 'sample.Shop/GetProduct', serviceDefinition: 'PROTO_FILE', protoContent: shopProto };
  const job = grpcJob({
    port: await serve(behave),
    timeout: 5,
    ...request,
    grpcConfig: { ...shop, ...config },
  });
  const { base, details } = await executeGrpc(job, testContext());
  const { response } = details as { response: Record<string, unknown> };
  return {
    code: base.ok ? 'passed' : base.reason.code,
    message: base.ok ? '' : base.reason.message,
    response,
  };
}

describe('answers', () => {
  test.each<[string, Behaviour, string, RegExp]>([
    [
      'of a web server',
      (s) => (s.respond({ ':status': 404, 'content-type': 'text/html' }), s.end('<p>')),
      'HTTP_PROTOCOL_ERROR',
      /HTTP 404, of the type text\/html/,
    ],
    [
      'without a type',
      (s) => (s.respond({ ':status': 200 }), s.end('x')),
      'HTTP_PROTOCOL_ERROR',
      /without a type/,
    ],
    [
      'without a status',
      (s) => (s.respond(head), s.end(frame(Buffer.alloc(0)))),
      'HTTP_BODY_INCOMPLETE',
      /without a status/,
    ],
    [
      'with an unknown flag',
      (s) => answer(s, frame(Buffer.alloc(0), 9)),
      'HTTP_PROTOCOL_ERROR',
      /not made of gRPC messages/,
    ],
    [
      'with a message that says it has 4 GB',
      (s) => answer(s, Buffer.from([0, 255, 255, 255, 255])),
      'HTTP_BODY_TOO_LARGE',
      /4294967295 bytes/,
    ],
    [
      'with half a message',
      (s) => (s.respond(head), s.end(frame(Buffer.alloc(100)).subarray(0, 50))),
      'HTTP_PROTOCOL_ERROR',
      /middle of a message/,
    ],
    [
      'with two messages of a unary call',
      (s) => answer(s, Buffer.concat([frame(Buffer.alloc(0)), frame(Buffer.alloc(0))])),
      'HTTP_PROTOCOL_ERROR',
      /several answers/,
    ],
    ['that are no message', (s) => answer(s, frame(Buffer.from('nonsense'))), 'GRPC_DEFINITION', /./],
    [
      'compressed in an unknown way',
      (s) => answer(s, frame(Buffer.alloc(3), 1), { 'grpc-encoding': 'snappy' }),
      'HTTP_PROTOCOL_ERROR',
      /compressed by "snappy"/,
    ],
    [
      'that are no gzip data',
      (s) => answer(s, frame(Buffer.alloc(3), 1), { 'grpc-encoding': 'gzip' }),
      'HTTP_PROTOCOL_ERROR',
      /no gzip data/,
    ],
    [
      'that unpack to 200 MB',
      (s) => answer(s, frame(gzipSync(Buffer.alloc(200 * 1024 * 1024)), 1), { 'grpc-encoding': 'gzip' }),
      'HTTP_BODY_TOO_LARGE',
      /unpacks to more/,
    ],
    ['that refuse the stream', (s) => s.close(7), 'HTTP_PROTOCOL_ERROR', /./],
    ['that end the connection', (s) => s.session?.destroy(), 'CONNECTION_CLOSED', /./],
    [
      'with a status of their own',
      (s) => answer(s, Buffer.alloc(0), { status: '99' }),
      'GRPC_STATUS',
      /status 99/,
    ],
  ])('%s', async (_what, behave, code, message) => {
    const outcome = await outcomeOf(behave);
    expect([outcome.code, outcome.message]).toEqual([code, expect.stringMatching(message)]);
  });

  test('an endless body: memory is bounded', async () => {
    const before = process.memoryUsage.rss();
    let sent = 0;
    const outcome = await outcomeOf((stream) => {
      stream.respond(head);
      stream.write(Buffer.from([0, 0x00, 0x3f, 0xff, 0xff])); // a message of 4 MB
      const more = () => {
        while (!stream.destroyed && sent < 300 * 1024 * 1024) {
          sent += 65_536;
          if (!stream.write(Buffer.alloc(65_536, 0x0a))) return void stream.once('drain', more);
        }
        stream.end();
      };
      more();
    });
    expect(outcome.code).toMatch(/^(HTTP_PROTOCOL_ERROR|HTTP_BODY_TOO_LARGE)$/);
    expect(sent).toBeLessThan(100 * 1024 * 1024);
    expect((process.memoryUsage.rss() - before) / 1024 / 1024).toBeLessThan(200);
  });

  test('10,000 headers, and a drip that never ends', async () => {
    const many = await outcomeOf((stream) => {
      const headers = Object.fromEntries(
        Array.from({ length: 10_000 }, (_, at) => [`x-${at}`, 'y'.repeat(50)]),
      );
      try {
        stream.respond({ ...head, ...headers });
      } catch {
        stream.close();
      }
    });
    expect(many.code).not.toBe('passed');
    const drip = await outcomeOf(
      (stream) => {
        stream.respond(head);
        const timer = setInterval(() => stream.write(Buffer.from([0])), 50);
        stream.on('close', () => clearInterval(timer));
      },
      {},
      { timeout: 1 },
    );
    expect(drip.code).toMatch(/^(TIMEOUT|HTTP_PROTOCOL_ERROR)$/);
  });
});

describe('reflection', () => {
  const file = (name: string, imports: readonly string[], content = Buffer.alloc(0)) => {
    const writer = new Writer().text(1, name);
    for (const path of imports) writer.text(3, path);
    return writer.raw(content).done();
  };
  const answerOf = (files: readonly Buffer[]) => {
    const list = new Writer();
    for (const each of files) list.bytes(1, each);
    return frame(new Writer().bytes(4, list.done()).done());
  };
  const shop = Buffer.concat([
    new Writer().text(2, 'sample').text(12, 'proto3').done(),
    new Writer().bytes(4, new Writer().text(1, 'Product').done()).done(),
    new Writer()
      .bytes(
        6,
        new Writer()
          .text(1, 'Shop')
          .bytes(
            2,
            new Writer().text(1, 'GetProduct').text(2, '.sample.Product').text(3, '.sample.Product').done(),
          )
          .done(),
      )
      .done(),
  ]);
  /** What a request of the reflection asks: the field and its text. */
  const asked = (body: Buffer) => ({ field: (body[5] ?? 0) >> 3, text: body.subarray(7).toString('latin1') });
  const reflection = { serviceDefinition: 'REFLECTION', protoContent: '' };

  test('v1, one file at a time, with its imports', async () => {
    const paths: string[] = [];
    const answerTo = (body: Buffer): Buffer => {
      const { field, text } = asked(body);
      if (field === 7) {
        const service = new Writer().bytes(1, new Writer().text(1, 'sample.Shop').done()).done();
        return frame(new Writer().bytes(6, service).done());
      }
      if (field === 4)
        return answerOf([file('shop.proto', ['a.proto', 'google/protobuf/empty.proto'], shop)]);
      if (text === 'a.proto') return answerOf([file('a.proto', [])]);
      return frame(new Writer().bytes(7, new Writer().text(2, 'no file').done()).done());
    };
    const outcome = await outcomeOf((stream, path, body) => {
      paths.push(path);
      if (!path.includes('Reflection')) {
        answer(stream, frame(Buffer.alloc(0)));
        return;
      }
      // One answer for each question of the stream.
      const answers: Buffer[] = [];
      for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1))
        answers.push(answerTo(body.subarray(at, at + 5 + body.readUInt32BE(at + 1))));
      answer(stream, Buffer.concat(answers));
    }, reflection);
    expect([outcome.code, outcome.message]).toEqual(['passed', '']);
    expect(paths[0]).toBe('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo');
    expect(outcome.response['discoveredMethods']).toEqual(['sample.Shop/GetProduct']);
  });

  test('imports without end', async () => {
    let files = 0;
    const outcome = await outcomeOf((stream, path, body) => {
      if (asked(body).field === 7)
        return answer(stream, frame(new Writer().bytes(6, Buffer.alloc(0)).done()));
      files += 1;
      answer(stream, answerOf([file(asked(body).field === 4 ? 'x' : asked(body).text, [`${path}${files}`])]));
    }, reflection);
    expect([outcome.code, outcome.message]).toEqual([
      'GRPC_DEFINITION',
      expect.stringMatching(/chained too deeply/),
    ]);
    expect(files).toBeLessThanOrEqual(20);
  });

  test('descriptors that are none, and errors', async () => {
    const wrong = await outcomeOf(
      (stream) => answer(stream, answerOf([Buffer.from('nonsense')])),
      reflection,
    );
    expect(wrong.code).toBe('GRPC_DEFINITION');
    const denied = await outcomeOf((stream) => answer(stream, Buffer.alloc(0), { status: '7' }), reflection);
    expect(denied.message).toMatch(/listing the services by reflection failed: PERMISSION_DENIED/);
  });
});

test('settings that cannot be sent are refused before a connection is made', async () => {
  let streams = 0;
  const behave: Behaviour = (stream) => {
    streams += 1;
    answer(stream, frame(Buffer.alloc(0)));
  };
  const bad = await outcomeOf(behave, { metadata: [{ key: 'grpc-timeout', value: '1' }] });
  expect([bad.code, streams]).toEqual(['INVALID_REQUEST', 0]);
  const split = await outcomeOf(behave, { metadata: [{ key: 'x', value: 'a\r\nb: c' }] });
  expect(split.code).toBe('passed');
});
