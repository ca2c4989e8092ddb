import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { AddressInfo } from 'node:net';
import type { S3Client } from '@aws-sdk/client-s3';
import S3rver from 's3rver';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readStorage, type BucketConfig } from '../../../src/config/storage.ts';
import { createBucketClient } from '../../../src/service/artifacts/bucket-client.ts';
import { createBucketFiles } from '../../../src/service/artifacts/bucket.ts';
import { WrongPlace, type ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { WrongBeginning } from '../../../src/service/artifacts/upload-body.ts';
import { openArtifactStore } from '../../../src/service/artifacts/store.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  resultOf,
  silent,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService } from '../../helpers/service/service.ts';

/** Artifacts in a bucket, over a real S3 server: whole, in pieces, through several replicas, and while the bucket is away. */

const folder = mkdtempSync(join(tmpdir(), 'bucket-'));
const never = new AbortController().signal;
const mega = 1024 * 1024;
const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

let server: S3rver;
let port = 0;
async function startServer(): Promise<void> {
  server = new S3rver({
    address: '127.0.0.1',
    port,
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'monitoring', configs: [] }],
  });
  ({ port } = (await server.run()) as AddressInfo);
}

const environment = (more: Record<string, string> = {}) => ({
  SERVICE_ARTIFACT_STORE: 's3://monitoring/staging',
  S3_ENDPOINT: `http://127.0.0.1:${port}`,
  S3_ACCESS_KEY_ID: 'S3RVER',
  S3_SECRET_ACCESS_KEY: 'S3RVER',
  ...more,
});
function configOf(more: Record<string, string> = {}): BucketConfig {
  const config = readStorage(environment(more));
  if (config === null) throw new Error('a bucket was asked for');
  return config;
}

const clients: S3Client[] = [];
/** One replica's view of the bucket. */
function openFiles(more: Record<string, string> = {}): ArtifactFiles {
  const config = configOf(more);
  const client = createBucketClient(config);
  clients.push(client);
  return createBucketFiles({ client, downloads: client, config, folder: 'artifacts/', log: silent });
}

/** Arrives in chunks as from a socket, and is cut after `breaksAfter` bytes. */
function bodyOf(bytes: Buffer, breaksAfter = Infinity): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 65_536) {
        if (at >= breaksAfter) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
        yield bytes.subarray(at, at + 65_536);
      }
    })(),
    { objectMode: false },
  );
}

