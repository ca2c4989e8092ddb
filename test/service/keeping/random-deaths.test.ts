import { describe, expect, it } from 'vitest';
import {
  createHeldChecks,
  type HeldChecks,
  type MissedRuns,
} from '../../../src/agent/keeping/held-checks.ts';
import { createLedger, createTag, type Ledger } from '../../../src/agent/keeping/ledger.ts';
import { missedReport } from '../../../src/agent/keeping/made-jobs.ts';
import { readAssignments, type PackedCheck } from '../../../src/agent/keeping/packed.ts';
import type { KeepingAnswer } from '../../../src/protocol/assignments.ts';
import { protocolMinor } from '../../../src/protocol/agent-calls.ts';
import { nextDue, scheduledJobId, type Schedule } from '../../../src/protocol/schedule.ts';
import { randomFrom, type Random } from '../../chaos/random.ts';
import { addCheck, createClock, type TestAgent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult } from './keeping-bench.ts';

/**
 * Agents are killed and started again at random, often before they have read or run what they were given, while checks
 * are edited. Afterwards, each due moment has one result or is in one record. Agents are as the protocol sees them: their
 * plan and watermark are the real ones, and so is the service; no time passes but the clock's.
 */

const start = '2026-03-04T05:06:07.000Z';
const seconds = 120;
const calmSeconds = 110;

/** What is left of a process in its data folder. */
type Folder = {
  holders: string[];
  checks: PackedCheck[];
  reportedTo: number | null;
  /** Results that were not delivered. */
  outbox: Record<string, unknown>[];
};

type Process = {
  agent: TestAgent;
  held: HeldChecks;
  ledger: Ledger;
  /** Results of this process that have not been delivered. */
  made: Set<object>;
  holders: Set<string>;
  cursor: string | null;
  /** Nothing runs before: the service is asked first. */
  asksUntil: number;
  nextClaimAt: number;
  nextSaveAt: number;
};

/** A check, and the schedules that it had. `since`: of the edit; its moments come after it. */
type History = { id: string; schedules: { schedule: Schedule; since: number }[] };

/** Until then after an edit of a schedule, the service may not have noticed it: moments of the former one may be run. */
const unnoticedMs = 8_000;

/** Number of random courses. Ids are random as well, so that each of them is new: this finds faults, and guards against none. */
const courses = Number(process.env['RANDOM_DEATHS'] ?? 0);
if (courses === 0)
  process.stderr.write('skipped here: random deaths of agents, which RANDOM_DEATHS=20 tries 20 times\n');

