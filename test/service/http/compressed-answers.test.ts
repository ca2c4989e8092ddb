import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Compressed answers, as they are on the wire. */

const [database] = databases.filter(({ unavailable }) => unavailable === null);
let service: TestService;

beforeAll(async () => {
  if (database === undefined) throw new Error('there is no database');
  service = await startTestService(await database.open());
});
afterAll(async () => {
  await service.close();
  await database?.close();
});

type Answer = { status: number; headers: { [name: string]: unknown }; body: Buffer };
const read = (path: string, accepted: string | undefined, method = 'GET') =>
  new Promise<Answer>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${service.account.key}`,
      ...(accepted === undefined ? {} : { 'accept-encoding': accepted }),
    };
    request(new URL(path, service.url), { method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
      );
    })
      .on('error', reject)
      .end();
  });

/** About 40 kB. */
const list = '/v1/analytics/metrics';

test.each([
  ['br, gzip', 'br', brotliDecompressSync],
  ['gzip;q=0.5, br;q=0', 'gzip', gunzipSync],
] as const)('an answer to a client that accepts %s is %s', async (accepted, encoding, unpack) => {
  const plain = await read(list, undefined);
  expect(plain.status).toBe(200);
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers['vary']).toContain('accept-encoding');
  const { headers, body } = await read(list, accepted);
  expect(headers['content-encoding']).toBe(encoding);
  expect(headers['content-type']).toBe(plain.headers['content-type']);
  expect(Number(headers['content-length'])).toBe(body.length);
  expect(body.length).toBeLessThan(plain.body.length / 3);
  expect(unpack(body)).toEqual(plain.body);
});

test('small answers, errors without a body and HEAD stay as they are', async () => {
  const small = await read('/v1/me', 'br, gzip');
  expect(small.headers['content-encoding']).toBeUndefined();
  const head = await read(list, 'br, gzip', 'HEAD');
  expect([head.headers['content-encoding'], head.body.length]).toEqual([undefined, 0]);
});

test('an ETag stays that of the plain document', async () => {
  const page = await read('/', 'br, gzip');
  expect([page.status, page.headers['content-encoding']]).toEqual([200, undefined]);
  expect(page.headers['etag']).toMatch(/^"/);
});
