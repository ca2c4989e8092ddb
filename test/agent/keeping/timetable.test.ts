import { afterEach, expect, test } from 'vitest';
import type { RunParts } from '../../../src/agent/run/run-job.ts';
import type { RunningTools } from '../../../src/agent/claiming/intake.ts';
import { createHeldChecks } from '../../../src/agent/keeping/held-checks.ts';
import { createLedger, createTag } from '../../../src/agent/keeping/ledger.ts';
import { jobOf, lostReport } from '../../../src/agent/keeping/made-jobs.ts';
import type { PackedCheck } from '../../../src/agent/keeping/packed.ts';
import { createTimetable, type Timetable } from '../../../src/agent/keeping/timetable.ts';
import { createLoading } from '../../../src/agent/claiming/loading.ts';
import { createLanes } from '../../../src/agent/run/lanes.ts';
import type { KeepingAnswer } from '../../../src/protocol/assignments.ts';
import { packedCheck } from './samples.ts';

/** Late runs of held checks wait for a free slot: meanwhile their check may be edited, move, or be due again. */

const start = 1_790_000_040_000;
const check = (fields: Partial<PackedCheck> = {}) =>
  packedCheck({ holder: 'first', from: start, job: '{"checkType":"URL","name":"old"}', ...fields });
const answer = (dropped: string[] = []): KeepingAnswer => ({
  epoch: 1,
  cursor: 'c',
  isFirst: false,
  hasMore: false,
  checks: [],
  dropped,
});

let timetable: Timetable | null = null;
afterEach(() => timetable?.stop());

/**
 * A timetable whose jobs end when `end` is called, with one slot, which is taken until `release` is called. `load`: how the tools are
 * loaded.
 */
function bench(load: (tools: RunningTools) => Promise<RunningTools> = (tools) => Promise.resolve(tools)) {
  const held = createHeldChecks();
  const ledger = createLedger();
  const tag = createTag();
  const faults: string[] = [];
  const lanes = createLanes({ uptime: 1 });
  let release = (): void => undefined;
  void lanes.run('uptime', () => new Promise<void>((resolve) => (release = resolve)));
  const jobs: Record<string, unknown>[] = [];
  const reports: Record<string, unknown>[] = [];
  const calm: boolean[] = [];
  const made: RunParts[] = [];
  const ends: (() => void)[] = [];
  let now = start;
  let isBlocked = false;
  let isFull = false;
  const tools = {
    parseJob: (job: Record<string, unknown>) => {
      jobs.push(job);
      return { job: {}, envelope: null, error: null };
    },
    runJob: (_job: unknown, parts: RunParts) => {
      made.push(parts);
      return new Promise<void>((resolve) => ends.push(resolve));
    },
    parts: {},
  } as unknown as RunningTools; // only these are used
  const loading = createLoading({
    load: async () => ({ ...(await load(tools)), jobOf, lostReport }),
    fault: () => undefined,
    fail: () => undefined,
  });
  timetable = createTimetable({
    held,
    ledger,
    lanes,
    loading,
    available: () => ({}) as never, // is passed on
    deliver: (json, isCalm) => {
      calm.push(isCalm);
      reports.push(JSON.parse(json) as Record<string, unknown>);
      return Promise.resolve();
    },
    version: '1.2.3',
    tag,
    variables: () => [],
    blocked: () => isBlocked,
    isFull: () => isFull,
    mayRun: () => true,
    fault: (error, message) => {
      if (error.message !== 'a module is missing') throw error;
      faults.push(message);
    },
    now: () => now,
  });
  return {
    tag,
    faults,
    held,
    ledger,
    timetable,
    loading,
    jobs,
    reports,
    calm,
    made,
    release: () => release(),
    end: () => ends.shift()?.(),
    at: (milliseconds: number) => (now = start + milliseconds),
    block: (value: boolean) => (isBlocked = value),
    fill: (value: boolean) => (isFull = value),
  };
}

test('a late run that waits is made in the form that the check has when it begins', async () => {
  const { held, ledger, timetable: own, jobs, release, at } = bench();
  held.apply(answer(), [check()]);
  own.runDue();
  await expect.poll(() => jobs.length).toBe(1);
  ledger.settle(start);
  // The run of the next moment is late, and no slot is free.
  at(90_000);
  own.runDue();
  expect(ledger.reportedTo(start + 90_000, held.earliest())).toBeLessThan(start + 60_000);
  expect(ledger.reportedTo(start + 90_000, held.earliest())).toBeGreaterThan(start);
  held.apply(answer(), [check({ job: '{"checkType":"URL","name":"new"}' })]);
  release();
  await expect.poll(() => jobs.length).toBe(2);
  expect(jobs[1]).toMatchObject({ name: 'new', dueAt: new Date(start + 60_000).toISOString() });
});

