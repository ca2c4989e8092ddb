import { describe, expect, it } from 'vitest';
import { requeueForgottenJobs } from '../../../src/service/keeping/take-back.ts';
import { addCheck, addLocation, createClock, encryption } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult, missedOf } from './keeping-bench.ts';

/** Checks that agents hold: who gets them, what becomes of them, and which of their results count. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
/** Checks are due at 6 s past each minute. */
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('assignments: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    const add = (fields: object = {}) =>
      addCheck(current().db, {
        accountId: current().accountId,
        privateLocations: ['office'],
        now: clock.now(),
        ...fields,
      });
    /** Lets time pass in which these agents renew. */
    const pass = async (ms: number, agents: { renewHeld: () => Promise<unknown> }[] = []) => {
      for (const end = clock.now() + ms; clock.now() < end;) {
        clock.advance(Math.min(5_000, end - clock.now()));
        for (const agent of agents) await agent.renewHeld();
        await current().handOut();
      }
    };
    const connected = (continues?: string[]) => current().connectHolder(continues);
    const results = () =>
      current().db.query<{ status: string; started: Date; code: string | null; details: { count?: number } }>(
        `select status, started_at as started, reason->>'code' as code, body->'details' as details
         from check_results where result_type = 'FINAL' order by started_at, status`,
      );
    const jobs = () =>
      current().db.query<{ state: string; attempt: number }>('select state, attempt from jobs');

    it('an agent gets the checks of its location, and the scheduler makes no runs of them', async () => {
      const kept = await add();
      const elsewhere = await add({ privateLocations: ['other'] });
      const twice = await add({ privateLocations: ['office', 'other'] });
      const browser = await add({ checkType: 'BROWSER' });
      const agent = await connected();
      expect([...agent.held.keys()]).toEqual([kept]);
      expect(agent.held.get(kept)).toMatchObject({ from: first, intervalSeconds: 60, holder: agent.agentId });
      await pass(first - clock.now() + 1_000, [agent]);
      await current().service.scheduler.tick();
      const made = await current().db.query<{ id: string }>('select check_id as id from jobs');
      expect(made.map(({ id }) => id)).not.toContain(kept);
      expect([elsewhere, twice, browser]).not.toContain(kept);
      expect(made.map(({ id }) => id)).toEqual(expect.arrayContaining([twice, browser]));
    });

    it('one result of a run counts, and is followed once', async () => {
      const id = await add();
      const agent = await connected();
      await pass(first - clock.now() + 1_000, [agent]);
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      const result = keptResult(check, first);
      expect((await agent.report(result)).map(({ outcome }) => outcome)).toEqual(['stored']);
      expect((await agent.report(result)).map(({ outcome }) => outcome)).toEqual(['duplicate']);
      const rows = await current().db.query('select 1 from finished_runs where check_id = $1', [id]);
      expect(rows).toHaveLength(1);
      expect(await results()).toMatchObject([{ status: 'passed' }]);
      expect(await jobs()).toEqual([]);
      // A stranger, and a run that the check does not have.
      const other = await current().connect();
      const [forged] = await other.report(keptResult({ ...check, holder: other.agentId }, first + minute));
      expect(forged).toMatchObject({ outcome: 'rejected' });
      const [wrong] = await agent.report({ ...keptResult(check, first), jobId: other.agentId });
      expect(wrong).toMatchObject({ outcome: 'rejected' });
    });

    it('an edit reaches the agent, and a check that is switched off or deleted leaves it', async () => {
      const [edited, off, deleted] = [await add(), await add(), await add()];
      const agent = await connected();
      expect(agent.held.size).toBe(3);
      const { db } = current();
      await db.query(`update checks set name = 'another name' where id = $1`, [edited]);
      await db.query(`update checks set activated = false where id = $1`, [off]);
      await db.query('delete from checks where id = $1', [deleted]);
      await current().handOut();
      const answer = await agent.renewHeld();
      expect(answer.dropped.toSorted()).toEqual([off, deleted].toSorted());
      expect(answer.checks).toMatchObject([
        { checkId: edited, from: first, job: { checkName: 'another name' } },
      ]);
      await db.query(`update checks set activated = true where id = $1`, [off]);
      await current().handOut();
      await agent.renewHeld();
      expect([...agent.held.keys()].toSorted()).toEqual([edited, off].toSorted());
    });

    it('a changed variable is sent by itself, and no check is sent again', async () => {
      const ids = [await add(), await add()];
      const agent = await connected();
      expect(agent.held.size).toBe(2);
      const { db, accountId } = current();
      expect(agent.variables()).toEqual([]);
      await db.query(
        `insert into account_variables (account_id, key, value, locked, secret) values ($1, 'A', 'b', false, false)`,
        [accountId],
      );
      await current().handOut();
      expect((await agent.renewHeld()).checks).toEqual([]);
      expect(agent.variables()).toMatchObject([{ key: 'A', value: 'b' }]);
      // It knows them now.
      expect((await agent.renewHeld()).variables).toBeUndefined();
      await db.query(`update account_variables set value = 'c' where account_id = $1`, [accountId]);
      await current().handOut();
      expect((await agent.renewHeld()).checks).toEqual([]);
      expect(agent.variables()).toMatchObject([{ key: 'A', value: 'c' }]);
      await db.query('update checks set name = name where id = $1', [ids[0]]);
      await current().handOut();
      const { checks, variables } = await agent.renewHeld();
      expect(checks).toMatchObject([
        { checkId: ids[0], sharesVariables: true, job: { environmentVariables: [] } },
      ]);
      expect(variables).toBeUndefined();
      await db.query('delete from account_variables where account_id = $1', [accountId]);
      await current().handOut();
      expect((await agent.renewHeld()).checks).toEqual([]);
      expect(agent.variables()).toEqual([]);
    });

    it('a changed certificate or location sends only the checks again that use it', async () => {
      const tcp = await add({ checkType: 'TCP' });
      const api = await add({ checkType: 'API' });
      const agent = await connected();
      expect(agent.held.size).toBe(2);
      const { db, accountId, office } = current();
      const renewed = async () => {
        await current().handOut();
        return (await agent.renewHeld()).checks.map((check) => (check as { checkId: string }).checkId);
      };
      await db.query(
        `insert into client_certificates (id, account_id, host, cert, key, created_at)
         values ($1, $2, 'shop.test', 'c', 'k', now())`,
        [accountId, accountId],
      );
      expect(await renewed()).toEqual([api]);
      await db.query('delete from client_certificates');
      expect(await renewed()).toEqual([api]);
      // Another location, and another name of this one.
      const elsewhere = await addLocation(db, { accountId, slug: 'elsewhere' });
      const proxy = Buffer.from(encryption.seal('http://proxy.test:3128'));
      await db.query('update locations set proxy_url = $2 where id = $1', [elsewhere.id, proxy]);
      await db.query(`update locations set name = 'The office' where id = $1`, [office.id]);
      expect(await renewed()).toEqual([]);
      await db.query('update locations set proxy_url = $2 where id = $1', [office.id, proxy]);
      expect((await renewed()).toSorted()).toEqual([tcp, api].toSorted());
      for (const { job } of agent.held.values()) expect(job['proxyUrl']).toBe('http://proxy.test:3128');
    });

    it('an agent of minor 7 gets each check with the variables of the account in it', async () => {
      await add();
      await add();
      const agent = await current().connect([], null);
      await agent.renewHeld();
      await current().handOut();
      await agent.renewHeld();
      await current().db.query(
        `insert into account_variables (account_id, key, value, locked, secret) values ($1, 'A', 'b', false, false)`,
        [current().accountId],
      );
      await current().handOut();
      const answer = await agent.renewHeld();
      expect(answer.checks).toHaveLength(2);
      for (const { job, sharesVariables } of agent.held.values()) {
        expect(job['environmentVariables']).toMatchObject([{ key: 'A', value: 'b' }]);
        expect(sharesVariables).toBeUndefined();
      }
      expect(answer.variables).toBeUndefined();
    });

    it('a changed variable reaches an agent whose lease a replica of an earlier release has renewed', async () => {
      const id = await add();
      const agent = await connected();
      const { db, accountId } = current();
      // What such a replica writes. It answers with what is newer than the cursor, and knows of no tag.
      const until = new Date(clock.now() + 31_000);
      await db.query('update agents set keeps_until = $2 where id = $1', [agent.agentId, until]);
      const revs = () =>
        db.query<{ rev: number }>('select rev from kept_checks where check_id = $1 and dropped_at is null', [
          id,
        ]);
      const [before] = await revs();
      await db.query(
        `insert into account_variables (account_id, key, value, locked, secret) values ($1, 'A', 'b', false, false)`,
        [accountId],
      );
      await current().handOut();
      const [after] = await revs();
      expect(after?.rev).toBeGreaterThan(before?.rev ?? Infinity);
    });

    it('each check has one holder; when one leaves, the other gets its checks from where it stopped', async () => {
      const ids = new Set<string>();
      for (let count = 0; count < 12; count++) ids.add(await add());
      const one = await connected();
      const two = await connected();
      await one.renewHeld();
      expect(one.held.size + two.held.size).toBe(12);
      expect(two.held.size).toBeGreaterThan(0);
      await pass(first - clock.now() + 1_000, [one, two]);
      const kept = [...one.held.values()];
      await one.report(...kept.map((check) => keptResult(check, first)));
      await one.renewHeld({ reportedTo: first });
      await one.renewHeld({ reportedTo: first, isLeaving: true });
      await current().handOut();
      await two.renewHeld();
      expect(new Set(two.held.keys())).toEqual(ids);
      for (const { checkId } of kept) expect(two.held.get(checkId)?.from).toBe(first + minute);
      expect((await results()).every(({ status }) => status === 'passed')).toBe(true);
    });

    it('a check whose transaction began before the agents came is found, also if they came one after the other', async () => {
      const { db, handOut } = current();
      const one = await connected();
      clock.advance(1_000);
      const two = await connected();
      // Its row was inserted before anybody held checks, and is committed now: nothing has noted the change.
      const id = await add();
      await db.query('delete from kept_changes');
      clock.advance(4_000);
      await handOut();
      clock.advance(2_000);
      await handOut();
      for (const agent of [one, two]) await agent.renewHeld();
      expect([...one.held.keys(), ...two.held.keys()]).toEqual([id]);
    });

    it('an agent that dies loses its checks after its lease; its late results count once', async () => {
      for (let count = 0; count < 16; count++) await add();
      await current().handOut();
      await pass(35_000);
      const one = await connected();
      expect(one.held.size).toBe(16);
      const died = clock.now();
      const two = await connected();
      const moved = [...one.held.values()].filter(({ checkId }) => !two.held.has(checkId));
      expect(moved.length).toBeGreaterThan(0);
      while (moved.some(({ checkId }) => !two.held.has(checkId))) {
        await pass(1_000, [two]);
        await two.renewHeld();
        expect(clock.now() - died).toBeLessThanOrEqual(35_000);
      }
      for (const check of moved) expect(two.held.get(check.checkId)?.from).toBe(check.from);
      // Both have run it; the first result counts.
      const [check] = moved;
      if (check === undefined) throw new Error('nothing moved');
      const heir = two.held.get(check.checkId);
      if (heir === undefined) throw new Error('nothing inherited');
      if (clock.now() < check.from) clock.set(check.from + 1_000);
      expect(await two.report(keptResult(heir, check.from))).toMatchObject([{ outcome: 'stored' }]);
      expect(await one.report(keptResult(check, check.from))).toMatchObject([{ outcome: 'superseded' }]);
    });

    it('a run that an agent has begun is made late when it dies after its check has moved', async () => {
      for (let count = 0; count < 16; count++) await add();
      await current().handOut();
      await pass(35_000);
      const one = await connected();
      await pass(first - 2_000 - clock.now(), [one]);
      await one.renewHeld({ reportedTo: clock.now() });
      clock.set(first + 500);
      const begun = [...one.held.values()];
      expect(begun).toHaveLength(16);
      // All runs are in progress when another agent joins.
      const two = await connected();
      const moved = begun.filter(({ checkId }) => two.held.has(checkId));
      expect(moved.length).toBeGreaterThan(0);
      const [reported, ...lost] = moved;
      if (reported === undefined || lost.length === 0) throw new Error('too few have moved');
      await one.renewHeld({ reportedTo: first - 2_000 });
      await one.report(keptResult(reported, first));
      const died = clock.now();
      const late = new Set<string>();
      while (late.size < lost.length) {
        await pass(1_000, [two]);
        for (const { checkId, dueAt } of await two.claim())
          if (Date.parse(dueAt) === first) late.add(checkId);
        expect(clock.now() - died).toBeLessThanOrEqual(35_000);
      }
      expect(late).toEqual(new Set(lost.map(({ checkId }) => checkId)));
      const all = await results();
      expect(all.map(({ status }) => status)).toEqual(['passed']);
    });

    it('without any agent the scheduler takes over; late results replace what was missed', async () => {
      const id = await add();
      await current().handOut();
      await pass(35_000);
      const agent = await connected();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      // It was cut off for three minutes, and went on.
      clock.set(check.from + 2 * minute + 1_000);
      await current().handOut();
      await current().service.scheduler.tick();
      expect(await jobs()).toMatchObject([{ state: 'queued' }]);
      expect(await results()).toMatchObject([{ status: 'missed', code: 'NO_AGENT', details: { count: 2 } }]);
      const moments = [0, 1, 2].map((index) => check.from + index * minute);
      expect(await agent.report(...moments.map((at) => keptResult(check, at)))).toMatchObject([
        { outcome: 'stored' },
        { outcome: 'stored' },
        { outcome: 'stored' },
      ]);
      const stored = await results();
      expect(stored.map(({ status }) => status)).toEqual(['passed', 'passed', 'passed']);
      expect(stored.map(({ started }) => started.getTime())).toEqual(moments.map((at) => at + 5));
      // The queue has no run left that would repeat the last one.
      expect(await jobs()).toEqual([]);
    });

    it('a run between two attempts goes on at another agent when its agent dies', async () => {
      const id = await add();
      const agent = await connected();
      await pass(first - clock.now() + 1_000, [agent]);
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      const attempt = { resultType: 'ATTEMPT', status: 'failed', hasFailures: true };
      const result = keptResult(check, first, attempt);
      expect(await agent.report(result)).toMatchObject([{ outcome: 'stored' }]);
      expect(await agent.report(result)).toMatchObject([{ outcome: 'duplicate' }]);
      expect(await jobs()).toEqual([{ state: 'kept', attempt: 2 }]);
      await agent.renewHeld({ isLeaving: true });
      await current().handOut();
      expect(await jobs()).toEqual([{ state: 'queued', attempt: 2 }]);
      const other = await current().connect();
      expect(await other.claim()).toMatchObject([{ checkId: id, attempt: 2 }]);
    });

    it('a run that was begun in the name of an earlier process goes on when the one that made it dies', async () => {
      const id = await add();
      const dead = await connected();
      const check = dead.held.get(id);
      if (check === undefined) throw new Error('not held');
      await pass(first - clock.now() + 1_000, [dead]);
      // The next process makes the run that its data folder owes, before the service has told it its own name of the check.
      const next = await connected([dead.agentId]);
      const result = keptResult(check, first, { resultType: 'ATTEMPT', status: 'failed', hasFailures: true });
      expect(await next.report(result)).toMatchObject([{ outcome: 'stored' }]);
      await next.renewHeld({ isLeaving: true });
      await current().handOut();
      expect(await jobs()).toEqual([{ state: 'queued', attempt: 2 }]);
    });

    it('an attempt that another process delivers belongs to the agent that made it, while that one lives', async () => {
      const id = await add();
      const agent = await connected();
      const other = await current().connect();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      await pass(first - clock.now() + 1_000, [agent]);
      const result = keptResult(check, first, { resultType: 'ATTEMPT', status: 'failed', hasFailures: true });
      expect(await other.report(result)).toMatchObject([{ outcome: 'stored' }]);
      await agent.renewHeld({ isLeaving: true });
      await current().handOut();
      expect(await jobs()).toEqual([{ state: 'queued', attempt: 2 }]);
    });

    it('a run that nobody continues is made by another agent, but not before its end can have been reported', async () => {
      const id = await add();
      const dead = await connected();
      const check = dead.held.get(id);
      if (check === undefined) throw new Error('not held');
      await pass(first - clock.now() + 1_000, [dead]);
      const next = await connected([dead.agentId]);
      // It was left in the data folder of a process that died between two attempts. The next one only delivers it.
      await next.report(
        keptResult(check, first, { resultType: 'ATTEMPT', status: 'failed', hasFailures: true }),
      );
      const at = clock.now();
      const { db } = current();
      await requeueForgottenJobs(db, { now: at + 29 * minute, since: 0 });
      await requeueForgottenJobs(db, { now: at + 40 * minute, since: at + 11 * minute });
      expect(await jobs()).toEqual([{ state: 'kept', attempt: 2 }]);
      for (let step = 0; step < 410; step++) {
        clock.advance(9_000);
        if (step % 2 === 0) await next.renewHeld();
        await current().handOut();
      }
      expect(await jobs()).toEqual([{ state: 'queued', attempt: 2 }]);
    });

    it('a holder reports what it did not run; moments with a result are left out', async () => {
      const id = await add();
      const agent = await connected();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      await pass(first + 3 * minute + 1_000 - clock.now(), [agent]);
      await agent.report(keptResult(check, first + minute));
      const report = missedOf(check, first, first + 2 * minute, 3);
      expect(await agent.report(report)).toMatchObject([{ outcome: 'stored' }]);
      expect(await results()).toMatchObject([
        { status: 'missed', started: new Date(first), details: { count: 1 } },
        { status: 'passed' },
        { status: 'missed', started: new Date(first + 2 * minute), details: { count: 1 } },
      ]);
    });

    it('a restarted agent gets the checks of the process that it continues, at once', async () => {
      const id = await add();
      const before = await connected();
      expect(before.held.has(id)).toBe(true);
      await current().handOut();
      await pass(35_000, [before]);
      const after = await connected([before.agentId]);
      expect([...after.held.keys()]).toEqual([id]);
    });

    it('an agent learns at once whether it stops while the service is away', async () => {
      const id = await add();
      const agent = await connected();
      expect((await agent.renewHeld()).stopsInOutages).toBe(false);
      await current().db.query('update locations set stops_in_outages = true');
      await current().handOut();
      const answer = await agent.renewHeld();
      expect(answer.stopsInOutages).toBe(true);
      // That there is something to read ends its open call.
      expect(answer.checks).toMatchObject([{ checkId: id }]);
      expect((await agent.renewHeld()).stopsInOutages).toBe(true);
    });

    it('an agent that does not know that it must stop holds no checks of a location that stops', async () => {
      const id = await add();
      const before = await current().connect([], null);
      await before.renewHeld();
      await current().handOut();
      await before.renewHeld();
      expect([...before.held.keys()]).toEqual([id]);
      await current().db.query('update locations set stops_in_outages = true');
      await current().handOut();
      expect((await before.renewHeld()).dropped).toEqual([id]);
      clock.set(first + 500);
      await current().service.scheduler.tick();
      expect(await jobs()).toMatchObject([{ state: 'queued' }]);
      // One that knows it gets them.
      const after = await connected();
      expect([...after.held.keys()]).toEqual([id]);
      expect((await before.renewHeld()).checks).toEqual([]);
    });

    it('a service that lets agents hold no checks gives them back to the scheduler', async () => {
      const id = await add();
      const agent = await connected();
      expect(agent.held.has(id)).toBe(true);
      await current().release();
      const [row] = await current().db.query<{ due: Date }>('select next_due_at as due from checks');
      expect(row?.due).toEqual(new Date(first));
      clock.set(first + 500);
      await current().service.scheduler.tick();
      expect(await jobs()).toMatchObject([{ state: 'queued' }]);
    });
  });
});
