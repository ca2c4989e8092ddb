import { describe, expect, it } from 'vitest';
import { findCheck, updateCheck } from '../../../src/service/checks/storage/statements.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { addWindow } from '../maintenance/window-rows.ts';
import { keepingBench, keptResult, missedOf, type KeepingAgent } from './keeping-bench.ts';

/** Checks that move several times in a short while: whoever gets them in the end owes what nobody has run. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
/** Checks are due at 6 s past each minute. */
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('what is owed of checks that move: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    const add = async (count: number) => {
      const { db, accountId } = current();
      const ids = [];
      for (let index = 0; index < count; index++)
        ids.push(await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() }));
      return ids;
    };
    const connected = (continues?: string[]) => current().connectHolder(continues);
    /** Two agents that hold 60 checks until shortly before these are due. */
    const two = async (): Promise<[KeepingAgent, KeepingAgent, string[]]> => {
      // So many that some move to each agent that joins, whatever their random ids.
      await add(60);
      const [one, other] = [await connected(), await connected()];
      await one.renewHeld();
      while (clock.now() < first - 1_000) {
        clock.advance(Math.min(10_000, first - 1_000 - clock.now()));
        for (const agent of [one, other]) await agent.renewHeld({ reportedTo: clock.now() });
        await current().handOut();
      }
      expect(Math.min(one.held.size, other.held.size)).toBeGreaterThan(9);
      return [one, other, [...one.held.keys()]];
    };
    const fromOf = (agent: KeepingAgent, ids: readonly string[]) => [
      ...new Set(ids.flatMap((id) => agent.held.get(id)?.from ?? [])),
    ];

    const recordsOf = async (id: string) =>
      (
        await current().db.query(`select 1 from check_results where status = 'missed' and check_id = $1`, [
          id,
        ])
      ).length;
    const records = async () =>
      (await current().db.query(`select 1 from check_results where status = 'missed'`)).length;

    it('an agent that gives them on before it has read them owes nothing, and its heir everything', async () => {
      const [one, other, ids] = await two();
      await one.renewHeld({ reportedTo: clock.now(), isLeaving: true });
      clock.set(first + 1_000);
      await current().handOut();
      // The other agent has them now, and has not read it.
      const heir = await connected();
      await other.renewHeld();
      expect(fromOf(heir, ids)).toEqual([first]);
      expect(fromOf(other, ids)).toEqual([first]);
      expect(ids.every((id) => heir.held.has(id) !== other.held.has(id))).toBe(true);
      // What the other agent has read before, it has run.
      const own = [...heir.held.keys()].filter((id) => !ids.includes(id));
      expect(fromOf(heir, own)).toEqual([first + minute]);
    });

    it('an agent that dies before it has run what it took over leaves that to its heir', async () => {
      const [one, other, ids] = await two();
      await one.renewHeld({ reportedTo: clock.now(), isLeaving: true });
      clock.set(first + 1_000);
      await other.renewHeld({ reportedTo: first + 500 });
      await current().handOut();
      await other.renewHeld({ reportedTo: first + 500 });
      expect(fromOf(other, ids)).toEqual([first]);
      // It knows them, and has not run them.
      await other.renewHeld({ reportedTo: first - 1 });
      const heir = await connected([other.agentId]);
      expect(fromOf(heir, ids)).toEqual([first]);
    });

    it('an edit leaves to the heir what the holder of the check owes', async () => {
      const [one, other, ids] = await two();
      clock.set(first + 1_000);
      const { db, accountId } = current();
      const intervalSeconds = 60;
      for (const id of ids) {
        const row = await findCheck(db, { accountId, id });
        if (row === undefined) throw new Error('no check');
        await updateCheck(db, {
          ...row,
          name: `${row.name} edited`,
          accountId,
          intervalSeconds,
          offsetSeconds: 6,
          nextDueAt: new Date(first + minute),
          now: new Date(clock.now()),
        });
      }
      await current().handOut();
      // Its holder has died before it could read that.
      const heir = await connected([one.agentId]);
      await other.renewHeld();
      expect(fromOf(heir, ids)).toEqual([first]);
      expect(fromOf(other, ids).every((from) => from === first)).toBe(true);
    });

    it('an edit moves what is owed to where the holder has reported everything', async () => {
      await add(1);
      const one = await connected();
      clock.set(first + 3 * minute);
      await one.renewHeld({ reportedTo: first + 3 * minute - 1_000 });
      const { db } = current();
      await db.query(`update checks set name = 'another name'`);
      await current().handOut();
      const heir = await connected([one.agentId]);
      expect([...heir.held.values()].map(({ from }) => from)).toEqual([first + 3 * minute]);
    });

    it('an agent that gets a check back owes what it had not reported when it lost it', async () => {
      const [one, , ids] = await two();
      clock.set(first + 1_000);
      await one.renewHeld({ reportedTo: first - 1 });
      const heir = await connected();
      const moved = ids.filter((id) => heir.held.has(id));
      expect(moved.length).toBeGreaterThan(0);
      expect(fromOf(heir, moved)).toEqual([first + minute]);
      await one.renewHeld({ reportedTo: first - 1 });
      await heir.renewHeld({ isLeaving: true });
      await current().handOut();
      await one.renewHeld({ reportedTo: first - 1 });
      expect(moved.every((id) => one.held.has(id))).toBe(true);
      expect(fromOf(one, moved)).toEqual([first]);
    });

    it('a former holder says what it missed until it lost the check, once', async () => {
      const [one, , ids] = await two();
      clock.set(first + 1_000);
      const heir = await connected();
      const id = ids.find((known) => heir.held.has(known)) ?? '';
      const [mine, theirs] = [one.held.get(id), heir.held.get(id)];
      if (mine === undefined || theirs === undefined) throw new Error('nothing moved');
      const missed = (at: number) => missedOf(mine, at);
      expect(await one.report(missed(first))).toMatchObject([{ outcome: 'stored' }]);
      expect(await records()).toBe(1);
      // Its successor has made the run, and is only seconds late.
      expect(await heir.report(keptResult({ ...theirs }, first))).toMatchObject([{ outcome: 'stored' }]);
      expect(await records()).toBe(0);
      expect(await one.report(missed(first))).toMatchObject([{ outcome: 'stored' }]);
      expect(await records()).toBe(0);
    });

    it('a run that is recorded as missed is not recorded again when a later run has ended the record', async () => {
      const [one, , ids] = await two();
      clock.set(first + 1_000);
      const heir = await connected();
      const id = ids.find((known) => heir.held.has(known)) ?? '';
      const [mine, theirs] = [one.held.get(id), heir.held.get(id)];
      if (mine === undefined || theirs === undefined) throw new Error('nothing moved');
      await one.report(missedOf(mine, first));
      expect(await records()).toBe(1);
      // A run that took place ends the record, and it is told again.
      clock.set(first + minute + 1_000);
      expect(await heir.report(keptResult(theirs, first + minute))).toMatchObject([{ outcome: 'stored' }]);
      await one.report(missedOf(mine, first));
      expect(await records()).toBe(1);
      // What came after is its successor's.
      expect(await one.report(missedOf(mine, first + minute))).toMatchObject([{ outcome: 'superseded' }]);
    });

    it('a run whose result has come is not made again by the queue when the last agent is gone', async () => {
      await add(2);
      const { db, service } = current();
      const one = await connected();
      clock.set(first - 6_000);
      await one.renewHeld({ reportedTo: clock.now() });
      const [done, open] = [...one.held.values()];
      if (done === undefined || open === undefined) throw new Error('there are two');
      clock.set(first + 500);
      await one.report(keptResult(done, first));
      // The agent dies before it can say up to when it has reported everything.
      clock.set(first + 25_000);
      await current().handOut();
      await service.scheduler.tick();
      const jobs = await db.query<{ checkId: string; at: Date }>(
        'select check_id as "checkId", due_at as at from jobs',
      );
      expect(jobs).toEqual([{ checkId: open.checkId, at: new Date(first) }]);
      clock.set(first + minute + 500);
      await service.scheduler.tick();
      expect(
        (
          await db.query('select 1 from jobs where check_id = $1 and due_at = $2', [
            done.checkId,
            new Date(first + minute),
          ])
        ).length,
      ).toBe(1);
      // Nobody has claimed the run of the other one.
      expect(await recordsOf(done.checkId)).toBe(0);
      expect(await recordsOf(open.checkId)).toBe(1);
    });

    it.each([500, 60_000])(
      'a run whose result comes from a former holder is not made again, nor missed, %i ms later',
      async (laterMs) => {
        await add(2);
        const { db, service } = current();
        const one = await connected();
        clock.set(first - 6_000);
        await one.renewHeld({ reportedTo: clock.now() });
        clock.set(first + 25_000);
        await current().handOut();
        // It was only cut off, for two runs of one check, and returns before the scheduler has looked.
        const [check, other] = [...one.held.values()];
        if (check === undefined || other === undefined) throw new Error('there are two');
        const outcomes = await one.report(keptResult(check, first));
        expect(outcomes.map(({ outcome }) => outcome)).toEqual(['stored']);
        clock.advance(laterMs);
        await service.scheduler.tick();
        const at = async (id: string) =>
          (await db.query<{ at: Date }>('select due_at as at from jobs where check_id = $1', [id])).map(
            (job) => job.at.getTime() - first,
          );
        const later = laterMs === minute ? [minute] : [];
        expect(await at(check.checkId)).toEqual(later);
        expect(await at(other.checkId)).toEqual(later.length > 0 ? later : [0]);
        // The other check has missed one by then.
        expect(await records()).toBe(later.length);
      },
    );

    it.skipIf(database.name === 'embedded')(
      'a run whose result is being stored is not made again when its agent is found to have left',
      async () => {
        await add(12);
        const { db, handOut } = current();
        const one = await connected();
        clock.set(first - 6_000);
        await one.renewHeld({ reportedTo: clock.now() });
        const former = [...one.held.values()];
        // Another one comes after they were due, and gets some of them.
        clock.set(first + 1_000);
        const two = await connected();
        await two.renewHeld();
        // The one that the hand-out looks at first.
        const [lost] = former
          .filter(({ checkId }) => two.held.has(checkId))
          .sort((a, b) => (a.checkId < b.checkId ? -1 : 1));
        if (lost === undefined) throw new Error('none has moved');
        // The tables of the day are there: to make them, a transaction is repeated.
        const others = former.filter(({ checkId }) => checkId !== lost.checkId);
        await one.report(...others.map((check) => keptResult(check, first)));
        clock.set(first + 2_000);
        const heir = await current().connect([one.agentId]);
        // Its result has found no job, and cannot go on yet.
        let goOn = () => {};
        const held = new Promise<void>((resolve) => (goOn = resolve));
        const holding = db.tx(async (tx) => {
          await tx.query('lock table finished_jobs in access exclusive mode');
          await held;
        });
        const reporting = heir.report(keptResult(lost, first));
        const waits = async (count: number) => {
          const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
          for (let tries = 0; (await db.query(waiting)).length < count; tries++) {
            if (tries === 500) throw new Error('nothing waits');
            await new Promise((resolve) => setTimeout(resolve, 10));
          }
        };
        await waits(1);
        const handing = handOut();
        await waits(2);
        goOn();
        await Promise.all([holding, reporting, handing]);
        expect(await db.query('select 1 from jobs where check_id = $1', [lost.checkId])).toEqual([]);
        expect(
          await db.query('select status from check_results where check_id = $1', [lost.checkId]),
        ).toEqual([{ status: 'passed' }]);
      },
    );

    it('runs of a former holder are neither made again nor missed when the scheduler was away', async () => {
      await add(2);
      const { db, service } = current();
      const one = await connected();
      clock.set(first - 6_000);
      await one.renewHeld({ reportedTo: clock.now() });
      clock.set(first + 25_000);
      await current().handOut();
      const [check, other] = [...one.held.values()];
      if (check === undefined || other === undefined) throw new Error('there are two');
      // It did not make the first run, and the scheduler does not look for two minutes.
      clock.set(first + 2 * minute + 500);
      await one.report(keptResult(check, first + minute), keptResult(check, first + 2 * minute));
      await service.scheduler.tick();
      const jobs = await db.query<{ checkId: string; at: Date }>(
        'select check_id as "checkId", due_at as at from jobs',
      );
      expect(jobs).toEqual([{ checkId: other.checkId, at: new Date(first + 2 * minute) }]);
      const rows = await db.query<{ id: string; from: Date; to: Date }>(
        `select check_id as id, started_at as "from", stopped_at as "to" from check_results where status = 'missed'`,
      );
      const to = (id: string) => rows.filter((row) => row.id === id).map((row) => row.to.getTime() - first);
      expect(rows.every(({ from }) => from.getTime() === first)).toBe(true);
      expect([to(check.checkId), to(other.checkId)]).toEqual([[0], [minute]]);
    });

    it('a run is not made again when the result of an earlier one comes after its own', async () => {
      await add(1);
      const { db, service } = current();
      const one = await connected();
      clock.set(first - 6_000);
      await one.renewHeld({ reportedTo: clock.now() });
      clock.set(first + 25_000);
      await current().handOut();
      const [check] = [...one.held.values()];
      if (check === undefined) throw new Error('there is one');
      clock.set(first + minute + 500);
      await one.report(keptResult(check, first + minute));
      await one.report(keptResult(check, first));
      await service.scheduler.tick();
      expect(await db.query('select due_at from jobs')).toEqual([]);
      expect(await records()).toBe(0);
      clock.set(first + 2 * minute + 500);
      await service.scheduler.tick();
      expect(await db.query('select due_at as at from jobs')).toEqual([{ at: new Date(first + 2 * minute) }]);
    });

    it('neither the scheduler nor a dead agent misses a run that maintenance pauses', async () => {
      await add(2);
      const { db, service, accountId } = current();
      const one = await connected();
      clock.set(first - 6_000);
      await one.renewHeld({ reportedTo: clock.now() });
      const [check] = [...one.held.values()];
      if (check === undefined) throw new Error('there are two');
      await addWindow(db, accountId, {
        now: clock.now(),
        startsAt: new Date(first + minute - 1_000).toISOString(),
        endsAt: new Date(first + 3 * minute - 1_000).toISOString(),
        pauseAllChecks: true,
      });
      // The agent is taken for dead in the middle of it, and has run a moment after it.
      clock.set(first + 2 * minute + 25_000);
      await current().handOut();
      clock.set(first + 5 * minute + 500);
      await one.report(keptResult(check, first + 3 * minute));
      await service.scheduler.tick();
      const rows = await db.query<{ id: string; from: Date; to: Date }>(
        `select check_id as id, started_at as "from", stopped_at as "to" from check_results
         where status = 'missed' and check_id = $1 order by started_at`,
        [check.checkId],
      );
      const minutes = (at: Date) => (at.getTime() - first) / minute;
      expect(rows.map(({ from, to }) => [minutes(from), minutes(to)])).toEqual([
        [0, 0],
        [4, 4],
      ]);
    });

    it('checks of an agent that has left wait for no lease, also if the service has just started', async () => {
      await add(12);
      const one = await connected();
      const other = await connected();
      await one.renewHeld();
      await one.renewHeld({ isLeaving: true });
      await current().handOut();
      await other.renewHeld();
      expect(other.held.size).toBe(12);
    });

    it('a process that died before it knew its own id is continued all the same', async () => {
      await add(12);
      const one = await connected();
      await one.renewHeld();
      const owed = fromOf(one, [...one.held.keys()]);
      // It is given the checks with its hello, whose answer it does not live to read.
      const { instanceId } = (await current().connect([one.agentId])).hello as { instanceId: string };
      await current().handOut();
      const heir = await current().connect([one.agentId, instanceId]);
      await current().handOut();
      await heir.renewHeld();
      expect(heir.held.size).toBe(12);
      expect(fromOf(heir, [...heir.held.keys()])).toEqual(owed);
      // It ends nobody's lease but theirs.
      await current().connect([one.agentId, instanceId]);
      await current().handOut();
      expect((await heir.renewHeld()).dropped).toHaveLength(0);
    });

    it('a process that continues others gets the checks of the last one, and no other check moves', async () => {
      await add(24);
      const one = await connected();
      const other = await connected();
      await one.renewHeld();
      const ids = [...one.held.keys()].sort();
      const others = [...other.held.keys()];
      // The first heir dies before it has anything.
      const dead = await current().connect([one.agentId]);
      const heir = await current().connect([one.agentId, dead.agentId]);
      await current().handOut();
      await heir.renewHeld();
      expect([...heir.held.keys()].sort()).toEqual(ids);
      expect(await other.renewHeld()).toMatchObject({ checks: [], dropped: [] });
      // Another one that continues the same process, on a copy of its data folder, has a place of its own.
      const copy = await current().connect([one.agentId, dead.agentId]);
      await current().handOut();
      await copy.renewHeld();
      await current().handOut();
      for (const agent of [copy, heir, other]) await agent.renewHeld();
      expect([heir, other, copy].reduce((sum, { held }) => sum + held.size, 0)).toBe(24);
      expect(copy.held.size).toBeGreaterThan(0);
      expect(copy.held.size).toBeLessThan(24);
      expect(others.some((id) => other.held.has(id))).toBe(true);
      expect(ids.some((id) => heir.held.has(id))).toBe(true);
    });

    it('a check that was added in a transaction from before the first agent came is handed out soon', async () => {
      const one = await connected();
      const [id = ''] = await add(1);
      // No agent was known when the transaction wrote it.
      await current().db.query('delete from kept_changes');
      await current().handOut();
      await one.renewHeld();
      expect(one.held.size).toBe(0);
      clock.advance(6_000);
      await one.renewHeld();
      await current().handOut();
      await one.renewHeld();
      expect([...one.held.keys()]).toEqual([id]);
    });

    it('the list of what an agent holds ends when all of it has been handed out', async () => {
      await add(3);
      const one = await connected();
      const heir = await current().connect([one.agentId]);
      const { db, accountId } = current();
      // Nothing is handed out yet: the heir goes on with what it has from the process before.
      expect(await heir.renewHeld()).toMatchObject({ isFirst: true, hasMore: true, checks: [] });
      await current().handOut();
      // As within a hand-out of several steps.
      await db.query('update kept_accounts set handed_out_at = null where account_id = $1', [accountId]);
      const part = await heir.renewHeld();
      expect(part.checks).toHaveLength(3);
      expect(part.hasMore).toBe(true);
      await current().handOut();
      expect(await heir.renewHeld()).toMatchObject({ checks: [], hasMore: false });
    });
  });
});