async function contentOf(
  files: ArtifactFiles,
  id: string,
  range?: { start: number; end: number },
): Promise<Buffer> {
  const { stream } = await files.open(id, range === undefined ? undefined : () => range);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

beforeAll(startServer);
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('files in a bucket', () => {
  let id: string;
  beforeEach(() => (id = uuidv7()));

  test.each([0, 3, 12 * mega + 17])(
    'of %i bytes are downloaded unchanged, completely and in ranges',
    async (size) => {
      const files = openFiles();
      const bytes = randomBytes(size);
      const written = await files.write(id, { at: 0, size, body: bodyOf(bytes), signal: never });
      expect(written).toEqual({ length: size, sha256: digestOf(bytes) });
      expect(await files.exists(id)).toBe(false);
      await files.finish(id);
      expect(await files.exists(id)).toBe(true);
      expect((await contentOf(files, id)).equals(bytes)).toBe(true);
      if (size > 100) {
        const range = { start: size - 50, end: size - 11 };
        expect((await contentOf(files, id, range)).equals(bytes.subarray(size - 50, size - 10))).toBe(true);
        expect((await files.open(id, () => range)).size).toBe(size);
      }
      await files.remove(id);
      expect(await files.exists(id)).toBe(false);
      await expect(files.open(id)).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );

  test('an interrupted upload resumes through another replica, at the byte where it stopped', async () => {
    const size = 13 * mega + 5;
    const bytes = randomBytes(size);
    const first = openFiles();
    const broken = first.write(id, { at: 0, size, body: bodyOf(bytes, 7 * mega), signal: never });
    await expect(broken).rejects.toMatchObject({ code: 'ECONNRESET' });
    const second = openFiles();
    const there = await second.partLength(id);
    expect(there).toBe(7 * mega);
    const within = second.write(id, { at: 100, size, body: bodyOf(bytes.subarray(100)), signal: never });
    await expect(within).rejects.toThrow(WrongPlace);
    const rest = { at: there, size, body: bodyOf(bytes.subarray(there)), signal: never };
    expect(await second.write(id, rest)).toEqual({ length: size, sha256: null });
    expect(await first.partLength(id)).toBe(size);
    // As an agent does that got no answer: its last byte once more.
    await first.write(id, { at: size - 1, size, body: bodyOf(bytes.subarray(size - 1)), signal: never });
    expect(await first.digest(id)).toEqual(digestOf(bytes));
    await first.finish(id);
    expect((await contentOf(second, id)).equals(bytes)).toBe(true);
    await first.remove(id);
  });

  test('pieces smaller than a part, a restarted file, unexpected bytes, the list', async () => {
    const files = openFiles();
    const bytes = randomBytes(1000);
    for (let at = 0; at < 900; at += 300) {
      const piece = { at, size: at + 300, body: bodyOf(bytes.subarray(at, at + 300)), signal: never };
      expect((await files.write(id, piece)).length).toBe(at + 300);
    }
    const listed = [];
    for await (const item of files.list()) listed.push(item);
    const own = listed.filter((item) => item.id === id);
    expect(own).toEqual([{ id, isPart: true, modifiedAt: expect.any(Number) as number }]);
    await files.write(id, { at: 0, size: 1000, body: bodyOf(bytes), signal: never });
    expect(await files.digest(id)).toEqual(digestOf(bytes));
    const wrong = { at: 0, size: 1000, body: bodyOf(bytes), signal: never, beginning: Buffer.from('xyz') };
    await expect(files.write(uuidv7(), wrong)).rejects.toThrow(WrongBeginning);
    // The rest of a request's stands before the next one of its connection.
    expect(wrong.body.destroyed).toBe(false);
    await files.remove(id);
  });

  test('large downloads have a presigned URL if so configured', async () => {
    const files = openFiles({ S3_PRESIGNED_DOWNLOADS: 'true' });
    const bytes = randomBytes(100);
    await files.write(id, { at: 0, size: 100, body: bodyOf(bytes), signal: never });
    await files.finish(id);
    const file = {
      size: 9 * mega,
      contentType: 'application/zip',
      disposition: 'attachment; filename="a.zip"',
    };
    const url = (await files.urlOf?.(id, file)) ?? '';
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip']);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    expect(await files.urlOf?.(id, { ...file, size: 1000 })).toBeNull();
    expect(await openFiles().urlOf?.(id, file)).toBeNull();
    await files.remove(id);
  });

  test('refused keys and a missing bucket stop the start with the reason', async () => {
    const open = (more: Record<string, string>) =>
      openArtifactStore({ config: { bucket: configOf(more), dataDir: folder }, log: silent });
    await expect(open({ S3_ACCESS_KEY_ID: 'nobody' })).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('are not accepted') as string,
    });
    const elsewhere = open({ SERVICE_ARTIFACT_STORE: 's3://nothing-here' });
    await expect(elsewhere).rejects.toThrow('there is no such bucket');
  });

  test('a wrong secret stops the start with the reason, and errors name the refused key', async () => {
    const asked: string[] = [];
    const refusing = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      request.resume().once('end', () => {
        response.writeHead(403, { 'content-type': 'application/xml' });
        response.end(
          request.method === 'HEAD'
            ? undefined
            : '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SignatureDoesNotMatch</Code><Message>The request signature ' +
                'we calculated does not match the signature you provided.</Message></Error>',
        );
      });
    });
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
    const { port: at } = refusing.address() as AddressInfo; // it listens on TCP
    const more = {
      S3_ENDPOINT: `http://127.0.0.1:${at}`,
      S3_SECRET_ACCESS_KEY: 'not-the-secret-of-the-store',
    };
    try {
      const starting = openArtifactStore({
        config: { bucket: configOf(more), dataDir: folder },
        log: silent,
      });
      const failure = await starting.catch((error: unknown) => error);
      expect(failure).toMatchObject({
        code: 'CONFIGURATION',
        message: expect.stringContaining('are not accepted') as string,
      });
      expect(String(failure)).not.toContain('not-the-secret');
      const files = openFiles(more);
      const refused = {
        statusCode: 503,
        message: "The service's artifact store refuses its keys: try again later.",
      };
      const bytes = randomBytes(10);
      const part = { at: 0, size: 10, body: bodyOf(bytes), signal: never };
      asked.length = 0;
      await expect(files.write(id, part)).rejects.toMatchObject(refused);
      await expect(files.open(id)).rejects.toMatchObject(refused);
      await expect(files.exists(id)).rejects.toMatchObject(refused);
      await expect(files.partLength(id)).rejects.toMatchObject(refused);
      await expect(files.remove(id)).rejects.toMatchObject(refused);
      // No use to ask again: each has asked once.
      expect(asked).toHaveLength(5);
    } finally {
      refusing.closeAllConnections();
      await new Promise((resolve) => refusing.close(resolve));
    }
  });

  test.each([
    [{ SERVICE_ARTIFACT_STORE: 'ftp://x' }, 'must be directory or s3://'],
    [{ S3_ACCESS_KEY_ID: '' }, 'S3_ACCESS_KEY_ID'],
    [{ S3_ENDPOINT: '' }, 'S3_REGION (or S3_ENDPOINT) is required'],
  ])('a configuration like %o is refused', (more, message) => {
    expect(() => readStorage(environment(more as Record<string, string>))).toThrow(message);
  });
});

