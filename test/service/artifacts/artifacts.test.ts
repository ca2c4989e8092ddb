import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createArtifactFiles, type ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { scheduledJobId } from '../../../src/protocol/schedule.ts';
import { fitsPattern } from '../../../src/service/http/fields/name-pattern.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  resultOf,
  type AgentService,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Files of runs, from the first byte to the download, over real connections. */

const limit = 150 * 1024 * 1024;
const minute = 60_000;
const digestOf = (bytes: Buffer) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;

describe.each(databases)('artifacts: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock('2026-03-04T05:06:07.000Z');
    let db: Db;
    let folder: string;
    let files: ArtifactFiles;
    let service: AgentService;
    let api: TestService;
    let base: string;
    let office: { key: string };
    let agent: TestAgent;
    let job: TestJob;

    beforeAll(async () => {
      db = await database.open();
      folder = mkdtempSync(join(tmpdir(), 'artifacts-'));
      files = createArtifactFiles(folder, { reserveBytes: 0 });
      api = await startTestService(db, { now: clock.now, files });
      service = await createAgentService(db, clock, files);
      await service.app.listen({ host: '127.0.0.1', port: 0 });
      base = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
    });
    afterAll(async () => {
      await service.app.close();
      await api.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    });
    beforeEach(async () => {
      clock.set('2026-03-04T05:06:07.000Z');
      await emptyTables(db, 'check_results, finished_jobs, artifacts, checks, locations');
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
      office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
      agent = await connectAgent(service.app, office);
      job = await nextJob();
    });

    async function nextJob(): Promise<TestJob> {
      const accountId = api.account.id;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      clock.advance(minute);
      await agent.claim(0);
      await service.scheduler.tick();
      const [claimed] = await agent.claim();
      if (claimed === undefined) throw new Error('no job');
      return claimed;
    }

    type Sent = {
      name?: string;
      attempt?: number;
      token?: string;
      key?: string;
      type?: string;
      contentType?: string;
      digest?: string | null;
      range?: string;
      method?: string;
    };
    async function send(bytes: Buffer | null, sent: Sent = {}) {
      const { name = 'trace.zip', attempt = 1, token = job.leaseToken, key = office.key } = sent;
      const url = `${base}/agent/v1/jobs/${job.jobId}/attempts/${attempt}/artifacts/${name}`;
      const digest = sent.digest === undefined && bytes !== null ? digestOf(bytes) : sent.digest;
      const response = await fetch(url, {
        method: sent.method ?? 'PUT',
        headers: {
          authorization: `Bearer ${key}`,
          'lease-token': token,
          'artifact-type': sent.type ?? 'trace',
          'content-type': sent.contentType ?? 'application/zip',
          ...(digest === null || digest === undefined ? {} : { 'repr-digest': digest }),
          ...(sent.range === undefined ? {} : { 'content-range': sent.range }),
        },
        ...(bytes === null ? {} : { body: bytes }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown), response };
    }
    const head = async (sent: Sent = {}) => {
      const { status, response } = await send(null, { ...sent, method: 'HEAD' });
      const header = (name: string) => response.headers.get(name);
      return [status, header('artifact-length'), header('content-length'), header('artifact-state')];
    };
    const listed = (name = 'trace.zip', more: object = {}) => ({
      name,
      type: 'trace',
      size: 3,
      state: 'pending',
      url: null,
      ...more,
    });
    async function report(artifacts: object[], fields: object = {}): Promise<string> {
      const [answer] = await agent.report(resultOf(job, clock.now(), { artifacts, ...fields }));
      expect(answer?.outcome).toBe('stored');
      const [row] = await db.query<{ id: string }>('select id from check_results where job_id = $1', [
        job.jobId,
      ]);
      return `/v1/check-results/${job.checkId}/${row?.id}`;
    }
    const artifactsAt = async (path: string) =>
      (await api.call<{ artifacts: { state: string; url: string | null; size: number }[] }>('GET', path)).body
        .artifacts;

    it('waits for the result of a run that its agent made itself', async () => {
      const [check] = await db.query<{ id: string; locationId: string }>(
        `insert into kept_checks (check_id, agent_id, account_id, location_id, owed_from, rev, epoch)
         select c.id, $1, c.account_id, l.id, $2, 1, 1 from checks c, locations l where l.slug_name = 'office'
         returning check_id as id, location_id as "locationId"`,
        [agent.agentId, new Date(clock.now())],
      );
      if (check === undefined) throw new Error('nothing is held');
      const dueAt = clock.now();
      const jobId = scheduledJobId(check.id, check.locationId, dueAt);
      job = { ...job, jobId, checkId: check.id, leaseToken: agent.agentId };
      const one = randomBytes(3);
      const early = await send(one);
      expect(early.status).toBe(503);
      expect(Number(early.response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await head())[0]).toBe(503);
      const path = await report([listed()], { dueAt: new Date(dueAt).toISOString() });
      expect(await send(one)).toMatchObject({ status: 201, body: { state: 'stored', size: 3 } });
      expect((await artifactsAt(path)).map(({ state }) => state)).toEqual(['stored']);
      // Of a run that is known, or by another token, nothing is awaited.
      expect((await send(one, { attempt: 2 })).status).toBe(404);
      expect((await send(one, { token: uuidv7() })).status).toBe(404);
      await db.query('delete from kept_checks');
    });

    it('is uploaded before or after the result, and downloaded unchanged', async () => {
      const [one, two] = [randomBytes(100_000), randomBytes(50)];
      expect(await send(one)).toMatchObject({ status: 201, body: { state: 'stored', size: 100_000 } });
      const path = await report([listed(), listed('page.html', { type: 'report' })]);
      expect((await artifactsAt(path)).map(({ state }) => state)).toEqual(['stored', 'pending']);
      const html = { name: 'page.html', type: 'report', contentType: 'text/html; charset=utf-8' };
      expect(await send(two, html)).toMatchObject({ status: 201 });
      const shown = await artifactsAt(path);
      expect(shown).toEqual([
        {
          name: 'trace.zip',
          type: 'trace',
          size: 100_000,
          state: 'stored',
          url: `${api.url}${path}/assets/trace.zip`,
        },
        {
          name: 'page.html',
          type: 'report',
          size: 50,
          state: 'stored',
          url: `${api.url}${path}/assets/page.html`,
        },
      ]);
      const answers = await Promise.all(
        shown.map(({ url }) => fetch(url ?? '', { headers: { authorization: `Bearer ${api.account.key}` } })),
      );
      const headersOf = (name: string) => answers.map(({ headers }) => headers.get(name));
      expect(headersOf('content-type')).toEqual(['application/zip', 'application/octet-stream']);
      expect(headersOf('content-disposition')).toEqual([
        'attachment; filename="trace.zip"',
        'attachment; filename="page.html"',
      ]);
      expect(headersOf('x-content-type-options')).toEqual(['nosniff', 'nosniff']);
      expect(headersOf('content-security-policy')[1]).toMatch(/; sandbox$/);
      const bodies = await Promise.all(
        answers.map(async (answer) => Buffer.from(await answer.arrayBuffer())),
      );
      expect(bodies[0]?.equals(one)).toBe(true);
      expect(bodies[1]?.equals(two)).toBe(true);
    });

    it('lists files by type and name, only for their own account', async () => {
      for (const [name, type] of [
        ['trace.zip', 'trace'],
        ['trace-2.zip', 'trace'],
        ['shot.png', 'screenshot'],
      ] as const) {
        await send(Buffer.from(name), { name, type });
      }
      const path = await report([listed(), listed('never.zip')]);
      const names = async (query: string) => {
        const { body } = await api.call<{ assets: { name: string }[] }>('GET', `${path}/assets${query}`);
        return body.assets.map(({ name }) => name);
      };
      expect(await names('')).toEqual(['shot.png', 'trace-2.zip', 'trace.zip']);
      expect(await names('?type=trace')).toEqual(['trace-2.zip', 'trace.zip']);
      expect(await names('?name=*-?.ZIP')).toEqual(['trace-2.zip']);
      expect(await names('?type=video')).toEqual([]);
      expect((await api.call('GET', `${path}/assets?type=nonsense`)).status).toBe(400);
      for (const url of [`${path}/assets`, `${path}/assets/trace.zip`]) {
        expect((await api.call('GET', url, { key: api.foreign.key })).status).toBe(404);
        expect((await api.call('GET', url, { key: null })).status).toBe(401);
      }
      expect((await api.call('GET', `${path}/assets/never.zip`)).status).toBe(404);
      expect((await api.call('GET', `${path}/assets/..%2f..%2fetc`)).status).toBe(404);
      const odd = ['a%00.zip', '%00', 'trace.zip%00', '%ed%a0%80', '%zz', '%', '%ff', 'ü', '%0d%0aa: b'];
      for (const name of odd) {
        const { status } = await api.call('GET', `${path}/assets/${name}`);
        expect([400, 404], name).toContain(status);
      }
    });

    it('is downloaded in ranges, as players of videos do', async () => {
      const bytes = randomBytes(1000);
      await send(bytes);
      const path = await report([listed()]);
      const read = (range: string, more: Record<string, string> = {}) =>
        fetch(`${api.url}${path}/assets/trace.zip`, {
          headers: { authorization: `Bearer ${api.account.key}`, range, ...more },
        });
      const part = await read('bytes=100-199');
      expect([part.status, part.headers.get('content-range'), part.headers.get('accept-ranges')]).toEqual([
        206,
        'bytes 100-199/1000',
        'bytes',
      ]);
      expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(100, 200))).toBe(true);
      const rest = await read('bytes=-10', { 'if-range': part.headers.get('etag') ?? '' });
      expect([rest.status, (await rest.arrayBuffer()).byteLength]).toEqual([206, 10]);
      for (const [range, more] of [
        ['bytes=5-1', {}],
        ['bytes=0-1,5-6', {}],
        ['lines=1', {}],
        ['bytes=0-1', { 'if-range': '"another"' }],
      ] as const) {
        const whole = await read(range, more);
        expect([whole.status, (await whole.arrayBuffer()).byteLength], range).toEqual([200, 1000]);
      }
      expect((await read('bytes=1000-')).status).toBe(416);
    });

    it('is sent twice without harm, and never replaced', async () => {
      const bytes = randomBytes(1000);
      expect((await send(bytes)).status).toBe(201);
      expect(await send(bytes)).toMatchObject({ status: 200, body: { state: 'stored', size: 1000 } });
      expect((await send(randomBytes(1000))).status).toBe(409);
      expect(await head()).toEqual([200, '1000', '1000', 'stored']);
    });

    it('resumes where a connection broke', async () => {
      const bytes = randomBytes(3_000_000);
      expect(await head()).toEqual([200, '0', '0', 'pending']);
      const url = `${base}/agent/v1/jobs/${job.jobId}/attempts/1/artifacts/trace.zip`;
      const request = httpRequest(url, {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${office.key}`,
          'lease-token': job.leaseToken,
          'artifact-type': 'trace',
          'content-type': 'application/zip',
          'content-length': bytes.length,
          'repr-digest': digestOf(bytes),
        },
      });
      request.on('error', () => undefined);
      request.write(bytes.subarray(0, 1_000_000));
      const there = async () => Number((await head())[1]);
      await expect.poll(there, { timeout: 20_000 }).toBeGreaterThan(0);
      request.destroy();
      await expect.poll(async () => (await there()) === (await there()), { timeout: 20_000 }).toBe(true);
      const from = await there();
      expect(from).toBeLessThanOrEqual(1_000_000);
      const last = bytes.length - 1;
      // Beyond the stored bytes: the response has the offset to resume at.
      expect(
        await send(bytes.subarray(from + 1), {
          digest: digestOf(bytes),
          range: `bytes ${from + 1}-${last}/${bytes.length}`,
        }),
      ).toMatchObject({ status: 416 });
      const middle = from + 1000;
      expect(
        await send(bytes.subarray(from, middle), {
          digest: digestOf(bytes),
          range: `bytes ${from}-${middle - 1}/${bytes.length}`,
        }),
      ).toMatchObject({ status: 200, body: { state: 'pending', size: middle } });
      expect(
        await send(bytes.subarray(middle), {
          digest: digestOf(bytes),
          range: `bytes ${middle}-${last}/${bytes.length}`,
        }),
      ).toMatchObject({ status: 201, body: { state: 'stored', size: bytes.length } });
    });

    it('takes an empty file', async () => {
      const empty = Buffer.alloc(0);
      expect(await send(empty, { range: 'bytes */0' })).toMatchObject({
        status: 201,
        body: { state: 'stored', size: 0 },
      });
      const path = await report([listed('trace.zip', { size: 0 })]);
      const [shown] = await artifactsAt(path);
      const answer = await fetch(shown?.url ?? '', {
        headers: { authorization: `Bearer ${api.account.key}` },
      });
      expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, 0]);
    });

    it('refuses bytes that do not match the digest, and restarts', async () => {
      const bytes = randomBytes(1000);
      expect((await send(bytes, { digest: digestOf(randomBytes(3)) })).status).toBe(422);
      expect((await head())[1]).toBe('0');
      expect((await send(bytes)).status).toBe(201);
    });

    it('refuses invalid uploads with the wrong field, and stores nothing of them', async () => {
      const refused: [string, Sent, number][] = [
        ['a foreign token', { token: uuidv7() }, 404],
        ['no token', { token: '' }, 400],
        ['an attempt that is none', { attempt: 0 }, 400],
        ['a key that is none', { key: 'pl_00000000000000000000000000000000' }, 401],
        ['no digest', { digest: null }, 400],
        ['a type that is none', { type: 'holodeck' }, 400],
        ['a range that is none', { range: 'bytes 5-2/10' }, 400],
        ['a range of another length', { range: 'bytes 0-99/100' }, 400],
        ['a range beyond the end', { range: 'bytes 0-2/2' }, 400],
        ['a name with ../', { name: '..%2f..%2fkeys.json' }, 400],
        ['a name of dots', { name: '%2e%2e' }, 404],
        ['a name that is too long', { name: 'x'.repeat(201) }, 400],
        ['a size above the limit', { range: `bytes 0-2/${limit + 1}` }, 413],
      ];
      for (const [what, sent, status] of refused) {
        const answer = await send(Buffer.from('abc'), sent);
        expect(answer.status, what).toBe(status);
        expect(answer.body).toMatchObject({ message: expect.any(String), attributes: expect.any(Object) });
        expect(readdirSync(folder)).toEqual([]);
      }
    });

    it('accepts a size at the limit, and refuses one above it', async () => {
      const range = `bytes 0-2/${limit}`;
      expect(await send(Buffer.from('abc'), { name: 'largest', range })).toMatchObject({
        status: 200,
        body: { state: 'pending', size: 3 },
      });
      await send(Buffer.from('abc'), { range: `bytes 0-2/${limit + 1}` });
      const path = await report([listed()]);
      expect((await artifactsAt(path))[0]).toMatchObject({ state: 'refused', url: null });
    });

    it('accepts files of a finished run only from the lease that reported it', async () => {
      const bytes = Buffer.from('abc');
      clock.advance(40_000);
      await service.scheduler.tick();
      const [again] = await agent.claim();
      expect(again?.jobId).toBe(job.jobId);
      const late = job.leaseToken;
      job = again ?? job;
      // Both leases may upload files while the run is in progress, each its own.
      expect((await send(bytes)).status).toBe(201);
      expect((await send(Buffer.from('other'), { token: late })).status).toBe(201);
      const path = await report([listed('a.zip'), listed()]);
      expect((await send(bytes, { name: 'a.zip', token: late })).status).toBe(404);
      expect((await send(bytes, { name: 'a.zip', attempt: 2 })).status).toBe(404);
      expect((await send(bytes, { name: 'a.zip' })).status).toBe(201);
      expect((await artifactsAt(path)).map(({ state, size }) => [state, size])).toEqual([
        ['stored', 3],
        ['stored', 3],
      ]);
    });

    it('believes an agent that a file is lost, unless it is stored', async () => {
      await send(Buffer.from('abc'), { name: 'here.zip' });
      const path = await report([listed('here.zip'), listed('gone.zip'), listed('later.zip')]);
      const told = ['here.zip', 'gone.zip'].map((name) => ({
        jobId: job.jobId,
        attempt: 1,
        leaseToken: job.leaseToken,
        name,
        type: 'trace',
        state: 'lost',
      }));
      const strangers = { ...told[0], leaseToken: uuidv7() };
      const call = { agentId: agent.agentId, artifacts: [...told, strangers] };
      expect(await agent.call('artifacts/states', call)).toEqual({ status: 200, body: { accepted: 2 } });
      const states = async () => (await artifactsAt(path)).map(({ state }) => state);
      expect(await states()).toEqual(['stored', 'lost', 'pending']);
      clock.advance(26 * 60 * minute);
      expect(await states()).toEqual(['stored', 'lost', 'lost']);
    });

    it('refuses more files, and more bytes, than an attempt may have', async () => {
      for (let n = 0; n < 14; n++) {
        const range = `bytes 0-2/${limit}`;
        const { status } = await send(Buffer.from('abc'), { name: `large-${n}`, range });
        expect(status, String(n)).toBe(n < 13 ? 200 : 413);
      }
      // Nor may one that is small at first grow.
      expect((await send(Buffer.from('abc'), { name: 'small' })).status).toBe(201);
      expect((await send(Buffer.from('abc'), { name: 'grows', range: 'bytes 0-2/6' })).status).toBe(200);
      const range = `bytes 0-2/${limit}`;
      expect((await send(Buffer.from('abd'), { name: 'grows', range })).status).toBe(413);
    });

    it('aborts a stalled upload when the next one arrives', async () => {
      const bytes = randomBytes(2000);
      const url = `${base}/agent/v1/jobs/${job.jobId}/attempts/1/artifacts/trace.zip`;
      const stuck = httpRequest(url, {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${office.key}`,
          'lease-token': job.leaseToken,
          'content-type': 'application/zip',
          'content-length': bytes.length,
          'repr-digest': digestOf(bytes),
        },
      });
      const ended = new Promise((resolve) => stuck.on('error', resolve).on('response', resolve));
      stuck.write(bytes.subarray(0, 500));
      await expect.poll(async () => (await head())[1], { timeout: 20_000 }).toBe('500');
      expect((await send(bytes)).status).toBe(201);
      await ended;
      stuck.destroy();
    });

    it('is deleted with its result', async () => {
      await send(Buffer.from('abc'));
      const stored = () =>
        readdirSync(folder).flatMap((name) =>
          readdirSync(join(folder, name)).map((id) => join(folder, name, id)),
        );
      const [file] = stored();
      clock.advance(31 * 24 * 60 * minute);
      await service.retention.tick();
      expect(existsSync(file ?? '')).toBe(false);
      expect(await db.query('select 1 from artifacts')).toEqual([]);
    });

    it('answers 507 while its disk is full', async () => {
      const full = createArtifactFiles(folder, { reserveBytes: Number.MAX_SAFE_INTEGER });
      const other = await createAgentService(db, clock, full);
      await other.app.listen({ host: '127.0.0.1', port: 0 });
      const working = base;
      base = `http://127.0.0.1:${(other.app.server.address() as AddressInfo).port}`;
      try {
        expect(await send(Buffer.from('abc'))).toMatchObject({ status: 507, body: { attributes: {} } });
        expect((await head())[1]).toBe('0');
      } finally {
        await other.app.close();
      }
      base = working;
      expect((await send(Buffer.from('abc'))).status).toBe(201);
    });
  });
});

it.each([
  ['trace.zip', '*', true],
  ['trace.zip', 'TRACE.zip', true],
  ['trace.zip', 't*e.z?p', true],
  ['trace.zip', '*.png', false],
  ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab', '*a*a*a*a*a*a*a*a*a*a*a*a*c', false],
  ['', '**', true],
  ['a', '', false],
  ['a.b', 'a?b?', false],
])('%s fits %s: %s', (name, pattern, expected) => {
  expect(fitsPattern(name, pattern)).toBe(expected);
});
