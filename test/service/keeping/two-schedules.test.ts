import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/protocol/assignments.ts';
import { scheduledJobId } from '../../../src/protocol/schedule.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { recordMissed } from '../../../src/service/scheduling/record-missed.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult, missedOf } from './keeping-bench.ts';

/** Missed runs of two schedules in one time: an agent that does not know of an edit reports moments of the former schedule. */

const start = '2026-03-04T05:06:07.000Z';
const second = 1_000;
/** Checks are due at 6, 16, 26 ... s. */
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('missed runs of two schedules: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);

    const connected = (continues?: string[]) => current().connectHolder(continues);
    /** An agent that holds a check of every 10 s, and has read nothing since a second after `first`. */
    const holding = async () => {
      const { db, accountId } = current();
      const id = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await current().reschedule(id, { intervalSeconds: 10, offsetSeconds: 6 });
      const agent = await connected();
      clock.set(first + second);
      await agent.renewHeld({ reportedTo: first });
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      return { id, agent, check };
    };
    const editAt = async (
      seconds: number,
      id: string,
      [intervalSeconds, offsetSeconds]: readonly [number, number],
    ) => {
      clock.set(first + seconds * second);
      await current().reschedule(id, { intervalSeconds, offsetSeconds });
      await current().handOut();
    };
    /** Seconds after `first`. */
    const missed = (check: Assignment, from: number, to: number, count: number) =>
      missedOf(check, first + from * second, first + to * second, count);
    /** The moments that are recorded as missed. */
    const records = async () => {
      const rows = await current().db.query<{ from: Date; to: Date; details: { count: number } }>(
        `select started_at as "from", stopped_at as "to", body->'details' as details from check_results
         where status = 'missed' order by started_at, stopped_at`,
      );
      return rows
        .flatMap(({ from, to, details: { count } }) =>
          Array.from({ length: count }, (_, index) => {
            const stepMs = count === 1 ? 0 : (to.getTime() - from.getTime()) / (count - 1);
            return (from.getTime() + index * stepMs - first) / second;
          }),
        )
        .sort((a, b) => a - b);
    };
    const resultsAt = async (id: string, seconds: number) =>
      (
        await current().db.query('select 1 from check_results where check_id = $1 and job_id = $2', [
          id,
          scheduledJobId(id, current().office.id, first + seconds * second),
        ])
      ).length;

    it('moments of the former schedule after an edit are nobody’s', async () => {
      const { id, agent, check } = await holding();
      await editAt(24, id, [20, 11]);
      clock.set(first + 75 * second);
      const heir = await connected([agent.agentId]);
      const next = heir.held.get(id);
      if (next === undefined) throw new Error('not held');
      await heir.report(missed(next, 25, 65, 3));
      // Restarted without a way to the service, it has read nothing of the edit.
      await agent.report(missed(check, 10, 70, 7));
      expect(await records()).toEqual([10, 20, 25, 45, 65]);
    });

    it('only those that both schedules have are owed', async () => {
      const { id, agent, check } = await holding();
      await editAt(25, id, [20, 16]);
      clock.set(first + 75 * second);
      await connected([agent.agentId]);
      await agent.report(missed(check, 10, 70, 7));
      expect(await records()).toEqual([10, 20, 30, 50, 70]);
    });

    it('a record hides no moment of another schedule, and a late result is taken from its own', async () => {
      const { id, agent, check } = await holding();
      await editAt(24, id, [20, 11]);
      // By another replica, which does not know of the edit yet.
      const { db, accountId } = current();
      const partitions = createPartitions(db);
      await partitions.withDays(() =>
        db.tx((tx) =>
          recordMissed(tx, {
            missed: [
              {
                accountId,
                checkId: id,
                checkType: 'URL',
                runLocation: 'office',
                from: first + 30 * second,
                to: first + 60 * second,
                count: 4,
                code: 'NO_AGENT',
              },
            ],
            now: clock.now(),
            partitions,
          }),
        ),
      );
      clock.set(first + 75 * second);
      const heir = await connected([agent.agentId]);
      const next = heir.held.get(id);
      if (next === undefined) throw new Error('not held');
      await heir.report(missed(next, 25, 65, 3));
      expect(await records()).toEqual([10, 20, 25, 30, 40, 45, 50, 60, 65]);
      await heir.report(missed(next, 25, 65, 3), keptResult(next, first + 45 * second));
      expect(await records()).toEqual([10, 20, 25, 30, 40, 50, 60, 65]);
      await agent.report(keptResult(check, first + 40 * second));
      expect(await records()).toEqual([10, 20, 25, 30, 50, 60, 65]);
    });

    it('a run and a report that it was missed are one result, also if the run is repeated later', async () => {
      const { id, agent, check } = await holding();
      clock.set(first + 45 * second);
      const attempt = keptResult(check, first + 40 * second, { resultType: 'ATTEMPT', status: 'failed' });
      await agent.report(attempt, missed(check, 10, 40, 4));
      expect(await records()).toEqual([10, 20, 30]);
      clock.advance(5 * second);
      const last = { sequenceId: attempt['sequenceId'], attempt: 2 };
      await agent.report(keptResult(check, first + 40 * second, last));
      expect(await resultsAt(id, 40)).toBe(2);
      expect(await records()).toEqual([10, 20, 30]);
    });

    it('a result that arrives soon after a run of the next schedule is taken from the record', async () => {
      const { id, agent, check } = await holding();
      await editAt(11, id, [10, 7]);
      await agent.report(missed(check, 10, 10, 1));
      await agent.renewHeld({ reportedTo: first + 10 * second });
      const next = agent.held.get(id);
      if (next === undefined) throw new Error('not held');
      clock.set(first + 12 * second);
      await agent.report(keptResult(next, first + 11 * second));
      clock.set(first + 13 * second);
      await agent.report(keptResult(check, first + 10 * second));
      expect(await records()).toEqual([]);
    });

    it('a check that is read between an edit and its hand-out has the former schedule, which is still owed', async () => {
      const { id, agent } = await holding();
      clock.set(first + 45 * second);
      const heir = await current().connect([agent.agentId]);
      await heir.renewHeld();
      await current().handOut();
      clock.set(first + 46 * second);
      await current().reschedule(id, { intervalSeconds: 20, offsetSeconds: 13 });
      await heir.renewHeld();
      const former = heir.held.get(id);
      if (former === undefined) throw new Error('not held');
      expect(former).toMatchObject({ from: first + 10 * second, intervalSeconds: 10, offsetSeconds: 6 });
      await heir.report(missed(former, 10, 30, 3), keptResult(former, first + 40 * second));
      await current().handOut();
      await heir.renewHeld({ reportedTo: first + 46 * second });
      expect(heir.held.get(id)).toMatchObject({
        from: first + 47 * second,
        intervalSeconds: 20,
        offsetSeconds: 13,
      });
      await current().handOut();
      expect(await records()).toEqual([10, 20, 30]);
      expect(await resultsAt(id, 40)).toBe(1);
    });

    it('a result of a former holder is taken from the record that a run of the next schedule has closed', async () => {
      const { id, agent, check } = await holding();
      clock.set(first + 49 * second);
      const heir = await current().connect([agent.agentId]);
      await heir.renewHeld();
      await current().handOut();
      // It dies before it has read that, and its check is edited.
      const next = await current().connect([agent.agentId, heir.agentId]);
      await next.renewHeld();
      await editAt(51, id, [30, 58]);
      await next.renewHeld();
      const edited = next.held.get(id);
      if (edited === undefined) throw new Error('not held');
      expect(await records()).toEqual([10, 20, 30, 40, 50]);
      clock.set(first + 52 * second);
      await next.report(keptResult(edited, first + 52 * second));
      clock.set(first + 53 * second);
      await agent.report(keptResult(check, first + 50 * second));
      expect(await resultsAt(id, 50)).toBe(1);
      expect(await records()).toEqual([10, 20, 30, 40]);
    });

    it('a run and a report that it was missed, in one batch, are one result', async () => {
      const { id, agent, check } = await holding();
      clock.set(first + 45 * second);
      await agent.report(keptResult(check, first + 40 * second), missed(check, 10, 40, 4));
      expect(await resultsAt(id, 40)).toBe(1);
      expect(await records()).toEqual([10, 20, 30]);
    });
  });
});
