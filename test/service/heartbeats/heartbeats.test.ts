import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { sourceOf, stateOfPing, successRatio, userAgentOf } from '../../../src/service/heartbeats/rules.ts';
import { createHeartbeatTimers } from '../../../src/service/heartbeats/timers.ts';
import { createClock, silent } from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Heartbeats from the ping to the failure: rules, timers on both databases, routes. */

const second = 1000;
const minute = 60 * second;

describe('the meaning of a ping', () => {
  const timer = { state: 'RECEIVED' as const, timerFrom: 0, periodSeconds: 600, graceSeconds: 60 };
  const long = { ...timer, periodSeconds: 86_400 };
  test.each([
    ['the first', { ...timer, state: null, timerFrom: null }, 5, 'RECEIVED'],
    ['the first after a failure', { ...timer, state: 'FAILING' as const }, 5, 'RECEIVED'],
    ['long before the period is over', timer, 5, 'EARLY'],
    ['a tenth of the period before', timer, 540, 'RECEIVED'],
    ['a little more than a tenth before', timer, 539, 'EARLY'],
    ['when the period is over', timer, 600, 'RECEIVED'],
    ['just after', timer, 601, 'GRACE'],
    ['when the grace is over', timer, 660, 'GRACE'],
    ['after the grace, before anybody noticed', timer, 661, 'LATE'],
    ['without a grace, late', { ...timer, graceSeconds: 0 }, 601, 'LATE'],
    ['a minute before the end of a day', long, 86_340, 'RECEIVED'],
    ['two minutes before the end of a day', long, 86_280, 'EARLY'],
  ])('%s', (_what, of, at, expected) => {
    expect(stateOfPing(of, at * second)).toBe(expected);
  });

  test.each([
    [{}, 'HTTP GET'],
    [{ origin: 'https://jobs.example' }, 'https://jobs.example'],
    [{ referer: 'https://jobs.example:8443/run/7?token=x' }, 'https://jobs.example:8443'],
    [{ origin: 'null', referer: 'http://a.example/' }, 'http://a.example'],
    [{ origin: 'not a url' }, 'HTTP GET'],
    [{ origin: `https://${'a'.repeat(400)}.example` }, `https://${'a'.repeat(248)}`],
  ])('source of %j', (headers, expected) => {
    expect(sourceOf('GET', headers)).toBe(expected);
  });

  test('user agents are shortened and contain no characters that cannot be stored', () => {
    expect(userAgentOf({})).toBe('');
    expect(userAgentOf({ 'user-agent': `a\u0000\ud800b${'x'.repeat(600)}` })).toBe(`a  b${'x'.repeat(508)}`);
  });

  test('a ratio is in percent', () => {
    expect(
      [
        { all: 0, pings: 0 },
        { all: 3, pings: 2 },
      ].map(successRatio),
    ).toEqual([0, 66.67]);
  });
});

const start = '2026-03-04T05:06:07.000Z';

