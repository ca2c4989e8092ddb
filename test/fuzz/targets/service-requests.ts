import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { readHead, readKey } from '../../../src/service/agents/artifact-request.ts';
import { readResult } from '../../../src/service/agents/read-result.ts';
import { acceptGzip } from '../../../src/service/http/gzip-body.ts';
import { scanBody } from '../../../src/service/http/body-shape.ts';
import { readQueryObjects } from '../../../src/service/http/fields/query-objects.ts';
import { createServer } from '../../../src/service/http/server.ts';
import { CreateWindowBody } from '../../../src/service/maintenance/schema.ts';

/** Requests of the service's clients and agents: bodies, gzip, heads of artifacts and queries are taken or refused. */

export const name = 'service-requests';
export const maxBytes = 16 * 1024;

let server: Promise<FastifyInstance> | null = null;

async function started(): Promise<FastifyInstance> {
  const app = await createServer({});
  acceptGzip(app);
  const config = { checksShape: true };
  app.post('/strict', { config, schema: { body: CreateWindowBody } }, async () => ({}));
  app.post('/results', { bodyLimit: 64 * 1024, schema: { body: Type.Unknown() } }, async ({ body }) =>
    readResult(body, 0, { now: () => 1_772_700_000_000 }),
  );
  app.get('/list', { preValidation: readQueryObjects('startsAt'), schema: {} }, async ({ query }) => ({
    query,
  }));
  app.put('/files/:jobId/:attempt/:name', async (request) => ({
    ...readKey(request),
    ...readHead(request),
    sha256: '',
  }));
  await app.ready();
  return app;
}

const encodings = [undefined, 'gzip', 'x-gzip', 'identity', 'br'];

/** Throws if an answer is a 5xx. The first byte chooses the encoding; the first line after it is a query or a header. */
export async function run(data: Buffer): Promise<void> {
  const app = await (server ??= started());
  const end = data.indexOf(10, 1);
  const head = end < 0 ? '' : data.toString('latin1', 1, end);
  const payload = data.subarray(end < 0 ? 1 : end + 1);
  scanBody(payload.toString());
  const encoding = encodings[(data[0] ?? 0) % encodings.length];
  const headers = {
    'content-type': 'application/json',
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  };
  const value = head.replaceAll(/[^\x20-\x7e]/g, '');
  const ranged = { 'content-type': value, 'content-range': value, digest: value, 'x-artifact-type': value };
  const id = '01890000-0000-7000-8000-000000000001';
  const answers = [
    await app.inject({ method: 'POST', url: '/strict', headers, payload }),
    await app.inject({ method: 'POST', url: '/results', headers, payload }),
    await app.inject({ method: 'GET', url: `/list?${encodeURI(value)}` }),
    await app.inject({
      method: 'PUT',
      url: `/files/${id}/1/${encodeURIComponent(value === '' ? 'a' : value)}`,
      headers: { ...ranged, 'x-lease-token': id },
    }),
  ];
  for (const { statusCode, body } of answers) {
    if (statusCode >= 500) throw new Error(`${statusCode} ${body}`);
  }
}

export const close = async (): Promise<void> => (await server)?.close();

const window = JSON.stringify({
  name: 'a',
  startsAt: '2026-03-04T05:00:00Z',
  endsAt: '2026-03-04T06:00:00Z',
  repeatInterval: 1,
  repeatUnit: 'DAY',
  tags: ['a'],
});
const id = '01890000-0000-7000-8000-000000000001';
const result = JSON.stringify({
  jobId: id,
  leaseToken: id,
  attempt: 0,
  resultType: 'FINAL',
  status: 'passed',
  startedAt: '2026-03-04T05:00:00Z',
  stoppedAt: '2026-03-04T05:00:01Z',
  assertions: [],
  timings: { total: 1 },
  details: { a: [{ b: '\u0000' }] },
});

export const seeds = (): (Buffer | string)[] => [
  `\x00startsAt[gte]=2026-03-04&limit=10\n${window}`,
  `\x00startsAt={"gte":"2026-03-04"}&page=2\n${result}`,
  Buffer.concat([Buffer.from('\x01bytes 0-9/10\n'), gzipSync(window)]),
  Buffer.concat([Buffer.from('\x01bytes */0\n'), gzipSync(result)]),
  Buffer.concat([
    Buffer.from('\x01sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\n'),
    gzipSync(Buffer.alloc(100_000, '[')),
  ]),
  `\x04text/plain\n{}`,
];

export const dictionary = [
  '{"',
  '":',
  '[',
  ']',
  '{',
  '}',
  ',',
  'null',
  '1e400',
  '-1',
  '"__proto__":',
  '"constructor":',
  '\\ud800',
  '\\u0000',
  '[gte]=',
  '&',
  '=',
  '%00',
  '%zz',
  'bytes ',
  '/',
  '-',
  '*',
  '2026-02-31',
  'é',
  Buffer.from([0x1f, 0x8b, 8, 0]),
];
