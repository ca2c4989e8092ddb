import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createHeldChecks } from '../../../src/agent/keeping/held-checks.ts';
import { createKeptFile } from '../../../src/agent/keeping/kept-file.ts';
import { createLedger, createTag, settledMoment } from '../../../src/agent/keeping/ledger.ts';
import { jobOf, missedReport } from '../../../src/agent/keeping/made-jobs.ts';
import { createPacker, readAssignments, type PackedCheck } from '../../../src/agent/keeping/packed.ts';
import type { Assignment, KeepingAnswer } from '../../../src/protocol/assignments.ts';

const folder = mkdtempSync(join(tmpdir(), 'held-checks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const first = 1_790_000_040_000;
const minute = 60_000;
const holder = '0198c0de-0000-7000-8000-0000000000aa';
const idOf = (number: number) => `0198c0de-0000-7000-8000-${String(number).padStart(12, '0')}`;
const assignment = (number: number, fields: Partial<Assignment> = {}): Assignment => ({
  checkId: idOf(number),
  holder,
  locationId: idOf(999),
  epoch: 1,
  from: first,
  intervalSeconds: 60,
  offsetSeconds: 0,
  pauses: [],
  job: { checkType: 'URL', runLocation: 'office', secret: 'the-secret-of-a-check' },
  ...fields,
});
const check = (number: number, fields: Partial<Assignment> = {}): PackedCheck =>
  createPacker()(assignment(number, fields));
const answer = (fields: Partial<KeepingAnswer> = {}): KeepingAnswer => ({
  epoch: 1,
  cursor: 'c',
  isFirst: false,
  hasMore: false,
  checks: [],
  dropped: [],
  ...fields,
});

test('each moment is taken once: as a run in its window, otherwise as missed', () => {
  const held = createHeldChecks();
  held.apply(answer({ isFirst: true }), [check(1)]);
  expect(held.takeDue(first - 1)).toEqual({ runs: [], missed: [] });
  expect(held.takeDue(first)).toMatchObject({ runs: [{ dueAt: first }], missed: [] });
  expect(held.takeDue(first + 10)).toEqual({ runs: [], missed: [] });
  // 45 s late is within its minute: another agent may have died.
  expect(held.takeDue(first + minute + 45_000)).toMatchObject({ runs: [{ dueAt: first + minute }] });
  expect(held.takeDue(first + 5 * minute)).toMatchObject({
    runs: [{ dueAt: first + 5 * minute }],
    missed: [{ from: first + 2 * minute, to: first + 4 * minute, count: 3 }],
  });
});

test('a missed run at once is reported apart from the moments of the schedule', () => {
  const held = createHeldChecks();
  held.apply(answer({ isFirst: true }), [check(1, { from: first + 24_500 })]);
  expect(held.takeDue(first + 10 * minute).missed).toMatchObject([
    { from: first + 24_500, to: first + 24_500, count: 1 },
    { from: first + minute, count: 9 },
  ]);
});

test('pauses are neither run nor missed', () => {
  const held = createHeldChecks();
  const pauses: [number, number][] = [[first + minute, first + 3 * minute]];
  held.apply(answer({ isFirst: true }), [check(1, { pauses })]);
  expect(held.takeDue(first + 4 * minute)).toMatchObject({
    runs: [{ dueAt: first + 4 * minute }],
    missed: [
      { from: first, to: first, count: 1 },
      { from: first + 3 * minute, to: first + 3 * minute, count: 1 },
    ],
  });
});

test('a change of a check repeats no moment; a new schedule and an extra run take effect', () => {
  const held = createHeldChecks();
  held.apply(answer({ isFirst: true }), [check(1)]);
  held.takeDue(first);
  held.apply(answer(), [check(1, { from: first })]);
  expect(held.earliest()).toBe(first + minute);
  held.apply(answer(), [check(1, { from: first + 7_000 })]);
  expect(held.earliest()).toBe(first + 7_000);
  held.apply(answer(), [check(1, { from: first + 20_000, intervalSeconds: 20 })]);
  expect(held.earliest()).toBe(first + 20_000);
});

test('what was reported as missed in the name of an earlier process is reported again, and no run is made twice', () => {
  const ofAnother = { holder: idOf(77) };
  const held = createHeldChecks();
  held.restore([check(1)], first - 1);
  // The service did not answer in time. It leaves the report of the missed runs to whoever was given the check meanwhile.
  expect(held.takeDue(first + 3 * minute)).toMatchObject({ missed: [{ count: 3 }], runs: [{}] });
  held.apply(answer({ isFirst: true }), [check(1, { ...ofAnother, from: first + minute })]);
  // Until then, what is reported ends before them.
  expect(held.earliest()).toBe(first + minute);
  expect(held.takeDue(first + 3 * minute)).toMatchObject({
    missed: [{ from: first + minute, to: first + 2 * minute, count: 2, check: ofAnother }],
    runs: [],
  });
  expect(held.earliest()).toBe(first + 4 * minute);
  // A hand-out of the same moments again, then one that knows of them.
  held.apply(answer(), [check(1, { ...ofAnother, from: first + 2 * minute })]);
  expect(held.takeDue(first + 3 * minute)).toMatchObject({
    missed: [{ from: first + 2 * minute, count: 1 }],
    runs: [],
  });
  held.apply(answer(), [check(1, { ...ofAnother, from: first + 3 * minute })]);
  expect(held.takeDue(first + 3 * minute)).toEqual({ missed: [], runs: [] });
});

test('what was reported as missed is not saved as reported before it is confirmed', () => {
  const held = createHeldChecks();
  held.restore([check(1), check(2)], first - 1);
  held.takeDue(first);
  expect(held.unsureFrom()).toBe(Infinity);
  held.takeDue(first + 3 * minute);
  expect(held.unsureFrom()).toBe(first + minute);
  // The answer is to another holder, or was asked for before the report was taken.
  held.confirm(idOf(77), first + 3 * minute);
  held.confirm(holder, first + minute);
  expect(held.unsureFrom()).toBe(first + minute);
  held.confirm(holder, first + 2 * minute);
  expect(held.unsureFrom()).toBe(Infinity);
  // A run that was taken, and then could not be made.
  held.gaveUp(check(1, { holder: idOf(77) }), first + 3 * minute);
  expect(held.unsureFrom()).toBe(Infinity);
  held.gaveUp(check(1), first + 3 * minute);
  held.gaveUp(check(2), first + 2 * minute);
  expect(held.unsureFrom()).toBe(first + 2 * minute);
  held.apply(answer({ dropped: [idOf(2)] }), []);
  expect(held.unsureFrom()).toBe(first + 3 * minute);
  // However many there are, they are kept as a few.
  for (let index = 4; index < 40; index++) held.gaveUp(check(1), first + index * minute);
  held.apply(answer(), [check(1, { from: first })]);
  expect(held.takeDue(first + 3 * minute).missed).toMatchObject([
    { from: first + 3 * minute, count: 33 },
    { count: 1 },
    { count: 1 },
    { count: 1 },
    { from: first + 39 * minute, count: 1 },
  ]);
});

test('the process after the next one reports again what the service left to another agent', () => {
  const held = createHeldChecks();
  held.restore([check(1)], first - 1);
  const { missed } = held.takeDue(first + 3 * minute);
  expect(missed).toMatchObject([{ from: first, count: 3, check: { holder } }]);
  const savedTo = Math.min(first + 3 * minute, held.unsureFrom() - 1);
  // It dies without an answer. The service took the check from `holder` after its first moment, and gave it to a third one.
  const next = createHeldChecks();
  next.restore(held.all(), savedTo);
  next.apply(answer({ isFirst: true }), [check(1, { holder: idOf(77), from: first + minute })]);
  expect(next.takeDue(first + 4 * minute)).toMatchObject({
    missed: [{ from: first + minute, to: first + 3 * minute, check: { holder: idOf(77) } }],
    runs: [{ dueAt: first + 4 * minute }],
  });
});

test('a report of missed runs names no more moments than the service compares', () => {
  const held = createHeldChecks();
  held.restore([check(1)], first - 1);
  expect(held.takeDue(first + 6_000 * minute).missed).toMatchObject([
    { from: first, to: first + 4_999 * minute, count: 5_000 },
    { from: first + 5_000 * minute, to: first + 5_999 * minute, count: 1_000 },
  ]);
});

test('what the earlier process had reported is not taken again, and a new schedule begins where it says', () => {
  const held = createHeldChecks();
  held.restore([check(1)], first + minute);
  held.apply(answer({ isFirst: true }), [check(1, { holder: idOf(77), from: first })]);
  expect(held.earliest()).toBe(first + 2 * minute);
  held.restore([check(1)], first + minute);
  held.apply(answer(), [check(1, { holder: idOf(77), from: first + 20_000, intervalSeconds: 20 })]);
  expect(held.earliest()).toBe(first + 20_000);
});

test('a run at once that the earlier process has not reported is made', () => {
  const held = createHeldChecks();
  held.restore([check(1, { from: first + 25_300 })], first + 24_999);
  expect(held.earliest()).toBe(first + 25_300);
  held.restore([check(1, { from: first + 25_300 })], first + 25_300);
  expect(held.earliest()).toBe(first + minute);
});

test('runs that another agent has left are taken, also if they are earlier than what this data folder has known', () => {
  const left = { from: first - 2 * minute };
  const held = createHeldChecks();
  // The earlier process was told of the check later, and has reported what it owed.
  held.restore([check(1)], first + minute);
  held.apply(answer({ isFirst: true }), [check(1, { holder: idOf(77), ...left })]);
  expect(held.earliest()).toBe(left.from);
  expect(held.takeDue(first + 2 * minute)).toMatchObject({
    missed: [{ from: left.from, to: first + minute, check: { holder: idOf(77) } }],
    runs: [{ dueAt: first + 2 * minute }],
  });
  // The same for a check that the agent has never been without.
  const own = createHeldChecks();
  own.apply(answer({ isFirst: true }), [check(1)]);
  own.takeDue(first);
  own.apply(answer(), [check(1, left)]);
  expect(own.earliest()).toBe(left.from);
  // Once, as soon as the service has confirmed it.
  own.takeDue(first);
  own.confirm(holder, first);
  own.apply(answer(), [check(1, left)]);
  expect(own.earliest()).toBe(first + minute);
});

test('a complete list in parts replaces what was held before', () => {
  const held = createHeldChecks();
  held.restore([check(1), check(2)], first + minute);
  expect(held.earliest()).toBe(first + 2 * minute);
  held.apply(answer({ isFirst: true, hasMore: true }), [check(2)]);
  expect(held.size()).toBe(2);
  held.apply(answer(), [check(3)]);
  expect(
    held
      .all()
      .map(({ checkId }) => checkId)
      .toSorted(),
  ).toEqual([idOf(2), idOf(3)]);
  held.apply(answer({ dropped: [idOf(2)] }), []);
  expect(held.size()).toBe(1);
});

test('a clock that is set back stops no check', () => {
  const held = createHeldChecks();
  held.apply(answer({ isFirst: true }), [check(1)]);
  held.takeDue(first + 60 * minute);
  held.takeDue(first + 1_000);
  expect(held.earliest()).toBe(first + minute);
});

test('the watermark stays before the first open run', () => {
  const ledger = createLedger();
  expect(ledger.reportedTo(first, null)).toBe(first);
  expect(ledger.reportedTo(first, first - 500)).toBe(first - 501);
  ledger.open(first + 3);
  ledger.open(first + 4);
  ledger.settle(first + 3);
  expect(ledger.reportedTo(first + minute, first + 2 * minute)).toBeLessThan(first + 4);
  ledger.settle(first + 4);
  expect(ledger.reportedTo(first + minute, first + 2 * minute)).toBe(first + minute);
});

test('results as they are sent are recognised by the process that made them', () => {
  const tag = createTag();
  const missed = { check: check(1), from: first, to: first, count: 1 };
  const report = missedReport({ ...missed, code: 'NO_AGENT' }, { version: '1.2.3', tag });
  const payload = Buffer.from(JSON.stringify(report));
  expect(settledMoment(payload, tag)).toBe(first);
  expect(settledMoment(payload, createTag())).toBeNull();
  // Whatever the order of its fields.
  const reversed = JSON.stringify(Object.fromEntries(Object.entries(report).reverse()));
  expect(settledMoment(Buffer.from(reversed), tag)).toBe(first);
  const { dueAt: _dueAt, ...ofQueue } = report;
  expect(settledMoment(Buffer.from(JSON.stringify(ofQueue)), tag)).toBeNull();
  const attempt = Buffer.from(JSON.stringify({ ...report, resultType: 'ATTEMPT' }));
  expect(settledMoment(attempt, tag)).toBeNull();
});

test('what a target or a script puts into a result does not count as its moment', () => {
  const tag = createTag();
  const at = new Date(first).toISOString();
  const made = {
    jobId: 'j',
    leaseToken: 'l',
    attempt: 1,
    sequenceId: `x${tag}`,
    checkId: 'c',
    checkType: 'URL',
    resultType: 'FINAL',
    status: 'passed',
    details: { dueAt: 'inside', resultType: 'ATTEMPT' },
    log: [
      {
        msg: '"agentVersion":"1","dueAt":"2026-01-01T00:00:00.000Z"}',
        at: { agentVersion: '1', dueAt: 'deep' },
      },
    ],
    agentVersion: '1',
  };
  const moment = (fields: object) => settledMoment(Buffer.from(JSON.stringify({ ...made, ...fields })), tag);
  expect(moment({ dueAt: at })).toBe(first);
  // Of the queue: it has none.
  expect(moment({})).toBeNull();
  expect(moment({ dueAt: at, resultType: 'ATTEMPT' })).toBeNull();
  expect(moment({ dueAt: at, sequenceId: 'of another process' })).toBeNull();
  expect(moment({ dueAt: 'no time' })).toBeNull();
  // A longer beginning than any agent writes.
  expect(moment({ dueAt: at, checkId: 'c'.repeat(5_000) })).toBe(first);
});

test('the next process on the data folder takes the checks over; the file shows nothing without the key', async () => {
  const open = (instanceId: string, apiKey: string) =>
    createKeptFile({
      root: folder,
      instanceId,
      apiKey,
      onError: (error) => {
        throw error;
      },
    });
  const before = open('one', 'pl_key');
  await before.save({
    holders: [holder],
    checks: [check(1)],
    reportedTo: first,
    heardAt: first,
    stopsInOutages: true,
    skewMs: null,
    runs: [],
    variables: { tag: 't', list: [{ key: 'A', value: 'the-secret-of-the-account' }] },
  });
  await before.close();
  const [name = ''] = readdirSync(folder);
  expect(readFileSync(join(folder, name, 'held-apart')).includes('the-secret-of-')).toBe(false);
  // This one ends before it has saved anything itself.
  const between = open('between', 'pl_key');
  expect(await between.adopt()).toMatchObject({ checks: [check(1)] });
  await between.close();
  const after = open('two', 'pl_key');
  expect(await after.adopt()).toMatchObject({
    holders: [holder],
    checks: [check(1)],
    reportedTo: first,
    stopsInOutages: true,
    skewMs: null,
    variables: { tag: 't', list: [{ key: 'A', value: 'the-secret-of-the-account' }] },
  });
  expect(await after.adopt()).toBeNull();
  await after.save({
    holders: [holder],
    checks: [check(1)],
    reportedTo: null,
    heardAt: first,
    stopsInOutages: false,
    skewMs: null,
    runs: [],
    variables: null,
  });
  await after.close();
  expect(await open('three', 'pl_another-key').adopt()).toBeNull();
});

test('a malformed assignment does not affect the others', () => {
  const { job: _job, ...broken } = assignment(2);
  expect(readAssignments([assignment(1), broken, null])).toEqual({ checks: [check(1)], invalid: 2 });
});

test('the variables of the account are part of each run; those of its check take precedence', () => {
  const own = [{ key: 'A', value: 'own' }];
  const variables = [
    { key: 'A', value: 'shared' },
    { key: 'B', value: 'shared' },
  ];
  const made = (fields: Partial<Assignment>, shared: unknown[]) =>
    jobOf(check(1, { job: { environmentVariables: own }, ...fields }), {
      dueAt: first,
      now: first,
      variables: shared,
      tag: createTag(),
    })['environmentVariables'];
  expect(made({ sharesVariables: true }, variables)).toEqual([
    { key: 'A', value: 'own' },
    { key: 'B', value: 'shared' },
  ]);
  expect(made({ sharesVariables: true }, [])).toEqual(own);
  // The job of an earlier service has them all.
  expect(made({}, variables)).toEqual(own);
});
