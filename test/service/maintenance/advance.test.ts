import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import type { StatusPageVisibility } from '../../../src/service/maintenance/effect-statements.ts';
import { createMaintenanceLoop } from '../../../src/service/maintenance/advance.ts';
import { handleMaintenanceEvents } from '../../../src/service/maintenance/events.ts';
import { visibleMaintenances } from '../../../src/service/maintenance/maintenances.ts';
import { createClock, silent } from '../../helpers/service/agent-service.ts';
import { deleteOldMaintenances } from '../../../src/service/maintenance/occurrence-statements.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Occurrences of visible windows, over time: two replicas, and a clock that the test moves. */

const start = '2026-03-09T00:00:00.000Z';
const path = '/v1/maintenance-windows';

const visible: Partial<StatusPageVisibility> = { enabled: true, notifyOnStart: true, notifyOnEnd: true };

describe.each(databases)('maintenances on $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let replicas: Db[];
    let backgrounds: Background[];
    let service: TestService;
    /** The mails to subscribers, in order. */
    let told: string[] = [];

    beforeAll(async () => {
      replicas = await database.openReplicas(2);
      backgrounds = replicas.map((db) => createBackground({ db, log: silent }));
      for (const [index, background] of backgrounds.entries()) {
        handleMaintenanceEvents(background, {
          db: replicas[index] as Db,
          now: clock.now,
          followers: [
            async (_tx, { kind, body, startsAt }) => {
              const which = body.minutesBefore === null ? '' : ` ${body.minutesBefore}`;
              told.push(`${kind}${which} ${startsAt.toISOString().slice(8, 16)}`);
            },
          ],
        });
        await background.prepare();
      }
      service = await startTestService(replicas[0] as Db, {
        now: clock.now,
        background: backgrounds[0] as Background,
      });
    });
    beforeEach(() => {
      clock.set(start);
      told = [];
    });
    afterEach(async () => {
      await replicas[0]?.query('delete from maintenance_windows');
    });
    afterAll(async () => {
      await service.close();
      await Promise.all(backgrounds.map((background) => background.stop()));
      await database.close();
    });

    const loops = () =>
      replicas.map((db, index) =>
        createMaintenanceLoop({
          db,
          background: backgrounds[index] as Background,
          now: clock.now,
          log: silent,
        }),
      );
    /** At that time, both replicas do the due work at the same time. */
    async function at(time: string): Promise<void> {
      clock.set(`2026-03-${time}:00Z`);
      await Promise.all(loops().map((loop) => loop.tick()));
      // Due work in many parts.
      for (let round = 0; round < 5; round++) await loops()[0]?.tick();
      await Promise.all(backgrounds.map((background) => background.tick()));
    }
    async function create(fields: Fields = {}, visibility: Fields = {}): Promise<number> {
      const { status, body } = await service.call<{ id: number }>('POST', path, {
        body: {
          name: 'Upgrade',
          startsAt: '2026-03-10T01:00:00Z',
          endsAt: '2026-03-10T02:00:00Z',
          statusPageVisibility: { ...visible, ...visibility },
          ...fields,
        },
      });
      expect(status).toBe(201);
      return body.id;
    }
    type Occurrence = {
      id: string;
      status: string;
      startedAt: string | null;
      endedAt: string | null;
      updates: Fields[];
    };
    const occurrences = async (id: number) =>
      (
        await service.call<Occurrence[]>(
          'GET',
          `${path}/${id}/occurrences?from=2026-03-01&to=2026-04-01&limit=100`,
        )
      ).body;
    const update = async (id: number, fields: Fields) => {
      const [first] = await occurrences(id);
      return service.call('POST', `${path}/${id}/occurrences/${first?.id}/updates`, { body: fields });
    };

    test('an occurrence starts and ends by itself, and subscribers are notified once of each', async () => {
      const id = await create({}, { reminderMinutesBefore: [60, 1440] });
      await at('09T00:30');
      expect(told).toEqual([]);
      await at('09T01:00');
      await at('10T00:00');
      await at('10T00:59');
      expect(told).toEqual(['REMINDER 1440 10T01:00', 'REMINDER 60 10T01:00']);
      await at('10T01:00');
      expect(await occurrences(id)).toEqual([
        expect.objectContaining({
          status: 'IN_PROGRESS',
          startedAt: '2026-03-10T01:00:00.000Z',
          endedAt: null,
          updates: [
            expect.objectContaining({ status: 'IN_PROGRESS', description: 'Maintenance has started.' }),
          ],
        }),
      ]);
      await at('10T02:00');
      await at('10T02:01');
      const [over] = await occurrences(id);
      expect([over?.status, over?.endedAt, over?.updates.length]).toEqual([
        'COMPLETED',
        '2026-03-10T02:00:00.000Z',
        2,
      ]);
      expect(told.slice(2)).toEqual(['STARTED 10T01:00', 'ENDED 10T01:00']);
    });

    test('each occurrence of a repeated window', async () => {
      const id = await create({ repeatInterval: 1, repeatUnit: 'DAY', repeatEndsAt: '2026-03-12' });
      for (const time of ['10T01:00', '10T02:00', '11T01:00', '11T02:00', '12T01:00', '12T02:00', '13T01:30'])
        await at(time);
      expect(told).toEqual(
        ['10', '11', '12'].flatMap((day) => [`STARTED ${day}T01:00`, `ENDED ${day}T01:00`]),
      );
      expect((await occurrences(id)).map(({ status }) => status)).toEqual(Array(3).fill('COMPLETED'));
    });

    test('after an outage, past occurrences are recorded without notifications', async () => {
      const id = await create({ repeatInterval: 1, repeatUnit: 'DAY' }, { reminderMinutesBefore: [60] });
      await at('20T01:30');
      expect(told).toEqual(['STARTED 20T01:00']);
      const found = await occurrences(id);
      expect(found.slice(0, 12).map(({ status }) => status)).toEqual([
        ...Array<string>(10).fill('COMPLETED'),
        'IN_PROGRESS',
        'SCHEDULED',
      ]);
    });

    test('an occurrence that is made visible in its middle starts then', async () => {
      const id = await create({}, { enabled: false });
      await at('10T01:20');
      expect(told).toEqual([]);
      await service.call('PUT', `${path}/${id}`, { body: { statusPageVisibility: visible } });
      await at('10T01:21');
      expect(told).toEqual(['STARTED 10T01:00']);
    });

    test('an occurrence without automatic start waits for an update', async () => {
      const id = await create({}, { autoStart: false, autoEnd: false });
      await at('10T01:10');
      expect((await occurrences(id))[0]?.status).toBe('SCHEDULED');
      await update(id, { status: 'IN_PROGRESS', description: 'We begin.' });
      await update(id, { status: 'VERIFYING', description: 'We look.' });
      await at('10T05:00');
      expect((await occurrences(id))[0]?.status).toBe('VERIFYING');
      await update(id, { status: 'COMPLETED', description: 'Done.' });
      await at('10T05:10');
      expect(told).toEqual(['STARTED 10T01:00', 'ENDED 10T01:00']);
      expect((await occurrences(id))[0]).toMatchObject({
        startedAt: '2026-03-10T01:10:00.000Z',
        endedAt: '2026-03-10T05:00:00.000Z',
      });
    });

    test('updates notify on request; a cancelled occurrence neither reminds nor starts', async () => {
      const id = await create({}, { reminderMinutesBefore: [60] });
      await update(id, { description: 'Quiet' });
      await update(id, { description: 'Soon', notifySubscribers: true });
      const [first] = await occurrences(id);
      await service.call('POST', `${path}/${id}/occurrences/${first?.id}/cancel`, {
        body: { notifySubscribers: true },
      });
      await at('10T00:30');
      await at('10T01:30');
      await at('10T02:30');
      expect(told.sort()).toEqual(['CANCELLED 10T01:00', 'UPDATED 10T01:00']);
      expect((await occurrences(id))[0]?.status).toBe('CANCELLED');
    });

    test('an occurrence that was started early does not start again; one completed early does not end again', async () => {
      const id = await create();
      clock.set('2026-03-10T00:50:00Z');
      await update(id, { status: 'IN_PROGRESS', description: 'We begin early.' });
      await at('10T01:00');
      await update(id, { status: 'COMPLETED', description: 'Done.' });
      await at('10T02:00');
      expect(told).toEqual(['STARTED 10T01:00', 'ENDED 10T01:00']);
      expect((await occurrences(id))[0]).toMatchObject({
        startedAt: '2026-03-10T00:50:00.000Z',
        endedAt: '2026-03-10T01:00:00.000Z',
      });
    });

    test('changed times: the running occurrence is cancelled, and the new one starts', async () => {
      const id = await create();
      await at('10T01:00');
      await service.call('PUT', `${path}/${id}`, {
        body: { startsAt: '2026-03-10T04:00:00Z', endsAt: '2026-03-10T05:00:00Z' },
      });
      await at('10T02:30');
      await at('10T04:00');
      expect((await occurrences(id)).map(({ status }) => status)).toEqual(['CANCELLED', 'IN_PROGRESS']);
      // With a longer duration it continues.
      await service.call('PUT', `${path}/${id}`, { body: { endsAt: '2026-03-10T06:00:00Z' } });
      await at('10T05:30');
      expect((await occurrences(id))[1]?.status).toBe('IN_PROGRESS');
      await at('10T06:00');
      expect(told).toEqual(['STARTED 10T01:00', 'STARTED 10T04:00', 'ENDED 10T04:00']);
      expect((await service.call('DELETE', `${path}/${id}`)).status).toBe(204);
    });

    test('records of old occurrences are deleted, unless they are started and ended manually', async () => {
      const repeat = { repeatInterval: 1, repeatUnit: 'WEEK' };
      const id = await create(repeat);
      const manual = await create(repeat, { autoEnd: false });
      await at('10T02:00');
      for (const window of [id, manual]) {
        const [occurrence] = await occurrences(window);
        await service.call('POST', `${path}/${window}/occurrences/${occurrence?.id}/updates`, {
          body: { status: 'COMPLETED', description: 'Done.' },
        });
      }
      await at('17T02:00');
      const db = replicas[0] as Db;
      const recorded = () =>
        db.query(
          'select window_id as window, count(*)::integer from maintenances where window_id = any($1::bigint[]) group by 1 order by 1',
          [[id, manual]],
        );
      const before = await recorded();
      expect(before).toEqual([
        { window: id, count: 2 },
        { window: manual, count: expect.any(Number) as unknown },
      ]);
      const old = { before: new Date('2026-03-10T02:00:01Z'), limit: 1000 };
      expect(await deleteOldMaintenances(db, old)).toBe(1);
      expect(await recorded()).toEqual([{ window: id, count: 1 }, before[1]]);
      expect(await deleteOldMaintenances(db, old)).toBe(0);
      expect((await occurrences(id))[0]).toMatchObject({ status: 'COMPLETED' });
    });

    test('status pages see the visible ones that are theirs', async () => {
      const { body: page } = await service.call<{ id: string }>('POST', '/v1/status-pages', {
        body: { name: 'Acme', url: 'acme' },
      });
      const ids = [
        await create({}, { statusPageIds: [page.id] }),
        await create({ startsAt: '2026-03-10T00:30:00Z' }),
        await create({}, { enabled: false }),
      ];
      const seen = async (statusPageId: string) =>
        (
          await visibleMaintenances(replicas[0] as Db, {
            accountId: service.account.id,
            statusPageId,
            from: clock.now(),
            to: Date.parse('2026-04-01T00:00:00Z'),
            now: clock.now(),
            limit: 10,
          })
        ).map(({ window, status }) => [window.id, status]);
      expect(await seen(page.id)).toEqual([
        [ids[1], 'SCHEDULED'],
        [ids[0], 'SCHEDULED'],
      ]);
      expect(await seen('two')).toEqual([[ids[1], 'SCHEDULED']]);
    });
  });
});
