import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { planRuns } from '../../src/protocol/plan-runs.ts';
import {
  lastDue,
  locationsOfRun,
  nextDue,
  nextRotation,
  scheduledJobId,
  scheduledRunId,
} from '../../src/protocol/schedule.ts';

/** Deterministic chance, so that a failure can be repeated. */
function chance(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

const checkId = '0198c0de-0000-7000-8000-000000000001';
const intervals = [10, 20, 30, 60, 120, 300, 3600, 86_400];

describe('due moments of both sides', () => {
  it('a planner that wakes at any time makes the runs that the schedule alone names', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const below = chance(seed);
      const intervalSeconds = intervals[below(intervals.length)] ?? 60;
      const offsetSeconds = below(intervalSeconds * 1000) / 1000;
      const schedule = { intervalSeconds, offsetSeconds };
      const locationCount = 1 + below(4);
      const runParallel = below(2) === 0;
      const begin = 1_790_000_000_000 + below(86_400_000);
      const runs = 40;

      // By the schedule alone, as an agent knows it: the first moment and whose turn it is.
      const first = nextDue(schedule, begin);
      const expected: unknown[] = [];
      let turn = { rotation: below(locationCount), runParallel, locationCount };
      const start = turn.rotation;
      for (let number = 0; number < runs; number++) {
        const dueAt = first + number * intervalSeconds * 1000;
        expected.push({ dueAt, locations: locationsOfRun(turn) });
        turn = { ...turn, rotation: nextRotation(turn) };
      }

      // By a planner that never wakes more than the permitted lateness after a moment.
      const planned: unknown[] = [];
      let check = { ...schedule, rotation: start, runParallel, locationCount, nextDueAt: first };
      const latest = Math.min(30_000, intervalSeconds * 1000);
      while (planned.length < runs) {
        const now = check.nextDueAt + below(latest);
        const plan = planRuns(check, now);
        expect(plan.missed).toBeNull();
        planned.push({ dueAt: plan.run?.dueAt, locations: plan.run?.locations });
        check = { ...check, nextDueAt: plan.nextDueAt, rotation: plan.rotation };
      }
      expect(planned).toEqual(expected);
    }
  });

  it('every moment is run once or missed once, however late the planner wakes', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const below = chance(seed * 7);
      const intervalSeconds = intervals[below(5)] ?? 60;
      const schedule = { intervalSeconds, offsetSeconds: below(intervalSeconds * 1000) / 1000 };
      const period = intervalSeconds * 1000;
      const first = nextDue(schedule, 1_790_000_000_000 + below(86_400_000));
      let check = { ...schedule, rotation: 0, runParallel: true, locationCount: 1, nextDueAt: first };
      const moments: number[] = [];
      let now = first;
      for (let wake = 0; wake < 30; wake++) {
        now = Math.max(now, check.nextDueAt) + below(period * 5);
        const plan = planRuns(check, now);
        if (plan.missed !== null) {
          const { from, to, count } = plan.missed;
          expect(count).toBe((to - from) / period + 1);
          for (let at = from; at <= to; at += period) moments.push(at);
        }
        if (plan.run !== null) moments.push(plan.run.dueAt);
        check = { ...check, nextDueAt: plan.nextDueAt };
      }
      expect(moments).toEqual(moments.map((_, index) => first + index * period));
      expect(check.nextDueAt).toBe(nextDue(schedule, lastDue(schedule, now)));
    }
  });

  it('a caller may allow a run to begin later than the service allows it', () => {
    const check = {
      intervalSeconds: 60,
      offsetSeconds: 0,
      rotation: 0,
      runParallel: true,
      locationCount: 1,
      nextDueAt: 1_790_000_040_000,
    };
    const now = check.nextDueAt + 45_000;
    expect(planRuns(check, now)).toMatchObject({ run: null, missed: { count: 1 } });
    expect(planRuns(check, now, 60_000)).toMatchObject({ run: { dueAt: check.nextDueAt }, missed: null });
  });
});

describe('ids', () => {
  it('of a run are those that releases before this function made', () => {
    const dueAt = 1_790_000_040_000;
    const random = createHash('sha256').update(`${checkId} ${dueAt}`).digest('hex');
    const id = scheduledRunId(checkId, dueAt);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(dueAt);
    expect(id.slice(15, 18)).toBe(random.slice(0, 3));
    expect(id.slice(24)).toBe(random.slice(7, 19));
  });

  it('of a part of a run differ by check, location and moment, and are the same each time', () => {
    const other = '0198c0de-0000-7000-8000-000000000002';
    const at = 1_790_000_040_000;
    const ids = [
      scheduledJobId(checkId, other, at),
      scheduledJobId(other, other, at),
      scheduledJobId(checkId, checkId, at),
      scheduledJobId(checkId, other, at + 1),
      scheduledRunId(checkId, at),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(scheduledJobId(checkId, other, at)).toBe(ids[0]);
  });
});
