import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { saveMaintenance } from '../../../src/service/maintenance/occurrence-statements.ts';
import { maintenanceAt } from '../../../src/service/maintenance/effects.ts';
import { createFindPauses, withoutPauses, type Stretch } from '../../../src/service/maintenance/pauses.ts';
import type { Plan } from '../../../src/protocol/plan-runs.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  createAgentService,
  createClock,
  emptyAccounts,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { addWindow } from './window-rows.ts';

const minute = 60_000;
const start = '2026-03-04T05:00:10.000Z';

describe.each(databases)('maintenance and the scheduler: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const statements: string[] = [];
    let db: Db;
    let service: AgentService;
    let accountId: string;

    beforeAll(async () => {
      db = await database.open({ onStatement: ({ sql }) => void statements.push(sql) });
    });
    beforeEach(async () => {
      clock.set(start);
      made = [];
      await emptyAccounts(db);
      service = await createAgentService(db, clock);
      accountId = await addAccount(db);
      await addLocation(db, { accountId, slug: 'office' });
    });
    afterEach(() => service.app.close());
    afterAll(() => database.close());

    const check = async (fields: { tags?: string[]; groupTags?: string[]; account?: string } = {}) => {
      const account = fields.account ?? accountId;
      const id = await addCheck(db, { accountId: account, privateLocations: ['office'], now: clock.now() });
      await db.query('update checks set tags = $2 where id = $1', [id, fields.tags ?? []]);
      if (fields.groupTags !== undefined) {
        await db.query(
          `with g as (insert into check_groups (account_id, name, tags, definition) values ($2, 'Shop', $3, '{}') returning id)
           update checks set group_id = (select id from g) where id = $1`,
          [id, account, fields.groupTags],
        );
      }
      return id;
    };
    const window = (fields: Omit<Parameters<typeof addWindow>[2], 'now'>) =>
      addWindow(db, accountId, { ...fields, now: clock.now() });
    /** The runs that were created: deleted at once, so that none is recorded as missed. */
    let made: { checkId: string; at: Date; place: string }[] = [];
    /** Due moments of the runs of a check, as minutes and seconds. */
    const runs = (checkId: string) =>
      made.filter((run) => run.checkId === checkId).map(({ at }) => at.toISOString().slice(14, 19));
    async function tick(): Promise<void> {
      await service.scheduler.tick();
      made.push(
        ...(await db.query<(typeof made)[number]>(
          'delete from jobs returning check_id as "checkId", due_at as at, run_location as place',
        )),
      );
    }
    const missed = async (checkId: string) =>
      db.query<{ details: { count: number; from: string; to: string } }>(
        `select body->'details' as details from check_results where check_id = $1 and status = 'missed'`,
        [checkId],
      );
    /** Each minute, a little after the check is due. */
    async function tickFor(minutes: number): Promise<void> {
      for (let n = 0; n < minutes; n++) {
        clock.advance(minute);
        clock.set(Math.floor(clock.now() / minute) * minute + 10_000);
        await tick();
      }
    }

    it('creates no runs while all checks are paused, and records none as missed', async () => {
      const id = await check();
      await window({
        startsAt: '2026-03-04T05:02:00Z',
        endsAt: '2026-03-04T05:04:00Z',
        pauseAllChecks: true,
      });
      const foreign = await addAccount(db);
      await addLocation(db, { accountId: foreign, slug: 'office' });
      const other = await check({ account: foreign });
      await tickFor(5);
      expect(runs(id)).toEqual(['01:06', '04:06', '05:06']);
      expect(await missed(id)).toEqual([]);
      expect(runs(other)).toEqual(['01:06', '02:06', '03:06', '04:06', '05:06']);
    });

    it('pauses checks with a tag of the window, and checks in groups with one', async () => {
      const tagged = await check({ tags: ['web', 'database'] });
      const grouped = await check({ tags: ['web'], groupTags: ['database'] });
      const others = [await check({ tags: ['web'], groupTags: ['api'] }), await check()];
      await window({
        startsAt: '2026-03-04T05:02:00Z',
        endsAt: '2026-03-04T05:03:00Z',
        tags: ['database', 'x'],
      });
      // It only silences.
      await window({ startsAt: start, endsAt: '2026-03-05T05:00:00Z', silenceAllAlerts: true });
      await tickFor(3);
      for (const id of [tagged, grouped]) expect(runs(id)).toEqual(['01:06', '03:06']);
      for (const id of others) expect(runs(id)).toEqual(['01:06', '02:06', '03:06']);
    });

    it('pauses in each occurrence, and not in those that are cancelled or completed', async () => {
      const id = await check();
      const windowId = await window({
        startsAt: '2026-02-04T05:02:00Z',
        endsAt: '2026-02-04T05:05:00Z',
        pauseAllChecks: true,
        repeatInterval: 1,
        repeatUnit: 'MONTH',
      });
      await tickFor(3);
      expect(runs(id)).toEqual(['01:06']);
      const [startsAt, endsAt] = [new Date('2026-03-04T05:02:00Z'), new Date('2026-03-04T05:05:00Z')];
      const ended = { windowId, startsAt, endsAt, status: 'COMPLETED' as const, startedAt: null };
      await saveMaintenance(db, { ...ended, endedAt: new Date(clock.now()) });
      await tickFor(1);
      expect(runs(id)).toEqual(['01:06', '04:06']);
    });

    it('counts only runs that were missed outside of the pause', async () => {
      const id = await check();
      await window({
        startsAt: '2026-03-04T05:10:00Z',
        endsAt: '2026-03-04T05:30:00Z',
        pauseAllChecks: true,
      });
      // The service is away for 40 minutes; the last moment is too long ago for a run.
      clock.set('2026-03-04T05:40:50Z');
      await tick();
      expect(runs(id)).toEqual([]);
      expect(await missed(id)).toEqual([
        {
          details: expect.objectContaining({
            count: 20,
            from: '2026-03-04T05:01:06.000Z',
            to: '2026-03-04T05:40:06.000Z',
          }) as object,
        },
      ]);
    });

    it('gives the turn of a location to the first run after the pause', async () => {
      await addLocation(db, { accountId, slug: 'home' });
      const id = await addCheck(db, { accountId, privateLocations: ['office', 'home'], now: clock.now() });
      await window({
        startsAt: '2026-03-04T05:02:00Z',
        endsAt: '2026-03-04T05:03:00Z',
        pauseAllChecks: true,
      });
      await tickFor(3);
      expect(made.filter(({ checkId }) => checkId === id).map(({ place }) => place)).toEqual([
        'office',
        'home',
      ]);
    });

    it('a new window takes effect within a second', async () => {
      const id = await check();
      await tickFor(1);
      await window({ startsAt: start, endsAt: '2026-03-05T05:00:00Z', pauseAllChecks: true });
      await tickFor(2);
      expect(runs(id)).toEqual(['01:06']);
    });

    it('needs no query if no account has windows', async () => {
      const find = createFindPauses();
      const id = await check();
      const ask = () =>
        find(db, { checks: [{ id, accountId, nextDueAt: new Date(clock.now()) }], now: clock.now() });
      await ask();
      statements.length = 0;
      clock.advance(500);
      expect((await ask()).size).toBe(0);
      expect(statements).toEqual([]);
      clock.advance(500);
      await ask();
      expect(statements).toHaveLength(1);
    });

    it('returns the state for alerts and incidents', async () => {
      const at = (time: string) => maintenanceAt(db, { accountId, at: new Date(time) });
      const windowId = await window({
        startsAt: '2026-03-04T06:00:00Z',
        endsAt: '2026-03-04T07:00:00Z',
        tags: ['database'],
        silenceAlertsTags: ['web'],
        statusPageVisibility: { enabled: true, suppressAutoIncidents: true, serviceIds: ['shop'] },
      });
      const effects = async (time: string) => {
        const { pauses, silences, suppressesIncidents } = await at(time);
        return [
          pauses(['database']),
          pauses(['web']),
          silences(['web', 'x']),
          // Its scheduled runs are paused, and those that others start are silent.
          silences(['database']),
          silences([]),
          suppressesIncidents('shop'),
          suppressesIncidents('other'),
        ];
      };
      const none = Array(7).fill(false);
      const all = [true, false, true, true, false, true, false];
      expect(await effects('2026-03-04T05:59:59.999Z')).toEqual(none);
      expect(await effects('2026-03-04T06:00:00.000Z')).toEqual(all);
      expect(await effects('2026-03-04T06:59:59.999Z')).toEqual(all);
      expect(await effects('2026-03-04T07:00:00.000Z')).toEqual(none);
      // Cancelled at half past: what was before is as it was.
      await saveMaintenance(db, {
        windowId,
        startsAt: new Date('2026-03-04T06:00:00Z'),
        endsAt: new Date('2026-03-04T07:00:00Z'),
        status: 'CANCELLED',
        startedAt: null,
        endedAt: new Date('2026-03-04T06:30:00Z'),
      });
      expect(await effects('2026-03-04T06:29:59.999Z')).toEqual(all);
      expect(await effects('2026-03-04T06:30:00.000Z')).toEqual(none);
      const foreign = await addAccount(db);
      const other = await maintenanceAt(db, { accountId: foreign, at: new Date('2026-03-04T06:10:00Z') });
      expect([other.pauses(['database']), other.silences(['web'])]).toEqual([false, false]);
    });

    it('a window silences and suppresses everything, except incidents of a hidden window', async () => {
      const times = { startsAt: start, endsAt: '2026-03-05T05:00:00Z' };
      const everything = { suppressAutoIncidents: true, affectAllServices: true };
      const id = await window({ ...times, silenceAllAlerts: true, statusPageVisibility: everything });
      const now = { accountId, at: new Date(clock.now()) };
      const unseen = await maintenanceAt(db, now);
      expect([unseen.pauses(['x']), unseen.silences([]), unseen.suppressesIncidents('x')]).toEqual([
        false,
        true,
        false,
      ]);
      await db.query(
        `update maintenance_windows set status_page_visibility = status_page_visibility || '{"enabled": true}' where id = $1`,
        [id],
      );
      expect((await maintenanceAt(db, now)).suppressesIncidents('x')).toBe(true);
    });
  });
});

