import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

/** Compressed JSON bodies: `content-encoding: gzip`. */

const post = '/v1/checks/url';
const mebibyte = 1024 * 1024;

let service: TestService;
beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

const send = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  service.call<Fields>('POST', post, { body, headers: { 'content-encoding': 'gzip', ...headers } });
const packed = (value: unknown) => Uint8Array.from(gzipSync(JSON.stringify(value)));

describe('a compressed body', () => {
  test.each(['gzip', 'GZIP', 'x-gzip'])('of %s is read as the plain one', async (encoding) => {
    const body = minimalBody('URL', { name: 'packed', description: 'é'.repeat(400) });
    const { status, body: created } = await send(packed(body), { 'content-encoding': encoding });
    expect([status, created['name'], created['description']]).toEqual([201, 'packed', 'é'.repeat(400)]);
  });

  test('identity is no compression', async () => {
    const body = JSON.stringify(minimalBody('URL'));
    expect((await send(body, { 'content-encoding': 'identity' })).status).toBe(201);
  });

  test('is validated as the plain one', async () => {
    const { status, body } = await send(packed({}));
    expect([status, Object.keys(body['attributes'] as Fields)]).toEqual([400, ['name', 'request']]);
  });

  test('needs an API key before it is read', async () => {
    const { status } = await service.call('POST', post, {
      key: null,
      body: 'no gzip',
      headers: { 'content-encoding': 'gzip' },
    });
    expect(status).toBe(401);
  });

  const whole = gzipSync(JSON.stringify(minimalBody('URL')));
  test.each([
    ['no gzip at all', Uint8Array.from(Buffer.from('{"name":"plain"}'))],
    ['cut short', Uint8Array.from(whole.subarray(0, whole.length - 9))],
    [
      'changed on its way',
      Uint8Array.from(whole, (byte, index) => (index === whole.length - 6 ? byte ^ 1 : byte)),
    ],
  ])('400: %s', async (_what, body) => {
    const { status, body: answer } = await send(body);
    expect([status, answer]).toEqual([
      400,
      {
        statusCode: 400,
        error: 'Bad Request',
        message: 'The content-encoding is gzip, but the body is not valid gzip.',
        attributes: { body: ['is not valid gzip'] },
      },
    ]);
  });

  test.each(['br', 'deflate', 'gzip, gzip'])('415: %s', async (encoding) => {
    const { status, body, headers } = await send(packed({}), { 'content-encoding': encoding });
    expect([status, headers.get('accept-encoding'), body]).toEqual([
      415,
      'gzip',
      {
        statusCode: 415,
        error: 'Unsupported Media Type',
        message: 'The body must be sent as it is or compressed with gzip.',
        attributes: { 'content-encoding': ['must be gzip or identity'] },
      },
    ]);
  });

  test('413: a body that is too large after decompression', async () => {
    // 256 MiB of spaces are 0.25 MiB of gzip.
    const bomb = Uint8Array.from(gzipSync(Buffer.alloc(256 * mebibyte, ' ')));
    expect(bomb.length).toBeLessThan(mebibyte);
    const { status, body } = await send(bomb);
    expect([status, body['message'], body['attributes']]).toEqual([
      413,
      'The unpacked body is too large.',
      { body: ['is larger than this endpoint accepts'] },
    ]);
  });

  test('413: a body that is too large before decompression', async () => {
    const { status, body } = await send(new Uint8Array(5 * mebibyte));
    expect([status, body['message']]).toEqual([413, 'The body is too large.']);
  });

  test('413: a chunked body that exceeds the limit packed and unpacked; the service continues', async () => {
    const body = gzipSync(randomBytes(4 * mebibyte + 100 * 1024), { level: 0 });
    const call = request(`${service.url}${post}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.account.key}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'transfer-encoding': 'chunked',
      },
    });
    const answered = once(call, 'response') as Promise<[IncomingMessage]>;
    call.on('error', () => undefined); // the service may close the connection of a refused body
    for (let at = 0; at < body.length; at += 65_536) call.write(body.subarray(at, at + 65_536));
    call.end();
    const [answer] = await answered;
    answer.resume();
    expect(answer.statusCode).toBe(413);
    expect((await service.call('GET', '/v1/checks')).status).toBe(200);
  });

  test('a request without a body may carry the header', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
    expect((await service.call('GET', '/v1/checks', { headers })).status).toBe(200);
  });
});
