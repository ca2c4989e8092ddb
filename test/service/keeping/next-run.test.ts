import { describe, expect, it } from 'vitest';
import { listIds, readListed } from '../../../src/service/overview/list-statements.ts';
import type { OverviewQuery } from '../../../src/service/overview/schema.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench } from './keeping-bench.ts';

/** Lists show when held checks run next, although only their agents plan it. */

const start = '2026-03-04T05:06:07.000Z';

describe.each(databases)('next runs of held checks: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);

    it('are computed, and lists are ordered by them', async () => {
      const { db, accountId } = current();
      const common = { accountId, privateLocations: ['office'], now: clock.now() };
      // Due at 6 s past: each five minutes, each minute, and each half hour; the last two are not held.
      const five = await addCheck(db, { ...common, frequency: 5 });
      const one = await addCheck(db, common);
      const queued = await addCheck(db, { ...common, privateLocations: ['elsewhere'], frequency: 2 });
      const paused = await addCheck(db, { ...common, activated: false });
      const agent = await current().connect();
      await agent.renewHeld();
      await current().handOut();
      await agent.renewHeld();
      expect([...agent.held.keys()].toSorted()).toEqual([five, one].toSorted());
      const moments = await db.query<{ id: string; due: Date | null }>(
        'select id, next_due_at as due from checks',
      );
      expect(moments.find(({ id }) => id === one)?.due).toBeNull();

      clock.advance(3 * 60_000);
      for (const order of ['asc', 'desc'] as const) {
        const query = { sort: 'nextRun', order, group: false, limit: 10, page: 1 } as OverviewQuery;
        const ids = await listIds(db, { accountId, query, figuresSince: new Date(0), now: clock.now() });
        const listed = await readListed(db, ids, clock.now());
        const due = new Map(
          listed.map(({ id, nextRunAt }) => [id, nextRunAt === null ? null : Date.parse(nextRunAt)]),
        );
        for (const id of [one, five]) {
          const next = agent.held.get(id)?.from ?? 0;
          const step = id === one ? 60_000 : 300_000;
          const passed = Math.ceil(Math.max(0, clock.now() + 1 - next) / step);
          expect(due.get(id)).toBe(next + passed * step);
        }
        expect(due.get(paused)).toBeNull();
        const known = ids.filter((id) => id !== paused).map((id) => due.get(id) ?? 0);
        expect(known).toEqual(known.toSorted((a, b) => (order === 'asc' ? a - b : b - a)));
        expect(ids.at(-1)).toBe(paused);
        expect(ids).toHaveLength(4);
        expect(ids).toContain(queued);
      }
    });
  });
});
