import { describe, expect, it } from 'vitest';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench } from './keeping-bench.ts';

/** Checks of which no job can be built when their new holder asks for them. */

const start = '2026-03-04T05:06:07.000Z';
const second = 1_000;
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('checks of which no job can be built: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);

    /** A check of every 10 s, whose holder has reported the runs until `first`, and another process that continues it 45 s later. */
    const passedOn = async () => {
      const { db, accountId } = current();
      const id = await addCheck(db, {
        accountId,
        checkType: 'API',
        privateLocations: ['office'],
        now: clock.now(),
      });
      await current().reschedule(id, { intervalSeconds: 10, offsetSeconds: 6 });
      const agent = await current().connectHolder();
      expect(agent.held.has(id)).toBe(true);
      clock.set(first + second);
      await agent.renewHeld({ reportedTo: first });
      clock.set(first + 45 * second);
      const heir = await current().connect([agent.agentId]);
      await heir.renewHeld();
      await current().handOut();
      return { id, heir };
    };
    /** Its setup names a snippet that does not exist. */
    const breakCheck = (id: string) =>
      current().db.query(
        `update checks set definition = definition || '{"setupSnippetId": 12345, "tearDownSnippetId": null}' where id = $1`,
        [id],
      );
    const records = () =>
      current().db.query(
        `select started_at as "from", stopped_at as "to", (body->'details'->>'count')::integer as count
         from check_results where status = 'missed'`,
      );

    it('what a dead holder owed is recorded, and the scheduler makes the last run', async () => {
      const { id, heir } = await passedOn();
      await breakCheck(id);
      await heir.renewHeld();
      expect(heir.held.size).toBe(0);
      expect(await records()).toEqual([
        { from: new Date(first + 10 * second), to: new Date(first + 30 * second), count: 3 },
      ]);
      await current().service.scheduler.tick();
      expect(await current().db.query('select due_at as at from jobs where check_id = $1', [id])).toEqual([
        { at: new Date(first + 40 * second) },
      ]);
    });

    it('also if the schedule is edited at the same time', async () => {
      const { id, heir } = await passedOn();
      clock.set(first + 46 * second);
      await breakCheck(id);
      await current().reschedule(id, { intervalSeconds: 20, offsetSeconds: 13 });
      await heir.renewHeld();
      expect(heir.held.size).toBe(0);
      await heir.renewHeld({ reportedTo: first + 46 * second });
      await current().handOut();
      expect(await records()).toEqual([
        { from: new Date(first + 10 * second), to: new Date(first + 40 * second), count: 4 },
      ]);
    });
  });
});
