import { describe, expect, it } from 'vitest';
import {
  checkSessionStatus,
  idsOfTarget,
  lastLines,
  matchesTags,
  testSessionStatus,
  type RunState,
} from '../../../src/service/sessions/rules.ts';
import { locationsOfRun } from '../../../src/protocol/schedule.ts';

/** What a trigger means and what its runs come to. */

describe('matchesTags', () => {
  const cases: [tags: string, wanted: string[][] | undefined, holds: boolean][] = [
    ['', undefined, true],
    ['a', undefined, true],
    ['a', [], true],
    ['', [['a']], false],
    ['a', [['a']], true],
    ['b', [['a']], false],
    ['a', [['a', 'b']], false],
    ['a b', [['a', 'b']], true],
    ['a b c', [['a', 'b']], true],
    ['b', [['a'], ['b']], true],
    ['c', [['a'], ['b']], false],
    ['', [['!a']], true],
    ['b', [['!a']], true],
    ['a', [['!a']], false],
    ['a b', [['a', '!b']], false],
    ['a c', [['a', '!b']], true],
    ['a b', [['!a'], ['b']], true],
    ['!a', [['!!a']], false],
    ['a', [['A']], false],
    // (a and b) or (a and c and not d)
    [
      'a b d',
      [
        ['a', 'b'],
        ['a', 'c', '!d'],
      ],
      true,
    ],
    [
      'a c',
      [
        ['a', 'b'],
        ['a', 'c', '!d'],
      ],
      true,
    ],
    [
      'a c d',
      [
        ['a', 'b'],
        ['a', 'c', '!d'],
      ],
      false,
    ],
    [
      'a',
      [
        ['a', 'b'],
        ['a', 'c', '!d'],
      ],
      false,
    ],
  ];
  it.each(cases)('a check tagged "%s" against %j: %s', (tags, wanted, holds) => {
    expect(matchesTags(tags.split(' ').filter(Boolean), wanted)).toBe(holds);
  });
});

it('restricts the checks to ids only where there are some', () => {
  expect(idsOfTarget({})).toBeNull();
  expect(idsOfTarget({ checkId: [] })).toBeNull();
  expect(idsOfTarget({ checkId: ['a'] })).toEqual(['a']);
});

describe('statuses', () => {
  const run = (text: string): RunState =>
    text === 'queued' || text === 'leased'
      ? { status: null, state: text }
      : { status: text as RunState['status'], state: null };
  it.each([
    ['queued', 'STARTED', 'RUNNING'],
    ['queued leased', 'PROGRESS', 'RUNNING'],
    ['queued passed', 'PROGRESS', 'RUNNING'],
    ['leased failed', 'PROGRESS_FAILED', 'RUNNING'],
    ['leased errored degraded', 'PROGRESS_FAILED', 'RUNNING'],
    ['leased degraded passed', 'PROGRESS_DEGRADED', 'RUNNING'],
    ['leased cancelled', 'PROGRESS', 'RUNNING'],
    ['passed', 'PASSED', 'PASSED'],
    ['passed degraded', 'DEGRADED', 'PASSED'],
    ['passed failed degraded', 'FAILED', 'FAILED'],
    ['errored', 'FAILED', 'FAILED'],
    ['passed missed', 'TIMED_OUT', 'FAILED'],
    ['failed missed', 'FAILED', 'FAILED'],
    ['failed missed cancelled', 'CANCELLED', 'CANCELLED'],
    ['passed cancelled', 'CANCELLED', 'CANCELLED'],
  ])('%s: %s, as a test session %s', (states, ofCheck, ofTest) => {
    const runs = states.split(' ').map(run);
    expect([checkSessionStatus(runs), testSessionStatus(runs)]).toEqual([ofCheck, ofTest]);
  });
});

describe('lastLines', () => {
  it.each([
    [['a', 'b', 'c'], 2, 100, ['b', 'c']],
    [['a', 'b', 'c'], 5, 100, ['a', 'b', 'c']],
    [['aaaa', 'bb', 'c'], 5, 5, ['bb', 'c']],
    [['aaaa', 'bb', 'cccccc'], 5, 5, []],
    [[], 5, 5, []],
  ])('%j, %i lines, %i characters: %j', (lines, most, chars, kept) => {
    expect(lastLines(lines, { lines: most, chars })).toEqual(kept);
  });
});

describe('locationsOfRun', () => {
  it.each([
    [{ runParallel: true, rotation: 1, locationCount: 3 }, [0, 1, 2]],
    [{ runParallel: false, rotation: 4, locationCount: 3 }, [1]],
    [{ runParallel: false, rotation: 0, locationCount: 0 }, []],
    [{ runParallel: true, rotation: 0, locationCount: 0 }, []],
  ])('%j: %j', (check, expected) => {
    expect(locationsOfRun(check)).toEqual(expected);
  });
});
