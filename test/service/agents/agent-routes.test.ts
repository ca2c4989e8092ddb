import { gzipSync } from 'node:zlib';
import { Compile } from 'typebox/compile';
import { describe, expect, it, vi } from 'vitest';
import { UrlJob } from '../../../src/protocol/job.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { agentRoutesBench } from '../../helpers/service/agent-routes-bench.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  encryption,
  resultOf,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { statusFields } from '../../helpers/service/error-body.ts';

/** Who may call the agent routes, how jobs are handed out, and long polls. */

const minute = 60_000;

describe.each(databases)('agent protocol: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = agentRoutesBench(database);
    const { clock, nextJobs, oneJob, status } = bench;

    it('refuses unknown keys with the error shape, before it reads a body', async () => {
      const { app, agent } = bench;
      for (const key of ['pl_00000000000000000000000000000000', 'x']) {
        expect(await agent.call('hello', { anything: 1 }, key)).toEqual({
          status: 401,
          body: { ...statusFields(401), message: expect.stringContaining('is not valid'), attributes: {} },
        });
      }
      const answer = await app.inject({ method: 'POST', url: '/agent/v1/hello' });
      expect([answer.statusCode, answer.json()]).toEqual([
        401,
        { ...statusFields(401), message: expect.stringContaining('is missing'), attributes: {} },
      ]);
    });

    it('takes a compressed body', async () => {
      const { app, office, agent } = bench;
      const packed = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      const claim = async (payload: Buffer) =>
        (
          await app.inject({
            method: 'POST',
            url: '/agent/v1/jobs/claim',
            headers: { ...packed, authorization: `Bearer ${office.key}` },
            payload,
          })
        ).json<{ statusCode?: number; attributes?: object }>();
      const bad = { agentId: agent.agentId, free: { uptime: -1 }, waitSeconds: 0 };
      expect(await claim(gzipSync(JSON.stringify(bad)))).toMatchObject({
        statusCode: 400,
        attributes: { 'free.uptime': [expect.any(String)] },
      });
      expect(await claim(Buffer.from(JSON.stringify(bad)))).toMatchObject({
        attributes: { body: ['is not valid gzip'] },
      });
    });

    it('names the fields of a bad body, and ignores fields that it does not know', async () => {
      const { agent } = bench;
      expect(
        await agent.call('jobs/claim', { agentId: agent.agentId, free: { uptime: -1 }, waitSeconds: 99 }),
      ).toEqual({
        status: 400,
        body: {
          ...statusFields(400),
          message: expect.any(String),
          attributes: { 'free.uptime': [expect.any(String)], waitSeconds: [expect.any(String)] },
        },
      });
      const known = { agentId: agent.agentId, free: { uptime: 1, holodeck: 5 }, waitSeconds: 0, warp: true };
      expect(await agent.call('jobs/claim', known)).toEqual({ status: 204, body: null });
    });

    it('asks an agent that the location does not know to say hello', async () => {
      const { agent } = bench;
      for (const agentId of [uuidv7(), 'nonsense']) {
        const answer = await agent.call('jobs/claim', { agentId, free: { uptime: 1 }, waitSeconds: 0 });
        expect(answer).toMatchObject({
          status: 409,
          body: { attributes: { agentId: [expect.any(String)] } },
        });
      }
    });

    it('tells agents the networks of their location, and asks for a hello when these change', async () => {
      const { agent, db, office } = bench;
      const claim = () =>
        agent.call('jobs/claim', { agentId: agent.agentId, free: { uptime: 1 }, waitSeconds: 0 });
      expect((await claim()).status).toBe(204);
      for (const list of [['10.0.0.0/8'], [], null]) {
        await db.query('update locations set allowed_networks = $2 where id = $1', [office.id, list]);
        expect((await claim()).status).toBe(409);
        const { body } = await agent.call('hello', agent.hello);
        expect(body).toMatchObject({
          agentId: agent.agentId,
          location: { slugName: 'office', allowedNetworks: list },
        });
        expect((await claim()).status).toBe(204);
      }
    });

    it('hands out a job that matches its schema, with all settings of the check', async () => {
      const { db, office, agent } = bench;
      await db.query('update locations set proxy_url = $2 where id = $1', [
        office.id,
        Buffer.from(encryption.seal('http://user:pass@proxy:3128')),
      ]);
      const job = await oneJob({
        definition: {
          shouldFail: true,
          degradedResponseTime: 100,
          maxResponseTime: 200,
          retryStrategy: {
            type: 'LINEAR',
            baseBackoffSeconds: 10,
            maxRetries: 3,
            maxDurationSeconds: 600,
            sameRegion: false,
            onlyOn: [],
          },
          environmentVariables: [
            { key: 'TOKEN', value: encryption.seal('secret!'), locked: false, secret: true },
          ],
        },
      });
      expect([...Compile(UrlJob).Errors(job)]).toEqual([]);
      expect(job).toMatchObject({
        checkType: 'URL',
        lane: 'uptime',
        runLocation: 'office',
        attempt: 1,
        firstAttemptAt: null,
        shouldFail: true,
        degradedResponseTime: 100,
        maxResponseTime: 200,
        // There is no other location to go to.
        retryStrategy: { type: 'LINEAR', sameRegion: true },
        environmentVariables: [{ key: 'TOKEN', value: 'secret!', locked: false, secret: true }],
        proxyUrl: 'http://user:pass@proxy:3128',
        leaseExpiresAt: new Date(clock.now() + 30_000).toISOString(),
        // 3 retries after 10 + 20 + 30 s, 4 attempts of 30 s, and a minute.
        deadline: new Date(clock.now() + 240_000).toISOString(),
      });
      expect(clock.now() - Date.parse(job.dueAt)).toBeLessThan(minute);
      expect(await agent.claim()).toEqual([]);
    });

    it('ends a run whose secrets cannot be decrypted, and hands out the others', async () => {
      const { db, accountId } = bench;
      const broken = await addCheck(db, {
        accountId,
        privateLocations: ['office'],
        now: clock.now(),
        definition: {
          environmentVariables: [{ key: 'A', value: 'not sealed', locked: false, secret: true }],
        },
      });
      const good = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      expect((await nextJobs()).map(({ checkId }) => checkId)).toEqual([good]);
      expect(await status(broken)).toMatchObject({
        status: 'errored',
        has_errors: true,
        reason: { code: 'INTERNAL' },
      });
    });

    it('does not give jobs of one location to another', async () => {
      const { db, app, accountId } = bench;
      const home = await addLocation(db, { accountId, slug: 'home' });
      const other = await connectAgent(app, home);
      const job = await oneJob();
      expect(await other.claim()).toEqual([]);
      expect(await other.report(resultOf(job, clock.now()))).toEqual([
        { jobId: job.jobId, attempt: 1, outcome: 'stored' },
      ]);
      // Where the lease was, not where its reporter is.
      expect(await db.query('select run_location as at from check_results')).toEqual([{ at: 'office' }]);
    });

    it('stores only known fields of agents and events', async () => {
      const { db, app, office } = bench;
      const deep = `${'['.repeat(15)}${']'.repeat(15)}`;
      const post = (path: string, body: object) =>
        app.inject({
          method: 'POST',
          url: `/agent/v1/${path}`,
          headers: { authorization: `Bearer ${office.key}`, 'content-type': 'application/json' },
          payload: JSON.stringify(body).replaceAll('"DEEP"', deep),
        });
      const host = {
        hostname: 'h',
        platform: 'linux',
        arch: 'x64',
        nodeVersion: 'v20',
        cores: 2,
        memoryBytes: 1,
      };
      const hello = { instanceId: 'one', version: '1', protocolMinor: 1, checkTypes: [], runtimes: [] };
      const answer = await post('hello', {
        ...hello,
        host: { ...host, newer: 'DEEP' },
        lanes: { uptime: 1, newer: 'DEEP' },
      });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['service-time']).toBe(new Date(clock.now()).toISOString());
      expect(await db.query(`select host, lanes from agents where instance_id = 'one'`)).toEqual([
        { host, lanes: { uptime: 1 } },
      ]);
      const event = { time: 't', message: 'm', version: '1', platform: 'linux', runtime: 'v20' };
      const events = await post('events', { agentId: 'x', events: [{ ...event, newer: 'DEEP' }] });
      expect(events.statusCode).toBe(200);
      expect(await db.query('select event from agent_events')).toEqual([{ event }]);
    });

    it('answers a long poll as soon as there is a job', async () => {
      const { db, service, accountId, agent } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const wait = setTimeout;
      // The claim also looks for jobs every 2 s. Here that timer never fires, so only the scheduler's notification is left.
      vi.useFakeTimers({ toFake: ['setTimeout'] });
      try {
        const waiting = agent.claim(10, { waitSeconds: 20 });
        await new Promise((resolve) => wait(resolve, 100));
        clock.set('2026-03-04T05:07:06.000Z');
        await service.scheduler.tick();
        expect((await waiting).length).toBe(1);
      } finally {
        vi.useRealTimers();
      }
    });

    it('answers long polls at once when the service stops', async () => {
      const { app, agent } = bench;
      const waiting = agent.claim(10, { waitSeconds: 25 });
      await new Promise((resolve) => setTimeout(resolve, 100));
      // The long poll is longer than the timeout of this test.
      expect(await Promise.all([waiting, app.close()])).toEqual([[], undefined]);
    });

    it('keeps events of agents', async () => {
      const { db, office, agent } = bench;
      const event = {
        time: '2026-03-04T05:06:07Z',
        message: 'disk\u0000full',
        version: '1',
        platform: 'linux',
        runtime: 'v20',
      };
      expect(await agent.call('events', { agentId: agent.agentId, events: [event, event] })).toEqual({
        status: 200,
        body: { accepted: 2 },
      });
      expect(await db.query('select event, location_id as "locationId" from agent_events limit 1')).toEqual([
        { event: { ...event, message: 'disk\ufffdfull' }, locationId: office.id },
      ]);
      expect(
        (await agent.call('events', { agentId: agent.agentId, events: Array(101).fill(event) })).status,
      ).toBe(400);
    });
  });
});
