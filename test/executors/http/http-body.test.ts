import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import * as zlib from 'node:zlib';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeApi } from '../../../src/executors/api.ts';
import { decodeBody } from '../../../src/executors/http/body.ts';
import type { Assertion } from '../../../src/protocol/assertions.ts';
import { apiJob, listening, pair, testContext, type Running } from '../../helpers/network/http.ts';

type Answer = { headers: Record<string, string>; body: Buffer; status?: number };

let target: Running;
let answer: Answer;
let acceptEncoding: string | undefined;

beforeAll(async () => {
  target = await listening(
    createServer((request, response) => {
      acceptEncoding = request.headers['accept-encoding'] as string | undefined;
      response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
    }),
  );
});
afterAll(() => target.close());

type ApiAssertion = Parameters<typeof apiJob>[0]['assertions'];
const assertion = (
  source: Assertion['source'],
  property: string,
  comparison: Assertion['comparison'],
  expected: string,
) => [{ source, property, comparison, target: expected, regex: null }] as NonNullable<ApiAssertion>;

async function run(next: Answer, assertions: NonNullable<ApiAssertion> = []) {
  answer = next;
  const outcome = await executeApi(
    apiJob({ url: `http://127.0.0.1:${target.port}/`, assertions }),
    testContext(),
  );
  return { ...outcome, response: outcome.details['response'] as Record<string, unknown> };
}

const text = 'a body that is longer than nothing, äöü';
const plain = { 'content-type': 'text/plain; charset=utf-8' };

describe('content codings', () => {
  const zstd: unknown = Reflect.get(zlib, 'zstdCompressSync');
  const codings: [string, Buffer][] = [
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', Buffer.from(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['deflate, identity, gzip', gzipSync(deflateSync(text))],
    ['gzip', Buffer.concat([gzipSync(text.slice(0, 10)), gzipSync(text.slice(10))])],
    ...(typeof zstd === 'function' ? [['zstd', zstd(Buffer.from(text)) as Buffer] as [string, Buffer]] : []),
  ];
  test.each(codings)('%s', async (coding, body) => {
    const { base, response, assertions } = await run(
      { headers: { ...plain, 'content-encoding': coding, 'content-length': String(body.length) }, body },
      assertion('TEXT_BODY', '', 'EQUALS', text),
    );
    expect(base).toEqual({ ok: true });
    expect(assertions.map(({ error }) => error)).toEqual([null]);
    expect(response).toMatchObject({
      body: text,
      truncated: false,
      size: body.length,
      decodedSize: Buffer.byteLength(text),
    });
    expect(acceptEncoding).toBe(typeof zstd === 'function' ? 'gzip, br, deflate, zstd' : 'gzip, br, deflate');
  });

  test('an unknown coding passes through', async () => {
    const { base, response } = await run({
      headers: { ...plain, 'content-encoding': 'rot13' },
      body: Buffer.from('grkg'),
    });
    expect(base).toEqual({ ok: true });
    expect(response).toMatchObject({ body: 'grkg' });
  });

  test('no coding, no decoded size', async () => {
    const { response } = await run({ headers: plain, body: Buffer.from(text) });
    expect(response).not.toHaveProperty('decodedSize');
  });

  test('an empty body of a coding, and one of an error status', async () => {
    expect(
      (await run({ headers: { ...plain, 'content-encoding': 'gzip' }, body: Buffer.alloc(0) })).base,
    ).toEqual({ ok: true });
    const failed = await run({
      headers: { ...plain, 'content-encoding': 'gzip' },
      body: gzipSync('sorry'),
      status: 503,
    });
    expect(failed.base).toMatchObject({ ok: false, reason: { code: 'HTTP_STATUS' } });
    expect(failed.response).toMatchObject({ body: 'sorry' });
  });

  test.each([
    ['gzip', Buffer.from('not compressed at all')],
    ['gzip', gzipSync(text).subarray(0, 20)],
    ['br', Buffer.from('not compressed at all')],
    ['deflate', Buffer.from('\x78\x9cnonsense')],
  ])('a body that is not valid %s', async (coding, body) => {
    const { base, response, assertions } = await run(
      { headers: { ...plain, 'content-encoding': coding }, body },
      [...assertion('STATUS_CODE', '', 'EQUALS', '200'), ...assertion('TEXT_BODY', '', 'NOT_EMPTY', '')],
    );
    expect(base).toMatchObject({ ok: false, reason: { code: 'HTTP_DECODING_FAILED', owner: 'target' } });
    expect(response).toMatchObject({ status: 200, truncated: false });
    expect(assertions.map(({ error }) => error === null)).toEqual([true, false]);
  });

  test('more codings than anybody needs', async () => {
    const { base } = await run({
      headers: { ...plain, 'content-encoding': 'gzip,gzip,gzip,gzip,gzip' },
      body: gzipSync('x'),
    });
    expect(base).toMatchObject({ ok: false, reason: { code: 'HTTP_DECODING_FAILED' } });
  });

  test('a small body that would become a huge one stops at the limit', async () => {
    // 200 MB of zeros in 200 kB.
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    const { base, response, assertions } = await run(
      { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body: bomb },
      assertion('JSON_BODY', '$.a', 'EQUALS', '1'),
    );
    expect(base).toEqual({ ok: true });
    expect(response).toMatchObject({ truncated: true, decodedSize: 25 * 1024 * 1024 });
    expect(assertions[0]?.error).toBe(
      'the body is larger than 25 MB and was cut there, so it is not a complete JSON document',
    );
  });

  test("the check's own Accept-Encoding is sent", async () => {
    answer = { headers: plain, body: Buffer.from(text) };
    await executeApi(
      apiJob({ url: `http://127.0.0.1:${target.port}/`, headers: [pair('Accept-Encoding', 'br')] }),
      testContext(),
    );
    expect(acceptEncoding).toBe('br');
  });

  test('decoding stops when the signal fires', async () => {
    const reason = new Error('stop');
    const decoding = decodeBody(
      { bytes: gzipSync(Buffer.alloc(50 * 1024 * 1024)), cut: false, contentEncoding: 'gzip' },
      { limit: 100 * 1024 * 1024, signal: AbortSignal.abort(reason) },
    );
    await expect(decoding).rejects.toBe(reason);
  });
});

