import { afterEach, expect, test } from 'vitest';
import { createMissedReports, type MissedReports } from '../../../src/agent/keeping/missed-reports.ts';
import type { MissedRuns } from '../../../src/agent/keeping/held-checks.ts';
import { packedCheck } from './samples.ts';

/** Reports of runs that did not take place, while there is no room for them. */

const minute = 60_000;
let reports: MissedReports | null = null;
afterEach(() => reports?.stop());

function bench() {
  let isFull = true;
  let canLoad = true;
  const reported: MissedRuns[] = [];
  const faults: string[] = [];
  reports = createMissedReports({
    isFull: () => isFull,
    load: () =>
      canLoad
        ? Promise.resolve((missed: MissedRuns) => void reported.push(missed))
        : Promise.reject(new Error('a module is missing')),
    fault: ({ message }) => faults.push(message),
  });
  return {
    reports,
    reported,
    faults,
    fill: (value: boolean) => (isFull = value),
    breakModules: (value: boolean) => (canLoad = !value),
  };
}

const missed = (from: number, fields: Partial<MissedRuns> = {}): MissedRuns => ({
  check: packedCheck(),
  from: from * minute,
  to: from * minute,
  count: 1,
  code: 'NOT_CLAIMED',
  ...fields,
});
const parts = (all: readonly MissedRuns[]) =>
  all.map(({ from, to, count, code }) => [from / minute, to / minute, count, code]);

test('moments in a row are one stretch; a run that was made, a pause and another reason end it', async () => {
  const { reports: own, reported, fill } = bench();
  for (const at of [5, 6, 7]) own.add(missed(at));
  // Results that were dropped meanwhile, of runs that were due before.
  for (const at of [1, 2]) own.add(missed(at, { code: 'NO_AGENT' }));
  for (const at of [8, 10]) own.add(missed(at));
  own.add(missed(11, { to: 13 * minute, count: 3 }));
  own.add(missed(3, { code: 'NO_AGENT' }));
  expect(own.earliest()).toBe(minute);
  fill(false);
  await expect.poll(() => reported.length).toBe(3);
  expect(parts(reported)).toEqual([
    [5, 8, 4, 'NOT_CLAIMED'],
    [1, 3, 3, 'NO_AGENT'],
    [10, 13, 4, 'NOT_CLAIMED'],
  ]);
  expect(own.earliest()).toBeNull();
});

test('a run that was to be made at once is a stretch of its own', async () => {
  const { reports: own, reported, fill } = bench();
  // `packedCheck` is due at full minutes.
  for (const at of [5.5, 6, 7]) own.add(missed(at));
  fill(false);
  await expect.poll(() => reported.length).toBe(2);
  expect(parts(reported)).toEqual([
    [5.5, 5.5, 1, 'NOT_CLAIMED'],
    [6, 7, 2, 'NOT_CLAIMED'],
  ]);
});

test('a check has a limited number of stretches', async () => {
  const { reports: own, reported, fill } = bench();
  for (let at = 1; at <= 200; at += 2) own.add(missed(at));
  fill(false);
  await expect.poll(() => own.earliest()).toBeNull();
  expect(reported).toHaveLength(50);
  expect(parts(reported)[0]).toEqual([1, 199, 199, 'NOT_CLAIMED']);
});

test('a report has no more moments than the service records', async () => {
  const { reports: own, reported, fill } = bench();
  fill(false);
  own.add(missed(1, { to: 12_000 * minute, count: 12_000 }));
  await expect.poll(() => own.earliest()).toBeNull();
  expect(parts(reported)).toEqual([
    [1, 5_000, 5_000, 'NOT_CLAIMED'],
    [5_001, 10_000, 5_000, 'NOT_CLAIMED'],
    [10_001, 12_000, 2_000, 'NOT_CLAIMED'],
  ]);
});

test('what cannot be reported yet waits', async () => {
  const { reports: own, reported, faults, fill, breakModules } = bench();
  fill(false);
  breakModules(true);
  own.add(missed(1));
  await expect.poll(() => faults.length).toBe(1);
  expect(own.earliest()).toBe(minute);
  breakModules(false);
  await expect.poll(() => reported.length).toBe(1);
});