test('a late run that begins too late is reported as missed, also while the agent may begin nothing', async () => {
  const { held, timetable: own, jobs, reports, block, at } = bench();
  held.apply(answer(), [check()]);
  at(30_000);
  own.runDue();
  block(true);
  at(61_000);
  await expect.poll(() => reports.length).toBe(1);
  expect(reports[0]).toMatchObject({ status: 'missed', reason: { code: 'NOT_CLAIMED' } });
  expect(jobs).toEqual([]);
});

test('a late run is made also if its check has just been taken away', async () => {
  const { held, timetable: own, jobs, reports, release, at } = bench();
  held.apply(answer(), [check()]);
  at(30_000);
  own.runDue();
  held.apply(answer([check().checkId]), []);
  release();
  await expect.poll(() => jobs.length).toBe(1);
  expect(reports).toEqual([]);
});

test('a moment that is being run is not taken again when the check comes with another holder', async () => {
  const { held, ledger, timetable: own, jobs } = bench();
  held.restore([check()], null);
  own.runDue();
  await expect.poll(() => jobs.length).toBe(1);
  const open = ledger.reportedTo(start, held.earliest());
  held.apply(answer(), [check({ holder: 'second' })]);
  own.runDue();
  ledger.settle(start);
  // One settlement is enough: it was opened once.
  expect(ledger.reportedTo(start, held.earliest())).toBeGreaterThan(open);
  expect(jobs).toHaveLength(1);
});

test('a late run that is given up is reported in the name in which the check is held by then', async () => {
  const { held, timetable: own, reports, block, at } = bench();
  held.restore([check()], start - 1);
  at(30_000);
  own.runDue();
  block(true);
  held.apply(answer(), [check({ holder: 'second' })]);
  at(61_000);
  await expect.poll(() => reports.length).toBe(1);
  expect(reports[0]).toMatchObject({
    status: 'missed',
    leaseToken: 'second',
    reason: { code: 'NOT_CLAIMED' },
    dueAt: new Date(start).toISOString(),
  });
});

test('a run that was given up in another name is reported again, with its reason', async () => {
  const { held, timetable: own, reports, block } = bench();
  held.restore([check()], start - 1);
  block(true);
  own.runDue();
  await expect.poll(() => reports.length).toBe(1);
  expect(reports[0]).toMatchObject({ leaseToken: 'first', reason: { code: 'NOT_CLAIMED' } });
  expect(held.unsureFrom()).toBe(start);
  held.apply(answer(), [check({ holder: 'second' })]);
  own.runDue();
  await expect.poll(() => reports.length).toBe(2);
  expect(reports[1]).toMatchObject({ leaseToken: 'second', reason: { code: 'NOT_CLAIMED' } });
  held.confirm('second', start);
  expect(held.unsureFrom()).toBe(Infinity);
});

test('late runs that wait at the end stay open', async () => {
  const { held, ledger, timetable: own, jobs, release, at } = bench();
  held.apply(answer(), [check()]);
  at(30_000);
  own.runDue();
  own.drain();
  release();
  await own.whenIdle();
  expect(jobs).toEqual([]);
  expect(ledger.reportedTo(start + 30_000, held.earliest())).toBeLessThan(start);
});

test('a pass waits for other results, unless the run before was none', async () => {
  const { held, timetable: own, calm, made, at, end } = bench();
  const runs = [
    // After a start, nothing is known of the run before.
    { results: [true], areCalm: [true] },
    { results: [true], areCalm: [true] },
    { results: [false], areCalm: [false] },
    { results: [false], areCalm: [false] },
    { results: [true], areCalm: [false] },
    { results: [true], areCalm: [true] },
    // An attempt that failed, and the next one.
    { results: [false, true], areCalm: [false, false] },
    { results: [true], areCalm: [true] },
  ];
  held.apply(answer(), [check()]);
  for (const [index, { results, areCalm }] of runs.entries()) {
    at(index * 60_000);
    own.runDue();
    await expect.poll(() => made.length).toBe(index + 1);
    for (const hasPassed of results) await made[index]?.deliver('{}', hasPassed);
    expect(calm.splice(0)).toEqual(areCalm);
    end();
    await own.whenIdle();
  }
});

/** Up to when everything is reported, as the agent states it. */
const reportedTo = ({ held, ledger, timetable: own }: ReturnType<typeof bench>, at: number) =>
  ledger.reportedTo(at, Math.min(held.earliest() ?? Infinity, own.unreported() ?? Infinity));

