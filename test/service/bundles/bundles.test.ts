import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { bundleLimits } from '../../../src/protocol/suite.ts';
import { createArtifactFiles, type ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { bundlesOfAccount, sweepBundleFiles } from '../../../src/service/bundles/bundles.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { clientErrorHandler } from '../../../src/service/http/errors.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { withSlowBody } from '../../../src/service/http/slow-body.ts';
import {
  addLocation,
  createAgentService,
  createClock,
  encryption,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type CallOptions, type TestService } from '../../helpers/service/service.ts';

/** Code bundles, from the upload to what an agent fetches, over real connections. */

const path = '/v1/playwright-bundles';
const day = 86_400_000;
const octets = { 'content-type': 'application/octet-stream' };
const gzipOf = (bytes: number) => gzipSync(randomBytes(bytes), { level: 0 });
const hexOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

type Bundle = { key: string; digest: string; size: number; created_at: string };

describe.each(databases)('code bundles: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const start = '2026-03-04T05:06:07.000Z';
    const clock = createClock(start);
    let db: Db;
    let folder: string;
    let bundles: ArtifactFiles;
    let isFull = false;
    let agents: AgentService;
    let api: TestService;
    let base: string;
    let office: { key: string };

    beforeAll(async () => {
      db = await database.open();
      folder = mkdtempSync(join(tmpdir(), 'bundles-'));
      const full = createArtifactFiles(folder, { reserveBytes: Number.MAX_SAFE_INTEGER });
      const roomy = createArtifactFiles(folder, { reserveBytes: 0 });
      bundles = { ...roomy, write: (id, part) => (isFull ? full : roomy).write(id, part) };
      api = await startTestService(db, { now: clock.now, bundles, encryption });
      agents = await createAgentService(db, clock, null, bundles);
      await agents.app.listen({ host: '127.0.0.1', port: 0 });
      base = `http://127.0.0.1:${(agents.app.server.address() as AddressInfo).port}`;
    });
    beforeEach(async () => {
      clock.set(start);
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
      await emptyTables(db, 'playwright_bundles, checks, locations');
      office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const filesBelow = () =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name);
    const upload = (bytes: Buffer, options: CallOptions = {}) =>
      api.call<Bundle>('POST', path, { body: bytes, headers: octets, ...options });
    async function stored(bytes: Buffer = gzipOf(100)): Promise<Bundle> {
      const { status, body } = await upload(bytes);
      expect(status).toBe(201);
      return body;
    }
    const fetchBundle = (key: string, headers: Record<string, string> = {}, agentKey = office.key) =>
      fetch(`${base}/agent/v1/bundles/${key}`, {
        headers: { authorization: `Bearer ${agentKey}`, ...headers },
      });
    const check = (key: string, fields: object = {}) =>
      api.call<{ id: string; attributes?: object }>('POST', '/v1/checks/playwright', {
        body: { name: 'Shop', codeBundlePath: key, privateLocations: ['office'], ...fields },
      });

    it('is stored, listed and downloaded unchanged, and its file is deleted with it', async () => {
      const bytes = gzipOf(3_000_000);
      const bundle = await stored(bytes);
      const digest = hexOf(bytes);
      expect(bundle).toEqual({ key: digest, digest, size: bytes.length, created_at: start });
      expect((await api.call('GET', `${path}/${bundle.key}`)).body).toEqual(bundle);
      clock.advance(1000);
      const other = await stored();
      expect((await api.call('GET', path)).body).toEqual([other, bundle]);

      const answer = await fetchBundle(bundle.key);
      const header = (name: string) => answer.headers.get(name);
      expect([answer.status, header('content-length'), header('accept-ranges')]).toEqual([
        200,
        String(bytes.length),
        'bytes',
      ]);
      expect(header('repr-digest')).toBe(`sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`);
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);

      expect((await api.call('DELETE', `${path}/${bundle.key}`)).status).toBe(204);
      expect((await api.call('GET', `${path}/${bundle.key}`)).status).toBe(404);
      expect((await api.call('DELETE', `${path}/${bundle.key}`)).status).toBe(404);
      expect((await fetchBundle(bundle.key)).status).toBe(404);
      expect(filesBelow()).toHaveLength(1);
    });

    it('is given in parts', async () => {
      const bytes = gzipOf(1000);
      const { key, digest } = await stored(bytes);
      const part = async (range: string, headers: Record<string, string> = {}) => {
        const answer = await fetchBundle(key, { range, ...headers });
        return [
          answer.status,
          answer.headers.get('content-range'),
          Buffer.from(await answer.arrayBuffer()).toString('hex'),
        ];
      };
      const size = bytes.length;
      const hex = (from: number, to: number) => bytes.subarray(from, to).toString('hex');
      expect(await part('bytes=10-19')).toEqual([206, `bytes 10-19/${size}`, hex(10, 20)]);
      expect(await part('bytes=990-')).toEqual([206, `bytes 990-${size - 1}/${size}`, hex(990, size)]);
      expect(await part('bytes=990-99999')).toEqual([206, `bytes 990-${size - 1}/${size}`, hex(990, size)]);
      expect(await part('bytes=-5')).toEqual([
        206,
        `bytes ${size - 5}-${size - 1}/${size}`,
        hex(size - 5, size),
      ]);
      expect(await part('bytes=1-1', { 'if-range': `"${digest}"` })).toEqual([
        206,
        `bytes 1-1/${size}`,
        hex(1, 2),
      ]);
      expect((await part(`bytes=${size}-`))[0]).toBe(416);
      expect((await part('bytes=-0'))[0]).toBe(416);
      // Multiple ranges, and ranges of another file, return the complete file.
      for (const range of ['bytes=5-2', 'bytes=1-2,4-5', 'lines=1-2', 'bytes=-']) {
        expect([range, ...(await part(range))]).toEqual([range, 200, null, hex(0, size)]);
      }
      expect(await part('bytes=1-2', { 'if-range': '"other"' })).toEqual([200, null, hex(0, size)]);
    });

    it('is stored once per account, however often it is uploaded, and only for that account', async () => {
      const bytes = gzipOf(200_000);
      const [first, ...others] = await Promise.all([1, 2, 3, 4].map(() => stored(bytes)));
      expect(others).toEqual([first, first, first]);
      expect(filesBelow()).toHaveLength(1);
      const key = first?.key ?? '';

      const foreign = { key: api.foreign.key };
      expect((await api.call('GET', `${path}/${key}`, foreign)).status).toBe(404);
      expect((await api.call('DELETE', `${path}/${key}`, foreign)).status).toBe(404);
      expect((await api.call('GET', path, foreign)).body).toEqual([]);
      const abroad = await addLocation(db, { accountId: api.foreign.id, slug: 'abroad' });
      expect((await fetchBundle(key, {}, abroad.key)).status).toBe(404);
      expect((await fetchBundle(key, {}, 'pl_nonsense')).status).toBe(401);
      expect((await api.call('GET', path, { key: null })).status).toBe(401);

      expect((await upload(bytes, foreign)).status).toBe(201);
      expect(filesBelow()).toHaveLength(2);
      expect((await api.call('DELETE', `${path}/${key}`)).status).toBe(204);
      expect((await fetchBundle(key, {}, abroad.key)).status).toBe(200);
    });

    it('refuses invalid bundles, and stores nothing of them', async () => {
      const tell = ({ status, body }: { status: number; body: object }) => [status, body];
      const attributes = { body: ['must be a tar archive compressed with gzip (.tar.gz)'] };
      const notGzip = { ...statusFields(400), message: `body ${attributes.body[0]}.`, attributes };
      expect(tell(await upload(Buffer.from('{}')))).toEqual([400, notGzip]);
      // Large enough that most of it has not been read when the answer is known.
      expect(tell(await upload(randomBytes(5_000_000).fill(1, 0, 2)))).toEqual([400, notGzip]);
      expect(tell(await upload(Buffer.alloc(0)))).toEqual([400, notGzip]);
      expect(tell(await upload(gzipOf(10), { headers: { 'content-type': 'application/json' } }))).toEqual([
        415,
        {
          ...statusFields(415),
          message: 'The bundle must be sent as application/octet-stream.',
          attributes: { 'content-type': ['must be application/octet-stream'] },
        },
      ]);
      expect((await upload(gzipOf(10), { key: null })).status).toBe(401);
      expect(filesBelow()).toEqual([]);
      expect((await api.call('GET', path)).body).toEqual([]);
      for (const key of ['..%2f..%2fetc%2fpasswd', 'x'.repeat(5000), '%00', "'"]) {
        expect([key, (await fetchBundle(key)).status]).toEqual([key, 404]);
      }
    });

    it('a refused upload does not block the next request on its connection', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const ask = (method: string, body?: Buffer) =>
        new Promise<number | string>((resolve) => {
          const authorization = `Bearer ${api.account.key}`;
          const length = body === undefined ? {} : { 'content-length': body.length };
          const headers = { authorization, ...(body === undefined ? {} : octets), ...length };
          const request = httpRequest(`${api.url}${path}`, { method, agent, headers }, (response) => {
            response.resume().on('end', () => resolve(response.statusCode ?? 0));
          });
          request.on('error', (error) => resolve(error.message)).end(body);
        });
      for (let round = 0; round < 3; round++) {
        expect(await ask('POST', randomBytes(20_000_000).fill(1, 0, 2))).toBe(400);
        expect(await ask('GET')).toBe(200);
      }
      agent.destroy();
    });

    /** A request whose length is what the test says, cut off after `sent`. */
    function send(headers: Record<string, string | number>, sent: Buffer, { cut = false } = {}) {
      return new Promise<{ status: number; body: unknown } | null>((resolve) => {
        const request = httpRequest(
          `${api.url}${path}`,
          { method: 'POST', headers: { authorization: `Bearer ${api.account.key}`, ...octets, ...headers } },
          (response) => {
            let text = '';
            response.on('data', (chunk: Buffer) => (text += chunk.toString()));
            response.on('end', () => {
              resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as unknown });
              request.destroy();
            });
          },
        );
        request.on('error', () => resolve(null));
        request.write(sent, () => {
          if (cut) void setTimeout(50).then(() => request.destroy());
        });
        if (!cut && headers['transfer-encoding'] !== undefined) request.end();
      });
    }

    it('requires a length within the limit', async () => {
      expect(await send({ 'transfer-encoding': 'chunked' }, gzipOf(100))).toMatchObject({
        status: 411,
        body: { attributes: { 'content-length': ['must be there'] } },
      });
      const size = bundleLimits.archiveBytes + 1;
      expect(await send({ 'content-length': size }, gzipOf(100))).toMatchObject({
        status: 413,
        body: { attributes: { 'content-length': [`must not be above ${bundleLimits.archiveBytes}`] } },
      });
      expect(filesBelow()).toEqual([]);
    });

    it('stores nothing of an interrupted upload', async () => {
      expect(await send({ 'content-length': 1_000_000 }, gzipOf(50_000), { cut: true })).toBeNull();
      await vi.waitFor(() => expect(filesBelow()).toEqual([]), { timeout: 10_000 });
      expect((await api.call('GET', path)).body).toEqual([]);
    });

    it('reports a full disk', async () => {
      isFull = true;
      const { status, body } = await upload(gzipOf(100));
      expect([status, body]).toEqual([
        507,
        {
          ...statusFields(507),
          message: 'The service has no room for the code bundle: try again later.',
          attributes: {},
        },
      ]);
      expect(filesBelow()).toEqual([]);
      isFull = false;
      await stored();
    });

    it('has no more bundles per account than it may', async () => {
      await db.query(
        `insert into playwright_bundles (id, account_id, key, digest, size, created_at, used_at)
         select gen_random_uuid(), $1, 'k' || n, '', 1, $2, $2 from generate_series(1, $3) as n`,
        [api.account.id, new Date(clock.now()), bundlesOfAccount],
      );
      expect(await upload(gzipOf(10))).toMatchObject({ status: 409 });
      expect(filesBelow()).toEqual([]);
    });

    it('is kept while a check uses it', async () => {
      const { key } = await stored();
      const created = await check(key);
      expect(created.status).toBe(201);
      const refused = await api.call('DELETE', `${path}/${key}`);
      expect([refused.status, refused.body]).toEqual([
        409,
        {
          ...statusFields(409),
          message: 'The code bundle is used by "Shop".',
          attributes: { key: ['is used by checks'] },
        },
      ]);
      await api.call('DELETE', `/v1/checks/${created.body.id}`);
      expect((await api.call('DELETE', `${path}/${key}`)).status).toBe(204);
      expect(await check(key)).toMatchObject({
        status: 400,
        body: {
          attributes: {
            codeBundlePath: [
              `names no code bundle of this account (${key}): upload it with POST /v1/playwright-bundles`,
            ],
          },
        },
      });
    });

    it('is kept for a check that refers to it while others delete it', async () => {
      for (let round = 0; round < 5; round++) {
        const { key } = await stored();
        const [created, deleted] = await Promise.all([check(key), api.call('DELETE', `${path}/${key}`)]);
        expect([
          [201, 409],
          [400, 204],
        ]).toContainEqual([created.status, deleted.status]);
      }
    });

    it('is deleted once no check has used it for a week', async () => {
      const [used, unused, again] = [await stored(), await stored(), await stored(gzipOf(555))];
      const created = await check(used.key);
      clock.advance(6.9 * day);
      await agents.retention.tick();
      const bytes = gzipOf(7);
      const late = await stored(bytes);
      clock.advance(0.2 * day);
      // Another upload restarts the period.
      await db.query('update playwright_bundles set used_at = $2 where key = $1', [
        again.key,
        new Date(clock.now()),
      ]);
      await agents.retention.tick();
      const keys = async () => (await api.call<Bundle[]>('GET', path)).body.map(({ key }) => key).sort();
      expect(await keys()).toEqual([used.key, late.key, again.key].sort());
      expect(unused.size).toBeGreaterThan(0);
      expect(filesBelow()).toHaveLength(3);
      // Its week begins when it was last in use.
      await api.call('DELETE', `/v1/checks/${created.body.id}`);
      clock.advance(6 * day);
      await agents.retention.tick();
      expect(await keys()).toContain(used.key);
      clock.advance(1.1 * day);
      await agents.retention.tick();
      expect(await keys()).toEqual([]);
      expect(filesBelow()).toEqual([]);
    });

    it('is repaired by another upload where its file is gone', async () => {
      const bytes = gzipOf(1000);
      const { key } = await stored(bytes);
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
      const gone = await fetchBundle(key);
      expect([gone.status, await gone.json()]).toMatchObject([
        404,
        {
          ...statusFields(404),
          message: `The file of the code bundle ${key} is missing. Upload the bundle again.`,
        },
      ]);
      expect((await stored(bytes)).key).toBe(key);
      expect(Buffer.from(await (await fetchBundle(key)).arrayBuffer()).equals(bytes)).toBe(true);
    });

    it('deletes unfinished uploads of a service that was killed', async () => {
      const { key } = await stored();
      const [half, whole] = [uuidv7(), uuidv7()];
      for (const name of [`${half}.part`, whole]) {
        const branch = join(folder, name.slice(0, 36).slice(-2));
        mkdirSync(branch, { recursive: true });
        writeFileSync(join(branch, name), 'left');
      }
      // They may still be under way in another process.
      await sweepBundleFiles({ db, bundles, now: Date.now }, { isOnlyUser: false });
      expect(filesBelow()).toHaveLength(3);
      await sweepBundleFiles({ db, bundles, now: () => Date.now() + 2 * 3_600_000 }, { isOnlyUser: false });
      expect(filesBelow()).toHaveLength(1);
      expect((await fetchBundle(key)).status).toBe(200);
      writeFileSync(join(folder, half.slice(-2), `${half}.part`), 'left');
      await sweepBundleFiles({ db, bundles, now: clock.now }, { isOnlyUser: true });
      expect(filesBelow()).toHaveLength(1);
      expect(existsSync(folder)).toBe(true);
    });
  });
});