describe.skipIf(courses === 0).each(databases)('agents that die at random: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);

    describe.each([{ edits: 'names' }, { edits: 'schedules' }] as const)(
      'while $edits are edited',
      (edited) => {
        it.each(Array.from({ length: courses }, (_, index) => index + 1))(
          'lose no run and double none (seed %i)',
          { timeout: 300_000 },
          async (seed) => {
            const random = randomFrom(seed);
            const from = clock.now();
            const checks: History[] = [];
            // Every ten seconds, spread over them.
            for (let count = 0; count < 8; count++)
              checks.push(await add({ intervalSeconds: 10, offsetSeconds: count % 10 }));
            const hosts = [0, 1, 2].map(() => createHost(random));
            const end = from + (seconds + calmSeconds) * 1_000;
            while (clock.now() < end) {
              const isCalm = clock.now() >= from + seconds * 1_000;
              clock.advance(1_000);
              for (const host of hosts) await host.step(isCalm);
              if (random.next() < 0.1) {
                const check = random.pick(checks);
                if (edited.edits === 'names')
                  await current().db.query(`update checks set name = name || 'x' where id = $1`, [check.id]);
                else if (!isCalm) await reschedule(check, random);
              }
              // Replicas are killed, too: for some seconds nobody hands anything out.
              if (!isCalm && random.next() >= 0.7) continue;
              await current().handOut();
              if (edited.edits === 'schedules') await current().service.scheduler.tick();
            }
            await current().service.scheduler.tick();
            expect(await wrongOf(checks, end - 20_000)).toEqual([]);
          },
        );
      },
    );

    const setSchedule = async ({ id, schedules }: History, schedule: Schedule): Promise<void> => {
      await current().reschedule(id, schedule);
      schedules.push({ schedule, since: clock.now() });
    };

    async function add(schedule: Schedule): Promise<History> {
      const { db, accountId } = current();
      const id = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const check: History = { id, schedules: [] };
      await setSchedule(check, schedule);
      return check;
    }

    async function reschedule(check: History, random: Random): Promise<void> {
      const before = check.schedules.at(-1);
      const intervalSeconds = random.pick([10, 20, 30]);
      const schedule = { intervalSeconds, offsetSeconds: Math.floor(random.next() * intervalSeconds) };
      // Two edits that the service sees as one are one.
      if (before === undefined || clock.now() - before.since < unnoticedMs) return;
      await setSchedule(check, schedule);
    }

    function createHost(random: Random) {
      const folder: Folder = { holders: [], checks: [], reportedTo: null, outbox: [] };
      let process: Process | null = null;
      let startsAt = clock.now();

      const save = ({ held, ledger, holders }: Process): void => {
        folder.holders = [...holders];
        folder.checks = held.all();
        folder.reportedTo = Math.min(ledger.reportedTo(clock.now(), held.earliest()), held.unsureFrom() - 1);
      };
      const begin = async (): Promise<Process> => {
        const held = createHeldChecks();
        held.restore(folder.checks, folder.reportedTo);
        const agent = await current().connect([...folder.holders]);
        return {
          agent,
          held,
          ledger: createLedger(),
          made: new Set(),
          holders: new Set(folder.holders),
          cursor: null,
          asksUntil: held.size() > 0 ? clock.now() + 2_000 : 0,
          nextClaimAt: clock.now(),
          nextSaveAt: clock.now() + 5_000,
        };
      };
      const claim = async (own: Process): Promise<void> => {
        const { agent, held, ledger, holders } = own;
        const reportedTo = ledger.reportedTo(clock.now(), held.earliest());
        const keeping = { cursor: own.cursor, reportedTo, minor: protocolMinor, variables: null };
        const answer = await agent.call('jobs/claim', {
          agentId: agent.agentId,
          free: {},
          waitSeconds: 0,
          keeping,
        });
        const told = (answer.body as { keeping: KeepingAnswer }).keeping;
        // A call stays open until there is something to say. Here it is asked again.
        if (told.isFirst && told.checks.length === 0 && clock.now() < own.asksUntil + 8_000) return;
        const isNew = own.cursor === null;
        holders.add(agent.agentId);
        held.apply(told, readAssignments(told.checks).checks);
        if (!told.hasMore) held.confirm(agent.agentId, reportedTo);
        own.cursor = told.cursor;
        if (!told.hasMore) own.asksUntil = 0;
        if (isNew) save(own);
      };
      const run = ({ held, ledger, made }: Process, isCalm: boolean): void => {
        const due = held.takeDue(clock.now());
        const take = (dueAt: number, result: object) => {
          ledger.open(dueAt);
          made.add(result);
          folder.outbox.push(result as Record<string, unknown>);
        };
        for (const missed of due.missed) take(missed.from, reportOf(missed));
        for (const { check, dueAt } of due.runs) {
          ledger.open(dueAt);
          // The process may die before the run has ended.
          if (isCalm || random.next() < 0.9) {
            const result = keptResult(check, dueAt, timesAt(Math.max(dueAt, clock.now())));
            made.add(result);
            folder.outbox.push(result);
            continue;
          }
          process = null;
          startsAt = clock.now() + random.pick([1, 2, 30]) * 1_000;
          return;
        }
      };
      const deliver = async ({ agent, ledger, made }: Process): Promise<void> => {
        const batch = folder.outbox.splice(0);
        if (batch.length === 0) return;
        const items = await agent.report(...batch);
        for (const [index, result] of batch.entries()) {
          expect(items[index]?.outcome).toMatch(/^(stored|duplicate|superseded)$/);
          // Those of an earlier process say nothing of what this one has taken up.
          if (made.delete(result)) ledger.settle(Date.parse(String(result['dueAt'])));
        }
      };

      return {
        step: async (isCalm: boolean): Promise<void> => {
          if (process === null) {
            if (clock.now() < startsAt) return;
            process = await begin();
          }
          const own = process;
          if (!isCalm && random.next() < 0.05) {
            process = null;
            startsAt = clock.now() + random.pick([1, 1, 3, 40]) * 1_000;
            return;
          }
          // The connection may be to a replica that has just been killed.
          if (own.nextClaimAt <= clock.now() && random.next() < 0.8) {
            await claim(own);
            own.nextClaimAt = clock.now() + random.pick([0, 0, 1, 5]) * 1_000;
          }
          if (clock.now() >= own.asksUntil) run(own, isCalm);
          if (process === null) return;
          if (random.next() < 0.7) await deliver(own);
          if (clock.now() < own.nextSaveAt) return;
          own.nextSaveAt = clock.now() + 5_000;
          save(own);
        },
      };
    }

    async function wrongOf(checks: readonly History[], to: number) {
      const rows = await current().db.query<{
        checkId: string;
        jobId: string | null;
        started: Date;
        stopped: Date;
        count: number | null;
      }>(
        `select check_id as "checkId", job_id as "jobId", started_at as started, stopped_at as stopped,
           (body->'details'->>'count')::integer as count
         from check_results where result_type = 'FINAL'
         -- The last run of an agent that died is queued, and nobody here takes jobs.
         union all select check_id, id, due_at, due_at, null from jobs where state = 'queued'`,
      );
      const wrong: string[] = [];
      for (const [index, { id, schedules }] of checks.entries()) {
        const own = rows.filter(({ checkId }) => checkId === id);
        for (const [place, { schedule, since }] of schedules.entries()) {
          const next = schedules[place + 1]?.since ?? to;
          for (let at = nextDue(schedule, since); at <= next && at < to; at = nextDue(schedule, at)) {
            const jobId = scheduledJobId(id, current().office.id, at);
            const runs = own.filter((row) => row.jobId === jobId).length;
            const records = own.filter((row) => row.jobId === null && isIn(at, row)).length;
            if (runs + records !== 1)
              wrong.push(
                `check ${index}, every ${schedule.intervalSeconds} s, at ${new Date(at).toISOString()}: ` +
                  `${runs} results, ${records} records`,
              );
          }
        }
      }
      return wrong;
    }
  });
});

/** True if a record of runs that follow each other evenly has one at `at`. */
function isIn(
  at: number,
  { started, stopped, count }: { started: Date; stopped: Date; count: number | null },
) {
  const [from, to] = [started.getTime(), stopped.getTime()];
  if (at < from || at > to) return false;
  return count === null || count < 2 ? at === from : (at - from) % ((to - from) / (count - 1)) === 0;
}

const reportOf = (missed: MissedRuns) => missedReport(missed, { version: '1.2.3', tag: createTag() });
const timesAt = (at: number) => ({
  startedAt: new Date(at).toISOString(),
  stoppedAt: new Date(at + 20).toISOString(),
});
