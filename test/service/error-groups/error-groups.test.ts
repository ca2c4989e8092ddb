import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { createErrorFollower, maxGroups } from '../../../src/service/error-groups/follow-errors.ts';
import { createFinishedRuns } from '../../../src/service/results/finished-runs.ts';
import { addCheck, createClock, silent } from '../../helpers/service/agent-service.ts';
import { endRuns, type Part } from '../../helpers/service/alert-runs.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Error groups from runs that fail to the public API, on both databases. */

const start = Date.parse('2026-03-01T12:00:00Z');
const minute = 60_000;

describe.each(databases)('error groups on $name', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const clock = createClock(start);
    let statements: string[] = [];
    let db: Db;
    let service: TestService;
    let checkId = '';
    const told: string[] = [];

    beforeAll(async () => {
      db = await database.open({ onStatement: ({ sql }) => void statements.push(sql) });
      service = await startTestService(db, { now: clock.now });
    });
    beforeEach(async () => {
      clock.set(start);
      told.length = 0;
      checkId = await addCheck(db, { accountId: service.account.id, now: start });
    });
    afterAll(async () => {
      await service.close();
      await database.close();
    });

    const follow = () =>
      createFinishedRuns({
        db,
        followers: [
          createErrorFollower(async (_tx, groups) => void told.push(...groups.map(({ id }) => id))),
        ],
        now: clock.now,
        log: silent,
      }).tick();
    async function end(parts: Part[], at = clock.now()): Promise<string[]> {
      const ids = await endRuns(db, [{ checkId, accountId: service.account.id, at, parts }]);
      await follow();
      return ids;
    }
    const failed = (message: string): Part => ({ status: 'failed', message });
    type Group = Fields & { id: string; rootCauseAnalyses: unknown[] };
    const list = async (query = '') =>
      (await service.call<Group[]>('GET', `/v1/error-groups/checks/${checkId}${query}`)).body;

    test('errors of one kind are one group, with the latest message and both times', async () => {
      await end([failed('took 1200 ms; the limit is 1000 ms')]);
      clock.advance(minute);
      await end([
        failed('took 1300 ms; the limit is 1000 ms'),
        { ...failed('no button'), location: 'there' },
      ]);
      clock.advance(minute);
      await end([{ status: 'passed' }, { status: 'degraded', message: 'slow' }]);
      const groups = await list();
      expect(groups).toHaveLength(2);
      expect(
        groups.find(({ rawErrorMessage }) => rawErrorMessage === 'took 1300 ms; the limit is 1000 ms'),
      ).toMatchObject({
        checkId,
        cleanedErrorMessage: 'took <duration>; the limit is <duration>',
        firstSeen: new Date(start).toISOString(),
        lastSeen: new Date(start + minute).toISOString(),
        archivedUntilNextEvent: false,
        archiveForEver: false,
        rootCauseAnalyses: [],
      });
      expect(told).toHaveLength(2);
      expect(await list('?limit=1&page=2')).toHaveLength(1);
    });

    test('a failed result has a group; a passed one has none', async () => {
      const [failedId] = await end([failed('status 503')]);
      clock.advance(minute);
      const [passedId] = await end([{ status: 'passed' }]);
      const [group] = await list();
      const one = (id = '') => service.call('GET', `/v1/check-results/${checkId}/${id}`);
      expect((await one(failedId)).body['errorGroupIds']).toEqual([group?.id]);
      expect((await one(passedId)).body['errorGroupIds']).toEqual([]);
      const page = await service.call<{ entries: Fields[] }>(
        'GET',
        `/v2/check-results/${checkId}?fields=id,errorGroupIds`,
      );
      expect(page.body.entries).toEqual([
        { id: passedId, errorGroupIds: [] },
        { id: failedId, errorGroupIds: [group?.id] },
      ]);
    });

    test('a later event unarchives a group, unless it is archived permanently', async () => {
      await end([failed('no button')]);
      const [group] = await list();
      const path = `/v1/error-groups/${group?.id}`;
      clock.advance(minute);
      const archived = await service.call('PATCH', path, {
        body: { ...group, archivedUntilNextEvent: true },
      });
      expect(archived.body).toMatchObject({ archivedUntilNextEvent: true, archiveForEver: false });
      // It started before the group was archived, and is followed only now.
      await end([failed('no button')], start + 1000);
      expect((await service.call('GET', path)).body).toMatchObject({ archivedUntilNextEvent: true });
      clock.advance(minute);
      await end([failed('no button')]);
      expect((await service.call('GET', path)).body).toMatchObject({ archivedUntilNextEvent: false });
      await service.call('PATCH', path, { body: { archiveForEver: true } });
      clock.advance(minute);
      await end([failed('no button')]);
      expect((await service.call('GET', path)).body).toMatchObject({ archiveForEver: true });
    });

    test('a run that is processed late changes only the time the error was first seen', async () => {
      clock.advance(10 * minute);
      await end([failed('took 12 ms')]);
      await end([failed('took 11 ms')], start);
      await end([failed('took 13 ms')], start + minute);
      expect(await list()).toMatchObject([
        {
          rawErrorMessage: 'took 12 ms',
          firstSeen: new Date(start).toISOString(),
          lastSeen: new Date(start + 10 * minute).toISOString(),
        },
      ]);
    });

    test('archived by hand, and back by hand', async () => {
      await end([failed('no button')]);
      const [group] = await list();
      const path = `/v1/error-groups/${group?.id}`;
      for (const [body, expected] of [
        [{ archiveForEver: true }, { archiveForEver: true, archivedUntilNextEvent: false }],
        [{ archiveForEver: false }, { archiveForEver: false, archivedUntilNextEvent: false }],
        [{ archivedUntilNextEvent: true }, { archiveForEver: false, archivedUntilNextEvent: true }],
        [{}, { archiveForEver: false, archivedUntilNextEvent: true }],
        [{ archivedUntilNextEvent: false }, { archiveForEver: false, archivedUntilNextEvent: false }],
      ] as const) {
        expect((await service.call('PATCH', path, { body })).body).toMatchObject(expected);
        expect(await list()).toMatchObject([expected]);
      }
    });

    test('the same error of another check is another group; deleting a check deletes its groups', async () => {
      await end([failed('no button')]);
      const [own] = await list();
      const first = checkId;
      checkId = await addCheck(db, { accountId: service.account.id, now: start });
      await end([failed('no button')]);
      const [other] = await list();
      expect(other?.id).not.toBe(own?.id);
      expect(other?.['errorHash']).toBe(own?.['errorHash']);
      expect((await service.call('DELETE', `/v1/checks/${first}`)).status).toBe(204);
      expect((await service.call('GET', `/v1/error-groups/${own?.id}`)).status).toBe(404);
      expect((await service.call('GET', `/v1/error-groups/${other?.id}`)).status).toBe(200);
    });

    test('invalid fields are named; groups of other accounts are 404', async () => {
      await end([failed('no button')]);
      const [group] = await list();
      const path = `/v1/error-groups/${group?.id}`;
      const refused = await service.call('PATCH', path, { body: { archiveForEver: 'yes', other: 1 } });
      expect(refused.status).toBe(400);
      expect(Object.keys(refused.body['attributes'] as Fields).sort()).toEqual(['archiveForEver', 'other']);
      const { key } = service.foreign;
      for (const [method, at] of [
        ['GET', path],
        ['PATCH', path],
        ['GET', '/v1/error-groups/none'],
        ['GET', `/v1/error-groups/checks/${checkId}`],
        ['POST', `/v1/root-cause-analyses/error-groups/${group?.id}`],
      ] as const) {
        const body = method === 'GET' ? undefined : {};
        expect((await service.call(method, at, { key, body })).status, `${method} ${at}`).toBe(404);
      }
      expect((await service.call('GET', `/v1/error-groups/checks/${checkId}?limit=0`)).status).toBe(400);
    });

    test('many failures take a few statements, and a check has only so many groups', async () => {
      const runs = Array.from({ length: 40 }, (_, run) => ({
        checkId,
        accountId: service.account.id,
        at: start + run * 1000,
        parts: [failed(`step ${String.fromCodePoint(97 + (run % 20))} ${run % 2 === 0 ? 'x' : 'y'} failed`)],
      }));
      await endRuns(db, runs);
      statements = [];
      await follow();
      expect(statements.filter((sql) => /error_groups|check_results/.test(sql)).length).toBeLessThanOrEqual(
        3,
      );
      await endRuns(
        db,
        Array.from({ length: maxGroups }, (_, run) => ({
          ...runs[0]!,
          at: start + minute + run * 1000,
          parts: [failed(`other ${String.fromCodePoint(0x4e00 + run)}`)],
        })),
      );
      await follow();
      await follow();
      const [counted] = await db.query<{ count: number }>(
        'select count(*)::integer as count from error_groups where check_id = $1',
        [checkId],
      );
      expect(counted?.count).toBe(maxGroups);
    });
  });
});
