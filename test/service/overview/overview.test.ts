import { describe, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/durations.ts';
import { updateStatuses } from '../../../src/service/results/store-result.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { analyticsBench, start } from '../../helpers/service/analytics-bench.ts';
import { addCheck, addLocation } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Run } from '../../helpers/service/stored-results.ts';

/** The overview of all checks: totals, filters, order, bars, and what checks wait for. */

type Entry = {
  id: string;
  name: string;
  state: string;
  reason: string | null;
  groupName: string | null;
  bars: { from: string; passed: number; degraded: number; failed: number; errored: number; missed: number }[];
  availability: number | null;
  p95: number | null;
  lastRunAt: string | null;
  nextRunAt: string | null;
  waits: { reason: string; message: string; until: string | null } | null;
};
type Overview = {
  totals: { [state: string]: number };
  tags: string[];
  groups: { id: number; name: string; all: number; failing: number }[];
  length: number;
  entries: Entry[];
};

const hour = Math.floor(start / hourMs) * hourMs;

describe.each(databases)('the overview ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = analyticsBench(database);

    const overview = async (query = ''): Promise<Overview> => {
      const { status, body } = await bench.service.call<Overview>('GET', `/v1/checks-overview?${query}`);
      expect([status, JSON.stringify(body).slice(0, status === 200 ? 0 : 500)]).toEqual([200, '']);
      return body;
    };
    const names = async (query: string) => (await overview(query)).entries.map(({ name }) => name);

    /** A check with a name and tags at a location. */
    async function check(
      name: string,
      {
        locations = ['eu-west-1'],
        tags = [] as string[],
        muted = false,
        groupId = null as number | null,
        ...options
      }: { locations?: string[]; tags?: string[]; muted?: boolean; groupId?: number | null } & Partial<
        Parameters<typeof addCheck>[1]
      > = {},
    ) {
      const { db, account } = bench.service;
      const id = await addCheck(db, { accountId: account.id, now: start, locations, ...options });
      await db.query('update checks set name = $2, tags = $3, muted = $4, group_id = $5 where id = $1', [
        id,
        name,
        tags,
        muted,
        groupId,
      ]);
      return id;
    }
    /** Stores runs, and the status of the check that follows from the last one. */
    async function ran(checkId: string, runs: readonly Run[], message: string | null = null) {
      const { db, account } = bench.service;
      await bench.store(checkId, 'URL', runs);
      const last = runs.at(-1);
      const { status = 'passed', at = start } = last ?? {};
      const result = {
        id: uuidv7(at),
        startedAt: at,
        stoppedAt: at,
        accountId: account.id,
        checkId,
        jobId: null,
        sequenceId: uuidv7(at),
        checkType: 'URL',
        runLocation: 'eu-west-1',
        resultType: 'FINAL' as const,
        status,
        hasFailures: status === 'failed',
        hasErrors: status === 'errored',
        isDegraded: status === 'degraded',
        overMaxResponseTime: false,
        isCancelled: false,
        responseTime: last?.responseTime ?? 100,
        attempts: 0,
        reason: message === null ? null : JSON.stringify({ code: 'TIMEOUT', owner: 'target', message }),
        body: '{}',
        sslDaysRemaining: null,
      };
      await updateStatuses(db, [result], new Date(start));
    }
    async function group(name: string): Promise<number> {
      const { body } = await bench.service.call<{ id: number }>('POST', '/v1/check-groups', {
        body: { name },
      });
      return body.id;
    }

    test('totals count every check; filters, search and order choose the entries', async () => {
      await bench.service.renewAccounts();
      const shop = await group('Shop');
      const at = start - 5 * minuteMs;
      const failing = await check('Zeta', { tags: ['web', 'eu'], groupId: shop });
      await ran(failing, [{ at, status: 'failed' }], 'No answer within 30 s');
      await ran(await check('Alpha', { tags: ['web'], muted: true }), [{ at, responseTime: 20 }]);
      await ran(await check('beta', { tags: ['db'], locations: ['us-east-1'] }), [
        { at: at + 1000, responseTime: 900 },
      ]);
      await ran(await check('Delta'), [{ at, status: 'degraded' }]);
      await ran(await check('Epsilon'), [{ at, status: 'errored' }]);
      await check('Waiting');
      await check('Paused', { activated: false });
      const all = await overview();
      expect(all.totals).toEqual({
        all: 7,
        passing: 2,
        degraded: 1,
        failing: 1,
        errored: 1,
        waiting: 1,
        paused: 1,
        muted: 1,
      });
      expect(all.tags).toEqual(['web', 'db', 'eu']);
      expect(all.groups).toMatchObject([{ id: shop, name: 'Shop', all: 1, failing: 1 }]);
      expect(all.length).toBe(7);
      expect(all.entries.map(({ name }) => name)).toEqual([
        'Zeta',
        'Epsilon',
        'Delta',
        'Waiting',
        'Alpha',
        'beta',
        'Paused',
      ]);
      expect(all.entries[0]).toMatchObject({
        id: failing,
        state: 'failing',
        reason: 'No answer within 30 s',
        groupName: 'Shop',
        availability: 0,
        lastRunAt: new Date(at).toISOString(),
      });
      const filtered = await overview('state=passing,failing&limit=1&page=2');
      expect([filtered.length, filtered.totals['all'], filtered.entries.map(({ name }) => name)]).toEqual([
        3,
        7,
        ['Alpha'],
      ]);
      expect(await names('tag=db&tag=eu')).toEqual(['Zeta', 'beta']);
      expect(await names('location=us-east-1')).toEqual(['beta']);
      expect(await names('search=WEB')).toEqual(['Zeta', 'Alpha']);
      expect(await names(`search=${failing.slice(0, 30).toUpperCase()}`)).toEqual(['Zeta']);
      expect(await names(`groupId=${shop}`)).toEqual(['Zeta']);
      expect((await overview('groupId=none')).length).toBe(6);
      expect(await names('type=API')).toEqual([]);
      expect(await names('sort=name&order=desc&limit=2')).toEqual(['Zeta', 'Waiting']);
      expect(await names('sort=lastRun&order=desc&limit=1')).toEqual(['beta']);
      expect((await names('sort=nextRun')).at(-1)).toBe('Paused');
      expect((await names('group=true&sort=name'))[0]).toBe('Zeta');
      // Sorted by the figures that are made with rollups.
      await bench.service.db.query(
        `insert into check_figures (check_id, hour, availability, p95)
         select id, $1, 90, length(name) from checks where account_id = $2 and name in ('Zeta', 'Alpha')`,
        [new Date(hour - 2 * hourMs), bench.service.account.id],
      );
      expect((await names('sort=p95&order=desc')).slice(0, 2)).toEqual(['Alpha', 'Zeta']);
      const foreign = await bench.service.call<Overview>('GET', '/v1/checks-overview', {
        key: bench.service.foreign.key,
      });
      expect(foreign.body).toMatchObject({
        totals: { all: 0 },
        tags: [],
        groups: [],
        length: 0,
        entries: [],
      });
      expect((await bench.service.call('GET', '/v1/checks-overview?state=broken')).status).toBe(400);
      expect((await bench.service.call('GET', '/v1/checks-overview?limit=101')).status).toBe(400);
    });

    test('a new tag is there at once', async () => {
      await bench.service.renewAccounts();
      await check('One', { tags: ['old'] });
      expect((await overview()).tags).toEqual(['old']);
      await check('Two', { tags: ['new'] });
      expect((await overview()).tags).toEqual(['new', 'old']);
    });

    test('states follow changes of checks, groups and statuses', async () => {
      await bench.service.renewAccounts();
      const { db } = bench.service;
      const [shop, other] = [await group('Shop'), await group('Other')];
      const one = await check('One', { groupId: shop });
      const two = await check('Two');
      const set = (table: string, id: string | number, change: string) =>
        db.query(`update ${table} set ${change} where id = $1`, [id]);
      /** Names by state, from the list, from the filter and from the totals, which must agree. */
      async function states() {
        const { totals, entries } = await overview();
        const found: { [state: string]: string[] } = {};
        for (const { name, state } of entries) found[state] = [...(found[state] ?? []), name];
        for (const [state, count] of Object.entries(totals)) {
          if (['all', 'muted'].includes(state)) continue;
          expect([state, await names(`state=${state}`)]).toEqual([state, found[state] ?? []]);
          expect([state, count]).toEqual([state, found[state]?.length ?? 0]);
        }
        return { ...found, muted: totals['muted'] };
      }
      expect(await states()).toEqual({ waiting: ['One', 'Two'], muted: 0 });
      await ran(one, [{ at: start - minuteMs, status: 'failed' }]);
      await ran(two, [{ at: start - minuteMs }]);
      expect(await states()).toEqual({ failing: ['One'], passing: ['Two'], muted: 0 });
      await set('check_groups', shop, 'activated = false, muted = true');
      expect(await states()).toEqual({ paused: ['One'], passing: ['Two'], muted: 1 });
      await set('checks', two, `group_id = ${shop}, name = 'A two'`);
      expect(await states()).toEqual({ paused: ['A two', 'One'], muted: 2 });
      await set('checks', two, `group_id = ${other}, muted = true`);
      await set('check_groups', shop, 'activated = true, muted = false');
      expect(await states()).toEqual({ failing: ['One'], passing: ['A two'], muted: 1 });
      await db.query('delete from check_statuses where check_id = $1', [one]);
      await set('checks', two, 'activated = false, group_id = null');
      expect(await states()).toEqual({ waiting: ['One'], paused: ['A two'], muted: 1 });
      await db.query('delete from checks where id = $1', [one]);
      expect(await states()).toEqual({ paused: ['A two'], muted: 1 });
    });

    test('bars, availability and p95 are the same from raw results and from rollups', async () => {
      await bench.service.renewAccounts();
      const checkId = await check('Bars');
      const runs: Run[] = [];
      for (let n = 0; n < 24; n++) {
        const at = hour - (23 - n) * hourMs;
        runs.push(
          { at, responseTime: 10 + n },
          { at: at + minuteMs, runLocation: 'us-east-1', responseTime: 10 },
        );
      }
      runs.push({ at: hour - 10 * hourMs + 2, status: 'failed', responseTime: 5000 });
      runs.push({ at: hour - 9 * hourMs + 2, status: 'degraded', responseTime: 800 });
      runs.push({ at: hour - 8 * hourMs + 2, status: 'errored', responseTime: 9000 });
      // Not part of the bars: too old, a test, an attempt.
      runs.push({ at: hour - 30 * hourMs, status: 'failed' });
      runs.push({ at: hour - hourMs, isTest: true, status: 'failed' });
      runs.push({ at: hour - hourMs, resultType: 'ATTEMPT', status: 'failed' });
      // Three missed runs, half an hour apart, of which the first is before the bars.
      runs.push({
        at: hour - 23 * hourMs - 30 * minuteMs,
        status: 'missed',
        responseTime: hourMs,
        details: { count: 3 },
      });
      await ran(
        checkId,
        runs.toSorted((a, b) => a.at - b.at),
      );
      const entry = async () => {
        const [found] = (await overview()).entries;
        if (found === undefined) throw new Error('no entry');
        return found;
      };
      const raw = await entry();
      await bench.rollUp();
      // This p95 is of full hours only.
      const rolledUp = await entry();
      expect(rolledUp).toEqual({ ...raw, p95: rolledUp.p95 });
      expect(rolledUp.p95).toBeCloseTo(32.5, 0);
      // The figures that lists are sorted by were made with the rollups.
      const [figures] = await bench.service.db.query<{ availability: number; p95: number }>(
        'select availability, p95 from check_figures where check_id = $1',
        [checkId],
      );
      expect(figures?.availability).toBeCloseTo(97.8, 0);
      expect(figures?.p95).toBeGreaterThan(30);
      // Rollups from before figures had runs.
      await bench.service.db.query('update check_figures set runs = null, hour = $2 where check_id = $1', [
        checkId,
        new Date(hour - 10 * hourMs),
      ]);
      expect(await entry()).toEqual(raw);
      // A late result counts before its hour is rolled up again, and once afterwards.
      await bench.store(checkId, 'URL', [{ at: hour - 5 * hourMs + 7, status: 'failed' }]);
      for (let round = 0; round < 2; round++) {
        const { bars } = await entry();
        expect(bars.map(({ failed }) => failed)).toEqual(
          raw.bars.map(({ failed }, index) => (index === 18 ? 1 : failed)),
        );
        await bench.rollUp();
      }
      expect(raw?.bars).toHaveLength(24);
      expect(raw?.bars[0]).toEqual({
        from: new Date(hour - 23 * hourMs).toISOString(),
        passed: 2,
        degraded: 0,
        failed: 0,
        errored: 0,
        missed: 2,
      });
      expect(raw?.bars.slice(13, 16)).toMatchObject([
        { failed: 1 },
        { degraded: 1 },
        { errored: 1, passed: 2 },
      ]);
      expect(raw?.bars.reduce((sum, bar) => sum + bar.missed, 0)).toBe(2);
      expect(raw?.availability).toBe(98);
      expect(raw?.p95).toBeCloseTo(33, 0);
    });

    test('a check that does not run says why', async () => {
      await bench.service.renewAccounts();
      const { db, account } = bench.service;
      const accountId = account.id;
      const office = await addLocation(db, { accountId, slug: 'office' });
      await addLocation(db, { accountId, slug: 'empty' });
      await db.query(
        `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, last_seen_at)
         values ($1, $2, 'i', '1.0.0', '{}', '{URL}', '{}', '{}', $3)`,
        [uuidv7(), office.id, new Date(start)],
      );
      const at = { locations: [] as string[] };
      await check('1 served', { ...at, privateLocations: ['office'] });
      await check('2 no agent', { ...at, privateLocations: ['empty'] });
      await check('3 other type', { ...at, privateLocations: ['office'], checkType: 'TCP' });
      await check('4 nowhere', at);
      const queued = await check('5 queued', { ...at, privateLocations: ['office'] });
      await check('6 heartbeat', { ...at, checkType: 'HEARTBEAT' });
      await check('7 maintained', { ...at, privateLocations: ['office'], tags: ['quiet'] });
      await check('8 paused', { ...at, activated: false });
      await ran(queued, [{ at: start - hourMs }]);
      await db.query(
        `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, due_at,
           not_before, expires_at, claim_window_seconds)
         values ($1, $2, $3, $1, $1, $4, 'office', 'URL', 'uptime', $5, $5, $6, 600)`,
        [uuidv7(), accountId, queued, office.id, new Date(start - 95_000), new Date(start + hourMs)],
      );
      const window = await bench.service.call('POST', '/v1/maintenance-windows', {
        body: {
          name: 'Upgrade',
          startsAt: new Date(start - hourMs).toISOString(),
          endsAt: new Date(start + hourMs).toISOString(),
          timezone: 'UTC',
          tags: ['quiet'],
        },
      });
      expect([window.status, window.body]).toMatchObject([201, {}]);
      const { entries } = await overview('sort=name');
      expect(entries.map(({ waits }) => waits)).toEqual([
        {
          reason: 'FIRST_RUN',
          message: expect.stringMatching(/^First run in \d+ s$/),
          until: entries[0]?.nextRunAt,
        },
        { reason: 'NO_AGENT', message: 'No agent serves the location empty', until: null },
        {
          reason: 'NO_AGENT',
          message: 'No agent that runs TCP checks serves the location office',
          until: null,
        },
        { reason: 'NO_LOCATION', message: 'The check has no location', until: null },
        { reason: 'QUEUE', message: 'The run at office has waited 95 s for a free agent', until: null },
        { reason: 'FIRST_RUN', message: 'Waits for its first ping', until: null },
        {
          reason: 'MAINTENANCE',
          message: 'Paused by the maintenance window Upgrade',
          until: new Date(start + hourMs).toISOString(),
        },
        null,
      ]);
      expect(entries[7]?.nextRunAt).toBeNull();
    });
  });
});