describe.each(databases)('heartbeats: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let replicas: Db[];
    let db: Db;
    let service: TestService;

    beforeAll(async () => {
      replicas = await database.openReplicas(2);
      [db] = replicas as [Db];
      service = await startTestService(db, { now: clock.now });
    });
    beforeEach(async () => {
      clock.set(start);
      await emptyTables(db, 'check_results, finished_runs, check_groups, checks, service_beat');
    });
    afterAll(async () => {
      await service.close();
      await database.close();
    });

    type Heartbeat = { id: string; url: string };
    async function create(fields: Fields = {}): Promise<Heartbeat> {
      const { status, body } = await service.call<{ id: string; heartbeat: { pingUrl: string } }>(
        'POST',
        '/v1/checks/heartbeat',
        {
          body: {
            name: 'Backup',
            heartbeat: { period: 10, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
            ...fields,
          },
        },
      );
      expect(status).toBe(201);
      return { id: body.id, url: body.heartbeat.pingUrl };
    }
    async function ping({ url }: Heartbeat, init: RequestInit = {}) {
      const response = await fetch(url, init);
      const text = await response.text();
      return {
        status: response.status,
        state: text === '' ? undefined : (JSON.parse(text) as { state?: string | null }).state,
      };
    }
    /** Two replicas look at once, after an absence of the service if there was one. */
    const tickAfter = () =>
      Promise.all(
        replicas.map((replica) => createHeartbeatTimers({ db: replica, now: clock.now, log: silent }).tick()),
      );
    /** The service has run until now. */
    const beatsUntilNow = () =>
      db.query(
        `insert into service_beat (at) values ($1)
         on conflict (id) do update set at = $1, away_from = null, away_to = null`,
        [new Date(clock.now())],
      );
    const tick = async () => {
      await beatsUntilNow();
      await tickAfter();
    };
    const results = () =>
      db.query<Fields>(
        `select status, has_failures as "hasFailures", check_type as "checkType", run_location as "runLocation",
           reason->>'code' as code, result_type as "resultType" from check_results order by started_at, id`,
      );
    const states = async () =>
      (await db.query<{ state: string }>('select state from heartbeat_events order by happened_at, id')).map(
        ({ state }) => state,
      );
    const change = (path: string, body: Fields) => service.call('PUT', path, { body });

    it('a clock that was wrong and is set back puts no failure off; pings of one moment are each recorded', async () => {
      const heartbeat = await create();
      const loop = createHeartbeatTimers({ db, now: clock.now, log: silent });
      clock.advance(86_400 * second);
      await beatsUntilNow();
      await loop.tick();
      // The first starts the timer, whichever it is.
      const both = await Promise.all([ping(heartbeat), ping(heartbeat)]);
      expect(new Set(both.map(({ state }) => state))).toEqual(new Set(['EARLY', 'RECEIVED']));
      expect(await states()).toHaveLength(2);
      clock.set(start);
      await loop.tick();
      clock.advance(660 * second - 1);
      await beatsUntilNow();
      await loop.tick();
      expect(await states()).toHaveLength(2);
      clock.advance(1);
      await loop.tick();
      expect((await results()).filter(({ status }) => status === 'failed')).toHaveLength(1);
    });

    it('waits for the first ping, fails once when none follows, and again after the same time', async () => {
      const heartbeat = await create();
      clock.advance(86_400 * second);
      await tick();
      expect(await states()).toEqual([]);

      expect(await ping(heartbeat)).toEqual({ status: 200, state: 'RECEIVED' });
      clock.advance(11 * minute - 1);
      await tick();
      expect(await states()).toEqual(['RECEIVED']);
      clock.advance(1);
      await tick();
      await tick();
      expect(await states()).toEqual(['RECEIVED', 'FAILING']);
      const passed = {
        status: 'passed',
        hasFailures: false,
        checkType: 'HEARTBEAT',
        runLocation: 'service',
        code: null,
        resultType: 'FINAL',
      };
      const failed = { ...passed, status: 'failed', hasFailures: true, code: 'HEARTBEAT_MISSED' };
      expect(await results()).toEqual([passed, failed]);
      const status = await service.call('GET', `/v1/check-statuses/${heartbeat.id}`);
      expect(status.body).toMatchObject({
        status: 'failed',
        hasFailures: true,
        lastRunLocation: 'service',
        reason: {
          code: 'HEARTBEAT_MISSED',
          owner: 'target',
          message: expect.stringMatching(
            /within 600 s and a grace period of 60 s after the ping at 2026-03-05/,
          ),
        },
      });
      const followed = await db.query('select status from finished_runs order by id');
      expect(followed).toEqual([{ status: 'passed' }, { status: 'failed' }]);

      clock.advance(11 * minute);
      await tick();
      expect(await states()).toEqual(['RECEIVED', 'FAILING', 'FAILING']);
      expect(await ping(heartbeat)).toEqual({ status: 200, state: 'RECEIVED' });
      expect((await service.call('GET', `/v1/check-statuses/${heartbeat.id}`)).body).toMatchObject({
        status: 'passed',
        reason: null,
      });
    });

    it('a ping counts whatever its content type says', async () => {
      const heartbeat = await create();
      for (const type of ['', 'json', 'text/plain; charset', '"']) {
        const init = { method: 'POST', headers: { 'content-type': type }, body: 'x' };
        expect((await ping(heartbeat, init)).status, type).toBe(200);
      }
    });

    it('a ping that was expected while the service was away has its whole grace time when it is back', async () => {
      const waiting = await create();
      const silentOne = await create();
      const without = await create({ heartbeat: { period: 10, periodUnit: 'minutes', grace: 0 } });
      for (const each of [waiting, silentOne, without]) await ping(each);
      clock.advance(5 * minute);
      await tick();
      // Expected after 10 minutes, the deadline after 11 minutes.
      clock.advance(3600 * second);
      await tickAfter();
      expect(await states()).toEqual(['RECEIVED', 'RECEIVED', 'RECEIVED']);
      clock.advance(minute - 1);
      await db.query('update service_beat set at = $1', [new Date(clock.now())]);
      // The record of the absence is known to a replica that has just started.
      await tickAfter();
      expect((await ping(waiting)).state).toBe('GRACE');
      expect(await states()).toHaveLength(4);
      clock.advance(1);
      await tickAfter();
      expect((await states()).slice(4)).toEqual(['FAILING', 'FAILING']);
    });

    it('a ping that was expected after the service was back, or before it was away, has no other deadline', async () => {
      const later = await create();
      await ping(later);
      clock.advance(5 * minute);
      await tick();
      clock.advance(4 * minute);
      await tickAfter();
      clock.advance(2 * minute - 1);
      await tick();
      expect(await states()).toEqual(['RECEIVED']);
      clock.advance(1);
      await tickAfter();
      expect(await states()).toEqual(['RECEIVED', 'FAILING']);
      // Nobody looked at this deadline before the service went away.
      clock.advance(11 * minute);
      await beatsUntilNow();
      clock.advance(3600 * second);
      await tickAfter();
      expect(await states()).toEqual(['RECEIVED', 'FAILING', 'FAILING']);
    });

    it('a clock that jumps forward and back neither fails a heartbeat nor puts its failure off', async () => {
      const heartbeat = await create();
      const loop = createHeartbeatTimers({ db, now: clock.now, log: silent });
      await ping(heartbeat);
      clock.advance(5 * minute);
      await beatsUntilNow();
      await loop.tick();
      clock.advance(86_400 * second);
      await loop.tick();
      expect(await states()).toEqual(['RECEIVED']);
      clock.advance(-86_400 * second);
      await loop.tick();
      clock.advance(6 * minute - 1);
      await beatsUntilNow();
      await loop.tick();
      expect(await states()).toEqual(['RECEIVED']);
      clock.advance(1);
      await loop.tick();
      expect(await states()).toEqual(['RECEIVED', 'FAILING']);
    });

    it('each ping restarts the timer, including early and late ones', async () => {
      const heartbeat = await create();
      await ping(heartbeat);
      clock.advance(2 * minute);
      expect((await ping(heartbeat)).state).toBe('EARLY');
      clock.advance(10.5 * minute);
      await tick();
      expect((await ping(heartbeat)).state).toBe('GRACE');
      clock.advance(12 * minute);
      expect((await ping(heartbeat)).state).toBe('LATE');
      await tick();
      clock.advance(10 * minute);
      expect((await ping(heartbeat)).state).toBe('RECEIVED');
      expect(await states()).toEqual(['RECEIVED', 'EARLY', 'GRACE', 'LATE', 'RECEIVED']);
      expect(new Set((await results()).map(({ status }) => status))).toEqual(new Set(['passed']));
    });

    it('switched off it waits for a first ping again; its group does the same', async () => {
      const group = await service.call<{ id: number }>('POST', '/v1/check-groups', { body: { name: 'G' } });
      const heartbeat = await create();
      const path = `/v1/checks/heartbeat/${heartbeat.id}`;
      await ping(heartbeat);
      await change(path, { activated: false });
      expect(await ping(heartbeat)).toEqual({ status: 200, state: null });
      await change(path, { activated: true, groupId: group.body.id });
      clock.advance(3600 * second);
      await tick();
      expect(await states()).toEqual(['RECEIVED']);

      await ping(heartbeat);
      await change(`/v1/check-groups/${group.body.id}`, { activated: false });
      clock.advance(3600 * second);
      await tick();
      expect(await ping(heartbeat)).toEqual({ status: 200, state: null });
      await change(`/v1/check-groups/${group.body.id}`, { activated: true });
      clock.advance(3600 * second);
      await tick();
      expect(await states()).toEqual(['RECEIVED', 'RECEIVED']);
    });

    it('another period counts from the last ping', async () => {
      const heartbeat = await create();
      await ping(heartbeat);
      await change(`/v1/checks/heartbeat/${heartbeat.id}`, {
        heartbeat: { period: 30, periodUnit: 'seconds' },
      });
      clock.advance(30 * second);
      await tick();
      expect(await states()).toEqual(['RECEIVED', 'FAILING']);
    });

    it('a heartbeat does not fail while a window pauses it, and its timer restarts', async () => {
      const heartbeat = await create({ tags: ['nightly'] });
      await ping(heartbeat);
      const id = await db.query(
        `insert into maintenance_windows (account_id, name, starts_at, ends_at, timezone, over_at, pause_all_checks, tags,
           silence_all_alerts, silence_alerts_tags, status_page_visibility, steps_done_until)
         values ($1, 'Move', $2, $3, 'UTC', $3, false, '{nightly}', false, '{}', '{"enabled": false}', $2) returning id`,
        [service.account.id, new Date(clock.now()), new Date(clock.now() + 60 * minute)],
      );
      expect(id).toHaveLength(1);
      clock.advance(11 * minute);
      await tick();
      expect(await states()).toEqual(['RECEIVED']);
      await db.query('delete from maintenance_windows');
      clock.advance(11 * minute);
      await tick();
      expect(await states()).toEqual(['RECEIVED', 'FAILING']);
    });

    it('heartbeats that are due at the same time fail once each, on any replica', async () => {
      const { id } = await create();
      await db.query(
        `with copies as (
           insert into checks (id, account_id, check_type, name, frequency, interval_seconds, offset_seconds, definition)
           select gen_random_uuid(), account_id, check_type, name, frequency, interval_seconds, offset_seconds, definition
           from checks, generate_series(1, 119) where checks.id = $1 returning id, account_id
         )
         insert into heartbeats (check_id, account_id, period_seconds, grace_seconds, timer_from, due_at)
         select id, account_id, 600, 60, $2, $2 from copies`,
        [id, new Date(clock.now())],
      );
      await tick();
      await tick();
      const failed = await db.query(
        `select check_id, count(*) as count from heartbeat_events where state = 'FAILING' group by 1`,
      );
      expect(failed).toHaveLength(119);
      expect(new Set(failed.map(({ count }) => count))).toEqual(new Set([1]));
    });

    if (database.name === 'server') return;

    it('GET, HEAD and POST with any body ping; where they came from is kept', async () => {
      const heartbeat = await create();
      await ping(heartbeat, { headers: { 'user-agent': 'curl/8', referer: 'https://ci.example/job/1' } });
      clock.advance(1);
      await ping(heartbeat, { method: 'HEAD', headers: { 'user-agent': 'wget' } });
      for (const [type, body] of [
        ['text/plain', 'done'],
        ['application/json', '{not json'],
        ['application/x-www-form-urlencoded', 'a=b'],
        [undefined, new Uint8Array(100_000)],
      ] as const) {
        const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
        expect((await ping(heartbeat, { method: 'POST', body, headers })).status).toBe(200);
      }
      expect((await ping(heartbeat, { method: 'POST' })).status).toBe(200);
      expect((await ping(heartbeat, { method: 'DELETE' })).status).toBe(405);
      const { status, body } = await service.call<{ events: Fields[]; stats: Fields }>(
        'GET',
        `/v1/checks/heartbeats/${heartbeat.id}/events`,
      );
      expect(status).toBe(200);
      expect(body.events).toHaveLength(7);
      expect(body.events.at(-1)).toEqual({
        id: expect.any(String),
        state: 'RECEIVED',
        timestamp: start,
        source: 'https://ci.example',
        userAgent: 'curl/8',
      });
      expect(new Set(body.events.map(({ source }) => source))).toEqual(
        new Set(['HTTP POST', 'HTTP HEAD', 'https://ci.example']),
      );
    });

    it('responds to a ping with an endless body', async () => {
      const heartbeat = await create();
      const answer = await new Promise<number | undefined>((resolve, reject) => {
        const call = httpRequest(heartbeat.url, { method: 'POST' }, (response) => {
          response.resume();
          resolve(response.statusCode);
          call.destroy();
        });
        call.on('error', reject);
        const chunk = Buffer.alloc(64 * 1024);
        const write = () => {
          while (!call.destroyed && call.write(chunk));
        };
        call.on('drain', write);
        write();
      });
      expect(answer).toBe(200);
      expect(await states()).toEqual(['RECEIVED']);
    });

    it('unknown tokens are 404, too many pings 429', async () => {
      const heartbeat = await create();
      const base = heartbeat.url.replace(/[^/]+$/, '');
      for (const token of ['x', '00000000-0000-7000-8000-000000000000', heartbeat.id, '%00']) {
        expect((await ping({ id: '', url: `${base}${token}` })).status).toBe(404);
      }
      const answers = await Promise.all(Array.from({ length: 70 }, () => ping(heartbeat)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
      clock.advance(minute);
      expect((await ping(heartbeat)).status).toBe(200);
    });

    it('events: pages, one event with statistics, availability, pings by hand', async () => {
      const heartbeat = await create();
      const path = `/v1/checks/heartbeats/${heartbeat.id}`;
      clock.advance(-8 * 86_400 * second);
      await ping(heartbeat);
      clock.set(start);
      clock.advance(-30 * 3600 * second);
      await tick();
      clock.set(start);
      const byHand = await service.call('POST', `${path}/events`, { body: { source: 'Ann' } });
      expect([byHand.status, byHand.body]).toEqual([
        201,
        expect.objectContaining({ state: 'RECEIVED', source: 'Ann', timestamp: start }),
      ]);
      clock.advance(1);
      expect((await service.call('POST', `${path}/events`)).body).toMatchObject({ source: 'API' });
      clock.advance(11 * minute);
      await tick();

      const page = (query: string) =>
        service.call<{ events: { id: string; state: string }[] }>('GET', `${path}/events?${query}`);
      const first = await page('limit=2');
      const next = await page('limit=2&page=2');
      expect([...first.body.events, ...next.body.events].map(({ state }) => state)).toEqual([
        'FAILING',
        'EARLY',
        'RECEIVED',
        'FAILING',
      ]);
      expect((await page('limit=101')).status).toBe(400);
      const stats = {
        last24Hours: {
          successRatio: { previousPeriod: 0, currentPeriod: 66.67 },
          totalEntitiesCurrentPeriod: 3,
        },
        last7Days: {
          successRatio: { previousPeriod: 100, currentPeriod: 50 },
          totalEntitiesCurrentPeriod: 4,
        },
      };
      const [newest] = first.body.events;
      const one = await service.call('GET', `${path}/events/${newest?.id ?? ''}`);
      expect(one.body).toEqual({ event: newest, stats });
      expect((await service.call('GET', `${path}/availability`)).body).toEqual(stats);

      const { key } = service.foreign;
      for (const end of ['/events', `/events/${newest?.id ?? ''}`, '/availability']) {
        expect((await service.call('GET', `${path}${end}`, { key })).status).toBe(404);
        expect((await service.call('GET', `/v1/checks/heartbeats/nothing${end}`)).status).toBe(404);
      }
      expect((await service.call('POST', `${path}/events`, { key })).status).toBe(404);
      await change(`/v1/checks/heartbeat/${heartbeat.id}`, { activated: false });
      expect((await service.call('POST', `${path}/events`)).status).toBe(409);
    });
  });
});
