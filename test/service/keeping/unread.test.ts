import { describe, expect, it } from 'vitest';
import { lockKeptRuns } from '../../../src/service/agents/kept-results.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { runSoon } from '../../../src/service/projects/statements.ts';
import { recordMissed } from '../../../src/service/scheduling/record-missed.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult, missedOf, type KeepingAgent } from './keeping-bench.ts';

/** What holders owe when something changes that they have not read yet, and what the service believes of their reports. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
const day = 24 * 60 * minute;
/** Checks are due at 6 s past each minute. */
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('holders that have not read the latest: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    const add = () =>
      addCheck(current().db, {
        accountId: current().accountId,
        privateLocations: ['office'],
        now: clock.now(),
      });
    const connected = (continues?: string[]) => current().connectHolder(continues);
    const checkOf = (agent: KeepingAgent, id: string) => {
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      return check;
    };
    const records = () =>
      current().db.query<{ from: Date; to: Date; details: { count: number } }>(
        `select started_at as "from", stopped_at as "to", body->'details' as details from check_results
         where status = 'missed' order by started_at`,
      );
    const change = async (what: string) => {
      const { db, accountId } = current();
      if (what === 'a location')
        await db.query('update locations set stops_in_outages = not stops_in_outages');
      else await db.query('insert into kept_changes (account_id) values ($1)', [accountId]);
      await current().handOut();
    };

    it.each(['a location', 'everything'])(
      'a change of %s that a dead agent did not read makes its heir owe nothing that was reported',
      async (what) => {
        const id = await add();
        const one = await connected();
        clock.set(first + 100 * minute + 20_000);
        await one.renewHeld({ reportedTo: first + 100 * minute + 10_000 });
        await change(what);
        const heir = await connected([one.agentId]);
        expect(checkOf(heir, id).from).toBe(first + 101 * minute);
      },
    );

    it('an agent that asks for everything again owes nothing that it had reported', async () => {
      const id = await add();
      const one = await connected();
      clock.set(first + 100 * minute + 20_000);
      await one.renewHeld({ reportedTo: first + 100 * minute + 10_000 });
      // It reads everything anew, and dies before the answer.
      await one.call('jobs/claim', {
        agentId: one.agentId,
        free: {},
        waitSeconds: 0,
        keeping: { cursor: null, reportedTo: first + 100 * minute + 10_000 },
      });
      const heir = await connected([one.agentId]);
      expect(checkOf(heir, id).from).toBe(first + 101 * minute);
    });

    it('what a check owes survives a change that its holder has not read, if it has reported less', async () => {
      const id = await add();
      const one = await connected();
      clock.set(first + 3 * minute + 20_000);
      await one.renewHeld({ reportedTo: first + minute });
      await change('everything');
      await change('everything');
      const heir = await connected([one.agentId]);
      expect(checkOf(heir, id).from).toBe(first + 2 * minute);
    });

    it('an edit of a check whose agent has died is made after that is known, and loses no moment', async () => {
      const id = await add();
      const one = await connected();
      clock.set(first + 10_000);
      await one.renewHeld({ reportedTo: first });
      // The service was away, so nobody knows whether the agent is dead: its lease has run out.
      clock.set(first + 10 * minute);
      const { db } = current();
      await db.query(
        `update checks set interval_seconds = 120, offset_seconds = 6, next_due_at = $2 where id = $1`,
        [id, new Date(first + 11 * minute)],
      );
      await current().lookAgain();
      const held = await db.query<{ owed: Date }>(
        'select owed_from as owed from kept_checks where dropped_at is null',
      );
      expect(held).toEqual([{ owed: new Date(first) }]);
      clock.advance(31_000);
      await current().handOut();
      const [record] = await records();
      expect(record?.from).toEqual(new Date(first + minute));
    });

    it('an edit is read by an agent whose lease had run out, once it has renewed it', async () => {
      const id = await add();
      const one = await connected();
      clock.set(first + 10 * minute);
      await current().db.query(`update checks set name = 'another name' where id = $1`, [id]);
      await current().lookAgain();
      await one.renewHeld({ reportedTo: first + 9 * minute });
      await current().lookAgain();
      expect((await one.renewHeld()).checks).toMatchObject([{ job: { checkName: 'another name' } }]);
    });

    it('reports of the schedule that a check had before are recorded with its moments', async () => {
      const [shorter, longer] = [await add(), await add()];
      const agent = await connected();
      clock.set(first + 60 * minute);
      const { db } = current();
      const steps = [
        [shorter, 10],
        [longer, 120],
      ] as const;
      for (const [id, seconds] of steps)
        await db.query('update checks set interval_seconds = $2 where id = $1', [id, seconds]);
      for (const [id] of steps) {
        const report = missedOf(checkOf(agent, id), first, first + 30 * minute, 31);
        expect(await agent.report(report)).toMatchObject([{ outcome: 'stored' }]);
      }
      expect((await records()).map(({ details }) => details.count)).toEqual([31, 31]);
    });

    it('reports of times from which no results are kept are left out, and make no tables', async () => {
      const id = await add();
      const agent = await connected();
      const check = checkOf(agent, id);
      const tables = async () =>
        (
          await current().db.query(
            `select inhrelid from pg_inherits where inhparent = 'check_results'::regclass`,
          )
        ).length;
      clock.set(first + minute);
      const before = await tables();
      const old = first - 1_000 * day;
      const reports = Array.from({ length: 50 }, (_, index) => {
        const at = old + index * day;
        return missedOf(check, at, at, 1);
      });
      const answers = await agent.report(...reports);
      expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['superseded']));
      expect(await tables()).toBe(before);
      expect(await records()).toEqual([]);
      // A part of this one is in the time of which results are kept.
      const [from, to] = [first - 60 * day, first - day];
      expect(await agent.report(missedOf(check, from, to, 60))).toMatchObject([{ outcome: 'stored' }]);
      const [record] = await records();
      expect(record?.from.getTime()).toBeGreaterThan(first - 31 * day);
      expect(record?.to).toEqual(new Date(to));
    });

    it('moments that several reports of a call name are recorded once', async () => {
      const id = await add();
      const agent = await connected();
      const check = checkOf(agent, id);
      clock.set(first + 100 * minute);
      const reports = [
        missedOf(check, first, first + 50 * minute, 51),
        missedOf(check, first, first + 50 * minute, 51),
        missedOf(check, first + 10 * minute, first + 20 * minute, 11),
        missedOf(check, first + 40 * minute, first + 60 * minute, 21),
      ];
      const answers = await agent.report(...reports);
      expect(answers.map(({ outcome }) => outcome)).toEqual(reports.map(() => 'stored'));
      expect((await records()).reduce((sum, { details }) => sum + details.count, 0)).toBe(61);
    });

    it('a report that begins with a run at once names that run and those of the schedule', async () => {
      const id = await add();
      const agent = await connected();
      const check = checkOf(agent, id);
      clock.set(first + 10 * minute);
      expect(await agent.report(keptResult(check, first + minute))).toMatchObject([{ outcome: 'stored' }]);
      const report = missedOf(check, first + 24_500, first + 3 * minute, 4);
      expect(await agent.report(report)).toMatchObject([{ outcome: 'stored' }]);
      expect((await records()).map(({ from, details }) => [from.getTime() - first, details.count])).toEqual([
        [24_500, 1],
        [2 * minute, 2],
      ]);
    });

    it('a report of one run with a long range is not recorded', async () => {
      const id = await add();
      const agent = await connected();
      clock.set(first + 100 * minute);
      for (const count of [1, 0, -1, 1.5, '51']) {
        const report = missedOf(checkOf(agent, id), first, first + 50 * minute, 1);
        Object.assign(report, { details: { ...Object(report['details']), count } });
        expect(await agent.report(report)).toMatchObject([{ outcome: 'superseded' }]);
      }
      expect(await records()).toEqual([]);
    });

    it('a held check that shall run at once is due at its agent now', async () => {
      const id = await add();
      const agent = await connected();
      clock.set(first + 10_500);
      await agent.renewHeld({ reportedTo: first + 10_000 });
      await runSoon(current().db, [id], new Date(clock.now()));
      await current().handOut();
      await agent.renewHeld({ reportedTo: first + 10_000 });
      expect(checkOf(agent, id).from).toBe(first + 10_500);
    });

    it.skipIf(database.name === 'embedded')(
      'a record that another transaction writes meanwhile is known to the result of its run',
      async () => {
        const id = await add();
        const agent = await connected();
        const check = checkOf(agent, id);
        clock.set(first + 2_000);
        const { db, accountId } = current();
        const partitions = createPartitions(db);
        const reports: ReturnType<typeof agent.report>[] = [];
        await partitions.withDays(() =>
          db.tx(async (tx) => {
            // Another holder has reported the run as missed; its transaction has the row.
            const items: never[] = [];
            await lockKeptRuns(tx, { accountId, items, now: clock.now() });
            await tx.query('select 1 from kept_checks where check_id = $1 for no key update', [id]);
            if (reports.length === 0) reports.push(agent.report(keptResult(check, first)));
            await expect
              .poll(async () => {
                const waiting = await db.query(
                  `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%kept_checks%'`,
                );
                return waiting.length;
              })
              .toBeGreaterThan(0);
            const item = { accountId, checkId: id, checkType: 'URL', runLocation: 'office', count: 1 };
            await recordMissed(tx, {
              missed: [{ ...item, from: first, to: first, code: 'NO_AGENT' }],
              now: clock.now(),
              partitions,
            });
          }),
        );
        expect(await Promise.all(reports)).toMatchObject([[{ outcome: 'stored' }]]);
        expect(await records()).toEqual([]);
      },
    );
  });
});
