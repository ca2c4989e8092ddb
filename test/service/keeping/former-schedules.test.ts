import { describe, expect, it } from 'vitest';
import { runSoon } from '../../../src/service/projects/statements.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { addWindow } from '../maintenance/window-rows.ts';
import { keepingBench, keptResult, missedOf, type KeepingAgent } from './keeping-bench.ts';

/** Edits of schedules while the holder is dead, or has not read them: moments of the former schedule are not lost. */

const start = '2026-03-04T05:06:07.000Z';
const second = 1_000;
const minute = 60_000;
const hour = 60 * minute;
/** Checks are due at 6 s past each minute, or at 6, 16, 26 ... s. */
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('schedules that checks had before: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    const db = () => current().db;
    const edit = (id: string, intervalSeconds: number) =>
      current().reschedule(id, { intervalSeconds, offsetSeconds: 6 });
    const add = async (intervalSeconds = 10) => {
      const { db, accountId } = current();
      const id = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await edit(id, intervalSeconds);
      return id;
    };
    const connected = (continues?: string[]) => current().connectHolder(continues);
    /** An agent that has reported the runs until `first`, and says so a second later. */
    const reporting = async (): Promise<KeepingAgent> => {
      const agent = await connected();
      clock.set(first + second);
      await agent.renewHeld({ reportedTo: first });
      return agent;
    };
    /** The holder of a check of every 10 s, which comes back after 20 hours: 7,200 moments. */
    const away = async () => {
      const id = await add(10);
      const agent = await reporting();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      clock.set(first + 20 * hour);
      await agent.renewHeld({ reportedTo: first });
      return { id, agent, check };
    };
    const editAt = async (time: number, id: string, intervalSeconds: number) => {
      clock.set(time);
      await edit(id, intervalSeconds);
      await current().handOut();
    };
    /** Recorded moments, in seconds after `first`. */
    const records = async (id: string | null = null) => {
      const rows = await current().db.query<{ from: Date; to: Date; details: { count: number } }>(
        `select started_at as "from", stopped_at as "to", body->'details' as details from check_results
         where status = 'missed' and ($1::uuid is null or check_id = $1) order by started_at`,
        [id],
      );
      return rows.map(({ from, to, details: { count } }) => ({
        from: (from.getTime() - first) / second,
        to: (to.getTime() - first) / second,
        count,
      }));
    };
    const waiting = async () => (await current().db.query('select 1 from kept_former_schedules')).length;
    const fromOf = (agent: KeepingAgent, id: string) => ((agent.held.get(id)?.from ?? 0) - first) / second;

    it('an edit after the death of the holder leaves what it owed to be recorded, once', async () => {
      const id = await add(10);
      await reporting();
      await editAt(first + 25 * second, id, 60);
      expect(await waiting()).toBe(1);
      expect(await records()).toEqual([]);
      clock.set(first + 55 * second);
      const heir = await connected();
      expect(await records()).toEqual([{ from: 10, to: 20, count: 2 }]);
      expect(fromOf(heir, id)).toBe(60);
      expect(await waiting()).toBe(0);
      clock.advance(20 * minute);
      await heir.renewHeld({ reportedTo: clock.now() });
      await current().handOut();
      expect(await records()).toEqual([{ from: 10, to: 20, count: 2 }]);
    });

    it('a process that continues the holder begins with the new schedule', async () => {
      const id = await add(60);
      await reporting();
      clock.set(first + 55 * second);
      const one = await connected();
      clock.set(first + 65 * second);
      await editAt(first + 70 * second, id, 10);
      const heir = await connected([one.agentId]);
      expect(await records()).toEqual([{ from: 60, to: 60, count: 1 }]);
      expect(fromOf(heir, id)).toBe(80);
    });

    it('moments whose results arrive are not recorded, and nothing is kept of them', async () => {
      const id = await add(10);
      const agent = await reporting();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      await editAt(first + 25 * second, id, 60);
      for (const seconds of [10, 20]) await agent.report(keptResult(check, first + seconds * second));
      await agent.renewHeld({ reportedTo: first + 24 * second });
      await current().handOut();
      await agent.renewHeld({ reportedTo: first + 26 * second });
      // Any change makes the service look again.
      await current().db.query('update checks set name = name');
      await current().handOut();
      expect(await waiting()).toBe(0);
      expect(await records()).toEqual([]);
      expect(fromOf(agent, id)).toBe(60);
    });

    it('of more moments than are compared at once, those with results are not recorded either', async () => {
      const { id, agent, check } = await away();
      const made = [10, 20, 12_000, 60_000];
      for (const seconds of made) await agent.report(keptResult(check, first + seconds * second));
      await editAt(first + 20 * hour + second, id, 60);
      await agent.renewHeld({ reportedTo: clock.now() });
      await db().query('update checks set name = name');
      await current().handOut();
      expect(await waiting()).toBe(0);
      const recorded = (await records()).sort((a, b) => a.from - b.from);
      // Whether a stretch is one record or two is no matter.
      const count = recorded.reduce((sum, one) => sum + one.count, 0);
      expect(count).toBe(7_200 - made.length);
      for (const seconds of made)
        expect(recorded.filter(({ from, to }) => from <= seconds && seconds <= to)).toEqual([]);
      expect(recorded.map(({ from }) => from)).toEqual(expect.arrayContaining([30, 12_010, 60_010]));
    });

    it('of more moments than are compared at once, those that the holder has reported are not recorded twice', async () => {
      const { id, agent, check } = await away();
      await editAt(first + 20 * hour + second, id, 60);
      for (const [from, count] of [
        [10, 5_000],
        [50_010, 2_200],
      ] as const) {
        const at = first + from * second;
        await agent.report(missedOf(check, at, at + (count - 1) * 10 * second, count));
      }
      await agent.renewHeld({ reportedTo: first });
      const edited = agent.held.get(id);
      if (edited === undefined) throw new Error('not held');
      clock.set(first + 20 * hour + minute + second);
      await agent.report(keptResult(edited, first + 20 * hour + minute));
      await agent.renewHeld({ reportedTo: clock.now() });
      await db().query('update checks set name = name');
      await current().handOut();
      expect(await waiting()).toBe(0);
      expect((await records()).reduce((sum, { count }) => sum + count, 0)).toBe(7_200);
    });

    it('a holder that comes back after an outage in which it stopped, and reads the edit, makes none of its moments', async () => {
      const id = await add(10);
      const agent = await reporting();
      clock.set(first + hour);
      await agent.renewHeld({ reportedTo: first });
      await editAt(first + hour + second, id, 60);
      await agent.renewHeld({ reportedTo: first });
      await agent.renewHeld({ reportedTo: clock.now() });
      await current().db.query('update checks set name = name');
      await current().handOut();
      expect(await records()).toEqual([{ from: 10, to: 3_600, count: 360 }]);
      expect(await waiting()).toBe(0);
    });

    it('an edit of an edit that nobody has read leaves the moments of both schedules', async () => {
      const id = await add(10);
      await reporting();
      await editAt(first + 15 * second, id, 20);
      await editAt(first + 25 * second, id, 60);
      expect(await waiting()).toBe(2);
      clock.set(first + 55 * second);
      const heir = await connected();
      expect(await records()).toEqual([{ from: 10, to: 20, count: 2 }]);
      expect(fromOf(heir, id)).toBe(60);
    });

    it('an edit while the holder does not answer leaves what it owed, once it is known to be dead', async () => {
      const id = await add(60);
      await reporting();
      // The service was away. An edit is left until the agent answers or is known to be dead.
      clock.set(first + 10 * minute + second);
      await edit(id, 120);
      await current().lookAgain();
      expect(await waiting()).toBe(0);
      clock.advance(31 * second);
      await current().handOut();
      expect(await records()).toEqual([{ from: 60, to: 600, count: 10 }]);
      const heir = await connected();
      expect(await records()).toEqual([{ from: 60, to: 600, count: 10 }]);
      // 6 s past 05:18 is a moment of every second minute, and 05:07 is the first one.
      expect(fromOf(heir, id)).toBe(11 * 60);
    });

    it('an edit of checks of which an agent that joins takes some is made by both', async () => {
      const ids: string[] = [];
      // So many that some move, whatever their random ids.
      for (let count = 0; count < 30; count++) ids.push(await add(10));
      const one = await reporting();
      clock.set(first + 25 * second);
      for (const id of ids) await edit(id, 60);
      const heir = await connected();
      expect(heir.held.size).toBeGreaterThan(0);
      expect(heir.held.size).toBeLessThan(30);
      for (const id of heir.held.keys()) expect(fromOf(heir, id)).toBe(60);
      await heir.renewHeld({ reportedTo: clock.now() });
      await connected([one.agentId]);
      for (const id of ids) expect(await records(id)).toEqual([{ from: 10, to: 20, count: 2 }]);
      expect(await waiting()).toBe(0);
    });

    it('a check that leaves its dead holder and is edited later is recorded by the schedule that it had', async () => {
      const id = await add(10);
      const one = await reporting();
      clock.set(first + 25 * second);
      await current().db.query(`update checks set private_locations = '{elsewhere}' where id = $1`, [id]);
      await current().handOut();
      await edit(id, 60);
      clock.advance(second);
      const heir = await connected([one.agentId]);
      expect(heir.held.size).toBe(0);
      expect((await records()).reduce((sum, { count }) => sum + count, 0)).toBe(2);
    });

    it('an agent that gets a check back after an edit leaves what it owed when it lost it', async () => {
      const ids: string[] = [];
      for (let count = 0; count < 30; count++) ids.push(await add(10));
      const one = await reporting();
      clock.set(first + 25 * second);
      const other = await connected();
      const moved = [...other.held.keys()];
      expect(moved.length).toBeGreaterThan(0);
      clock.advance(second);
      for (const id of moved) await edit(id, 60);
      await current().handOut();
      await other.renewHeld({ isLeaving: true, reportedTo: clock.now() });
      await current().handOut();
      await one.renewHeld({ reportedTo: first });
      for (const id of moved) expect(fromOf(one, id)).toBe(60);
      clock.advance(second);
      await connected([one.agentId]);
      for (const id of moved) expect(await records(id)).toEqual([{ from: 10, to: 20, count: 2 }]);
    });

    it('a check that shall run at once leaves what its dead holder owed', async () => {
      const id = await add(10);
      const one = await reporting();
      clock.set(first + 25 * second);
      await runSoon(current().db, [id], new Date(clock.now()));
      await current().handOut();
      const heir = await connected([one.agentId]);
      expect(await records()).toEqual([{ from: 10, to: 20, count: 2 }]);
      expect(fromOf(heir, id)).toBe(25);
    });

    it('a run at once that the holder has read and not reported is made by its heir', async () => {
      const id = await add(60);
      const one = await reporting();
      clock.set(first + 25 * second);
      await runSoon(current().db, [id], new Date(clock.now()));
      await current().handOut();
      for (const seconds of [24, 24.999]) await one.renewHeld({ reportedTo: first + seconds * second });
      clock.advance(2 * second);
      const heir = await connected([one.agentId]);
      expect(fromOf(heir, id)).toBe(25);
      expect(await records()).toEqual([]);
    });

    it('a run at once that nobody has been told of is made by the heir, in its time', async () => {
      const id = await add(60);
      const one = await reporting();
      clock.set(first + 125 * second);
      await runSoon(current().db, [id], new Date(clock.now()));
      const heir = await connected([one.agentId]);
      expect(fromOf(heir, id)).toBe(125);
      expect(await records()).toEqual([{ from: 60, to: 120, count: 2 }]);
    });

    it('moments that maintenance pauses are not owed', async () => {
      const id = await add(10);
      await reporting();
      const { db, accountId } = current();
      await addWindow(db, accountId, {
        now: clock.now(),
        startsAt: new Date(first + 5 * second).toISOString(),
        endsAt: new Date(first + 15 * second).toISOString(),
        pauseAllChecks: true,
      });
      await editAt(first + 25 * second, id, 60);
      clock.set(first + 55 * second);
      await current().handOut();
      expect(await records()).toEqual([{ from: 20, to: 20, count: 1 }]);
    });

    it('nothing is recorded of checks that are switched off or deleted, and rows go with their account', async () => {
      const [off, deleted] = [await add(10), await add(10)];
      await reporting();
      for (const id of [off, deleted]) await editAt(first + 25 * second, id, 60);
      const { db, accountId } = current();
      expect(await waiting()).toBe(2);
      await db.query('update checks set activated = false where id = $1', [off]);
      await db.query('delete from checks where id = $1', [deleted]);
      clock.set(first + 55 * second);
      await current().handOut();
      expect(await records()).toEqual([]);
      expect(await waiting()).toBe(0);
      const again = await add(10);
      await connected();
      clock.advance(15 * second);
      await editAt(clock.now(), again, 60);
      expect(await waiting()).toBe(1);
      await db.query('delete from accounts where id = $1', [accountId]);
      expect(await waiting()).toBe(0);
    });

    it('a service that lets agents hold no checks records them at once', async () => {
      const [read, unread] = [await add(10), await add(10)];
      await reporting();
      await editAt(first + 25 * second, read, 60);
      await edit(unread, 60);
      await current().release();
      for (const id of [read, unread]) expect(await records(id)).toEqual([{ from: 10, to: 20, count: 2 }]);
      expect(await waiting()).toBe(0);
    });
  });
});