describe('the stored body', () => {
  test.each([
    ['ASCII', 'text/plain', Buffer.from('abc'), 'abc'],
    ['UTF-8', 'text/plain', Buffer.from('äöü€😀'), 'äöü€😀'],
    ['a byte order mark', 'text/plain', Buffer.from('\ufeffabc'), 'abc'],
    ['Latin-1', 'text/plain; charset=ISO-8859-1', Buffer.from('äöü', 'latin1'), 'äöü'],
    ['UTF-16', 'text/plain; charset="utf-16le"', Buffer.from('äöü', 'utf16le'), 'äöü'],
    ['an unknown charset', 'text/plain; charset=klingon', Buffer.from('äöü'), 'äöü'],
    ['no type', '', Buffer.from('abc'), 'abc'],
    ['SVG', 'image/svg+xml', Buffer.from('<svg/>'), '<svg/>'],
  ])('text: %s', async (_name, type, body, expected) => {
    const { response } = await run({ headers: type === '' ? {} : { 'content-type': type }, body });
    expect(response).toMatchObject({ body: expected, truncated: false });
    expect(response).not.toHaveProperty('bodyEncoding');
  });

  test('at most 256 KiB, and no half characters', async () => {
    const { response } = await run({ headers: plain, body: Buffer.from(`x${'ä'.repeat(200_000)}`) });
    expect(response).toMatchObject({ truncated: true, size: 400_001 });
    expect(response['body']).toBe(`x${'ä'.repeat((256 * 1024 - 2) / 2)}`);
  });

  test('assertions see the complete body', async () => {
    const { assertions } = await run(
      { headers: plain, body: Buffer.from(`${'x'.repeat(300_000)}needle`) },
      assertion('TEXT_BODY', '', 'CONTAINS', 'needle'),
    );
    expect(assertions[0]?.error).toBeNull();
  });

  test.each([
    'application/pdf',
    'application/octet-stream',
    'application/zip',
    'audio/mpeg',
    'video/mp4',
    'image/tiff',
  ])('a notice instead of %s', async (type) => {
    const { response } = await run({ headers: { 'content-type': type }, body: Buffer.from([0, 1, 2, 3]) });
    expect(response).toMatchObject({ body: `[binary content of type ${type}, 4 bytes]`, truncated: false });
  });

  test('with a TEXT_BODY assertion there is no notice', async () => {
    const { response, assertions } = await run(
      { headers: { 'content-type': 'application/pdf' }, body: Buffer.from('%PDF-1.7') },
      assertion('TEXT_BODY', '', 'CONTAINS', 'PDF-1.7'),
    );
    expect(response).toMatchObject({ body: '%PDF-1.7' });
    expect(assertions[0]?.error).toBeNull();
  });

  test.each(['png', 'jpeg', 'gif', 'webp', 'avif', 'apng', 'bmp', 'x-icon'])(
    'a small image: %s',
    async (kind) => {
      const body = Buffer.from([0x89, 0x50, 0, 255]);
      const { response } = await run({ headers: { 'content-type': `image/${kind}` }, body });
      expect(response).toMatchObject({ body: 'iVAA/w==', bodyEncoding: 'base64', truncated: false });
    },
  );

  test('a large image is a notice', async () => {
    const { response } = await run({
      headers: { 'content-type': 'image/png' },
      body: Buffer.alloc(50 * 1024 + 1),
    });
    expect(response).toMatchObject({ body: `[binary content of type image/png, ${50 * 1024 + 1} bytes]` });
  });
});