describe('an agent whose service has its artifacts in a bucket', () => {
  const [embedded] = databases;
  let db: Db;
  beforeAll(async () => {
    if (embedded === undefined) throw new Error('no embedded database');
    db = await embedded.open();
  });
  afterAll(() => embedded?.close());

  test('gets 503 while the bucket is unreachable, resumes afterwards, and the file is downloaded', async () => {
    const clock = createClock('2026-03-04T05:06:07.000Z');
    const files = openFiles();
    const api = await startTestService(db, { now: clock.now, files });
    const service = await createAgentService(db, clock, files);
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    const base = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
    const office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
    const agent = await connectAgent(service.app, office);
    await addCheck(db, { accountId: api.account.id, privateLocations: ['office'], now: clock.now() });
    clock.advance(60_000);
    await agent.claim(0);
    await service.scheduler.tick();
    const [job] = await agent.claim();
    if (job === undefined) throw new Error('no job');
    const bytes = randomBytes(200_000);
    const call = async (method: string, body?: Buffer) =>
      fetch(`${base}/agent/v1/jobs/${job.jobId}/attempts/1/artifacts/trace.zip`, {
        method,
        headers: {
          authorization: `Bearer ${office.key}`,
          'lease-token': job.leaseToken,
          'artifact-type': 'trace',
          'content-type': 'application/zip',
          'repr-digest': `sha-256=:${digestOf(bytes).toString('base64')}:`,
        },
        ...(body === undefined ? {} : { body: new Uint8Array(body) }),
      });
    await server.close();
    const away = await call('PUT', bytes);
    expect(away.status).toBe(503);
    expect(await away.json()).toMatchObject({ message: expect.stringContaining('artifact store') as string });
    await startServer();
    expect((await call('PUT', bytes)).status).toBe(201);
    expect((await call('PUT', bytes)).status).toBe(200);
    const artifact = { name: 'trace.zip', type: 'trace', size: bytes.length, state: 'pending', url: null };
    await agent.report(resultOf(job, clock.now(), { artifacts: [artifact] }));
    const [row] = await db.query<{ id: string }>('select id from check_results');
    const path = `${api.url}/v1/check-results/${job.checkId}/${row?.id}/assets/trace.zip`;
    const answer = await fetch(path, { headers: { authorization: `Bearer ${api.account.key}` } });
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    // A file that is announced and never arrives completely.
    const [other] = await db.query<{ id: string }>(
      `insert into artifacts (id, account_id, job_id, attempt, lease_token, name, type, content_type, size, sha256, state, created_at)
       select gen_random_uuid(), account_id, job_id, 1, lease_token, 'half.zip', type, content_type, 100, sha256, 'pending', created_at
       from artifacts returning id`,
    );
    const half = { at: 0, size: 50, body: bodyOf(bytes.subarray(0, 50)), signal: never };
    await files.write(other?.id ?? '', half);
    expect(await files.partLength(other?.id ?? '')).toBe(50);
    clock.advance(27 * 3_600_000);
    await service.retention.tick();
    expect(await files.partLength(other?.id ?? '')).toBe(0);
    const states = await db.query<{ state: string }>('select state from artifacts order by name');
    expect(states.map(({ state }) => state)).toEqual(['lost', 'stored']);
    await service.app.close();
    await api.close();
  });
});