test('a run whose parts cannot be loaded is reported as missed, and the later ones without another try', async () => {
  let loads = 0;
  const all = bench(() => {
    loads += 1;
    return Promise.reject(new Error('a module is missing'));
  });
  const { held, timetable: own, reports, jobs, faults, at } = all;
  held.apply(answer(), [check()]);
  own.runDue();
  await expect.poll(() => reports.length).toBe(1);
  expect(reports[0]).toMatchObject({
    status: 'missed',
    reason: { code: 'NOT_CLAIMED' },
    dueAt: new Date(start).toISOString(),
  });
  expect(all.loading.isBroken()).toBe(true);
  // The report has not been taken yet.
  expect(reportedTo(all, start)).toBe(start - 1);
  at(60_000);
  own.runDue();
  await expect.poll(() => reports.length).toBe(2);
  expect([loads, jobs.length, faults]).toEqual([1, 0, ['running a held check failed']]);
});

test('while there is hardly any room for results, runs that are not made take one report for all', async () => {
  const all = bench();
  const { held, ledger, timetable: own, reports, block, fill, at } = all;
  const later = check({ checkId: 'later', from: start + 1_800_000 });
  held.apply(answer(), [check(), later]);
  block(true);
  fill(true);
  for (let minute = 0; minute < 60; minute += 1) {
    at(minute * 60_000);
    own.runDue();
    // A report would be written by then.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect(reports).toEqual([]);
  expect(reportedTo(all, start + 3_540_000)).toBe(start - 1);
  // It is edited meanwhile.
  held.apply(answer(), [check({ from: start + 3_600_000, job: '{"checkType":"URL","name":"new"}' })]);
  fill(false);
  await expect.poll(() => reports.length).toBe(2);
  const iso = (ms: number) => new Date(start + ms).toISOString();
  expect(reports).toMatchObject([
    { checkId: 'c', status: 'missed', details: { from: iso(0), to: iso(3_540_000), count: 60 } },
    { checkId: 'later', details: { from: iso(1_800_000), to: iso(3_540_000), count: 30 } },
  ]);
  expect(reportedTo(all, start + 3_540_000)).toBe(start - 1);
  ledger.settle(start);
  expect(reportedTo(all, start + 3_540_000)).toBe(start + 1_800_000 - 1);
  ledger.settle(start + 1_800_000);
  expect(reportedTo(all, start + 3_540_000)).toBe(start + 3_540_000);
});

test('a run whose result the outbox has dropped is reported as missed when there is room', async () => {
  const all = bench();
  const { held, ledger, tag, timetable: own, reports, jobs, fill, at, end } = all;
  held.apply(answer(), [check()]);
  const results: Buffer[] = [];
  for (let minute = 0; minute < 3; minute += 1) {
    at(minute * 60_000);
    own.runDue();
    await expect.poll(() => jobs.length).toBe(minute + 1);
    end();
    await own.whenIdle();
    const { sequenceId, dueAt } = jobs[minute] ?? {};
    results.push(
      Buffer.from(
        JSON.stringify({
          checkId: 'c',
          resultType: 'FINAL',
          status: 'failed',
          sequenceId,
          details: {},
          dueAt,
        }),
      ),
    );
    expect(String(sequenceId).endsWith(tag)).toBe(true);
  }
  fill(true);
  for (const result of results.slice(0, 2)) own.lost(result);
  // Of an earlier process: this one has planned its runs again.
  own.lost(Buffer.from(String(results[2]).replaceAll(tag, '0'.repeat(12))));
  ledger.settle(start + 120_000);
  expect(reportedTo(all, start + 120_000)).toBe(start - 1);
  fill(false);
  await expect.poll(() => reports.length).toBe(1);
  expect(reports[0]).toMatchObject({
    status: 'missed',
    reason: { code: 'NO_AGENT' },
    details: { from: new Date(start).toISOString(), to: new Date(start + 60_000).toISOString(), count: 2 },
  });
  // The report is dropped, too.
  fill(true);
  own.lost(Buffer.from(JSON.stringify(reports[0])));
  expect(reportedTo(all, start + 120_000)).toBe(start - 1);
  fill(false);
  await expect.poll(() => reports.length).toBe(2);
  expect(reports[1]).toMatchObject({ details: reports[0]?.['details'] });
});

test('a run during which two processes died is not made again', async () => {
  const { held, ledger, timetable: own, jobs, reports, calm, at } = bench();
  const { checkId, locationId } = check();
  own.restore([{ checkId, locationId, dueAt: start, deaths: 2, isGoing: false }]);
  held.apply(answer(), [check()]);
  own.runDue();
  await expect.poll(() => reports.length).toBe(1);
  expect(reports[0]).toMatchObject({
    resultType: 'FINAL',
    status: 'errored',
    hasErrors: true,
    dueAt: new Date(start).toISOString(),
    reason: { code: 'AGENT_LOST', owner: 'ours' },
  });
  expect(calm).toEqual([false]);
  expect(jobs).toEqual([]);
  expect(own.keptRuns()).toEqual([]);
  // It counts as reported when the service has it.
  expect(ledger.reportedTo(start + 1_000, held.earliest())).toBeLessThan(start);
  // The next one is made.
  at(60_000);
  own.runDue();
  await expect.poll(() => jobs.length).toBe(1);
});