describe('a body that may be slow', () => {
  /** A server with one route, whose requests must have come within 200 ms but for what `read` allows itself. */
  async function serve(read: (request: IncomingMessage) => Promise<string>) {
    const server = createServer(
      { requestTimeout: 200, connectionsCheckingInterval: 50 },
      (request, response) => {
        read(request).then(
          (text) => response.end(text),
          (error: Error) => response.writeHead(500).end(error.message),
        );
      },
    );
    server.on('clientError', clientErrorHandler);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // it listens on TCP
    return { server, port };
  }
  const whole = async (request: IncomingMessage, signal?: AbortSignal) => {
    let length = 0;
    const count = async (source: AsyncIterable<Buffer>) => {
      for await (const chunk of source) length += chunk.length;
    };
    await pipeline(request, count, signal === undefined ? {} : { signal });
    return `${length} bytes`;
  };
  /** Sends a byte each 50 ms, as many as said, of a body that has more if `stalls`. */
  async function trickle(port: number, { bytes, stalls = false }: { bytes: number; stalls?: boolean }) {
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      method: 'POST',
      headers: { 'content-length': stalls ? bytes + 1 : bytes },
    });
    const answer = new Promise<string>((resolve) => {
      request.on('error', () => resolve('broken off'));
      request.on('response', (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('close', () => resolve(`${response.statusCode} ${text}`));
      });
    });
    for (let sent = 0; sent < bytes; sent++) {
      request.write('x');
      await setTimeout(50);
    }
    if (!stalls) request.end();
    const text = await answer;
    request.destroy();
    return text;
  }

  it('takes its time, but not all there is', async () => {
    const times = { totalMs: 60_000, idleMs: 60_000 };
    const slow = await serve((request) => withSlowBody(request, times, (signal) => whole(request, signal)));
    const idle = await serve((request) =>
      withSlowBody(request, { ...times, idleMs: 300 }, (signal) => whole(request, signal)),
    );
    const long = await serve((request) =>
      withSlowBody(request, { ...times, totalMs: 300 }, (signal) => whole(request, signal)),
    );
    const ordinary = await serve((request) => whole(request));
    try {
      const answers = await Promise.all([
        trickle(slow.port, { bytes: 16 }),
        trickle(idle.port, { bytes: 2, stalls: true }),
        trickle(long.port, { bytes: 2, stalls: true }),
        trickle(ordinary.port, { bytes: 2, stalls: true }),
      ]);
      expect(answers).toEqual([
        '200 16 bytes',
        '500 The operation was aborted',
        '500 The operation was aborted',
        '408 {"statusCode":408,"error":"Request Timeout","message":"The request took too long to arrive.","attributes":{}}',
      ]);
    } finally {
      for (const { server } of [slow, idle, long, ordinary]) {
        server.closeAllConnections();
        server.close();
      }
    }
  });
});