describe('assertions on the body', () => {
  const json = { 'content-type': 'application/json' };
  test.each([
    ['application/json', '{"a":{"b":[1,2]}}', '$.a.b[1]', '2', true],
    ['application/problem+json; charset=utf-8', '{"a":1}', '$.a', '1', true],
    ['text/html', '{"a":1}', '$.a', '1', false],
    ['application/json', '{"a":', '$.a', '1', false],
    ['application/json', '', '$.a', '1', false],
    ['application/json', '"text"', '$', 'text', true],
    ['application/json', 'true', '$', 'true', true],
    ['application/json', '{"ä":"ü"}', "$['ä']", 'ü', true],
  ])('JSON_BODY of %s: %s', async (type, body, path, expected, holds) => {
    const { assertions } = await run(
      { headers: { 'content-type': type }, body: Buffer.from(body) },
      assertion('JSON_BODY', path, 'EQUALS', expected),
    );
    expect(assertions[0]?.error === null).toBe(holds);
  });

  test('invalid JSON is reported without any of its text, which may be secret', async () => {
    for (const body of ['s3cret-token-of-the-check', `{"a": ${'s3cret-token '.repeat(20)}`, '{"a"']) {
      const { assertions } = await run(
        { headers: { 'content-type': 'application/json' }, body: Buffer.from(body) },
        assertion('JSON_BODY', '$', 'NOT_NULL', ''),
      );
      expect(assertions[0]?.error).toMatch(
        /^the body is not JSON: (Unexpected token|Expected|Unexpected end)/,
      );
      expect(assertions[0]?.error).not.toMatch(/s3c|"\.\.\.|\.\.\."/);
    }
  });

  test('the type that is not JSON is named', async () => {
    const { assertions } = await run(
      { headers: plain, body: Buffer.from('{}') },
      assertion('JSON_BODY', '$', 'NOT_NULL', ''),
    );
    expect(assertions[0]?.error).toContain(
      'the response has the Content-Type text/plain; JSON_BODY needs application/json',
    );
  });

  test('headers by name in any case, a repeated one by any of its values', async () => {
    const { assertions } = await run({ headers: { ...json, 'X-Thing': 'one' }, body: Buffer.from('{}') }, [
      ...assertion('HEADERS', 'x-thing', 'EQUALS', 'one'),
      ...assertion('HEADERS', 'X-THING', 'EQUALS', 'one'),
      ...assertion('HEADERS', 'x-none', 'IS_NULL', ''),
      ...assertion('RESPONSE_TIME', '', 'LESS_THAN', '10000'),
      ...assertion('RESPONSE_TIME', '', 'LESS_THAN', '0'),
    ]);
    expect(assertions.map(({ error }) => error === null)).toEqual([true, true, true, true, false]);
  });
});