describe('a plan without paused checks', () => {
  const at = (minutes: number) => minutes * minute;
  const stretch = (from: number, to: number): Stretch => ({ from: at(from), to: at(to) });
  const plan: Plan = {
    run: { dueAt: at(20), expiresAt: at(21), locations: [1] },
    missed: { from: at(10), to: at(19), count: 10, locations: [1] },
    nextDueAt: at(21),
    rotation: 2,
  };
  const cases: [name: string, stretches: Stretch[], run: boolean, missed: [number, number, number] | null][] =
    [
      ['nothing', [], true, [10, 19, 10]],
      ['before', [stretch(0, 10)], true, [10, 19, 10]],
      ['the first', [stretch(0, 11)], true, [11, 19, 9]],
      ['a part of a minute that holds no moment', [{ from: at(10) + 1, to: at(11) }], true, [10, 19, 10]],
      ['the middle', [stretch(12, 15)], true, [10, 19, 7]],
      ['the last', [stretch(19, 20)], true, [10, 18, 9]],
      ['the run', [stretch(20, 30)], false, [10, 19, 10]],
      ['its end is not paused', [stretch(15, 20)], true, [10, 14, 5]],
      ['both ends', [stretch(18, 25), stretch(5, 12)], false, [12, 17, 6]],
      ['overlapping', [stretch(11, 14), stretch(12, 13), stretch(13, 16)], true, [10, 19, 5]],
      ['all', [stretch(0, 15), stretch(15, 99)], false, null],
    ];
  test.each(cases)('%s', (_name, stretches, runs, missed) => {
    const cut = withoutPauses(plan, { intervalSeconds: 60, rotation: 1, stretches });
    expect(cut).toEqual({
      run: runs ? plan.run : null,
      missed:
        missed === null ? null : { from: at(missed[0]), to: at(missed[1]), count: missed[2], locations: [1] },
      nextDueAt: at(21),
      rotation: runs ? 2 : 1,
    });
  });
});
