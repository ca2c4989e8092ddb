import { describe, expect, it, test } from 'vitest';
import { evenly } from '../../../src/service/scheduling/gaps.ts';
import { holderOf, withOwnPlaces, type Member } from '../../../src/service/keeping/hand-out.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';

const checks = Array.from({ length: 4_000 }, () => ({ id: uuidv7(), checkType: 'URL' }));
const member = (weight: number, checkTypes = ['URL']): Member => ({
  id: uuidv7(),
  place: uuidv7(),
  weight,
  checkTypes,
});
const holders = (members: readonly Member[]) => checks.map((check) => holderOf(check, members));
const shareOf = (id: string, members: readonly Member[]) =>
  holders(members).filter((holder) => holder === id).length / checks.length;

test('agents get checks in proportion to their slots', () => {
  const [small, large] = [member(50), member(150)];
  expect(shareOf(small.id, [small, large])).toBeGreaterThan(0.21);
  expect(shareOf(small.id, [small, large])).toBeLessThan(0.29);
});

test('an agent that joins takes its share for itself, and nothing else moves', () => {
  const two = [member(100), member(100)];
  const joined = member(100);
  const before = holders(two);
  const after = holders([...two, joined]);
  const moved = after.filter((holder, index) => holder !== before[index]);
  expect(new Set(moved)).toEqual(new Set([joined.id]));
  expect(moved.length / checks.length).toBeLessThan(1 / 3 + 0.04);
  // When it leaves, the others have exactly what they had.
  expect(holders(two)).toEqual(before);
});

test('only agents that run the type and have slots get a check', () => {
  const able = member(1, ['TCP', 'URL']);
  const others = [member(100, ['TCP']), member(0, ['URL'])];
  expect(new Set(holders([...others, able]))).toEqual(new Set([able.id]));
  expect(holders(others).every((holder) => holder === null)).toBe(true);
});

test('of two living agents at one place, the one that it is named after stays there, or else the last one', () => {
  const [owner, copy, other] = ['01', '02', '03'].map((id) => ({ id, place: '01' }));
  const placesOf = (members: readonly ({ id: string; place: string } | undefined)[]) =>
    withOwnPlaces(members.flatMap((one) => one ?? [])).map(({ id, place }) => `${id} ${place}`);
  expect(placesOf([copy, owner, other])).toEqual(['02 02', '01 01', '03 03']);
  expect(placesOf([copy, other])).toEqual(['02 02', '03 01']);
  expect(placesOf([other, copy])).toEqual(['03 01', '02 02']);
});

test('the order of the agents does not matter', () => {
  const three = [member(10), member(20), member(30)];
  expect(holders(three.toReversed())).toEqual(holders(three));
});

describe('a stretch in parts that begin at moments of the check', () => {
  const schedule = { intervalSeconds: 60, offsetSeconds: 6 };
  it.each([
    [6_000, 126_000, [[6_000, 126_000]]],
    // The first one is between two moments: the check was to run at once.
    [
      20_000,
      126_000,
      [
        [20_000, 20_000],
        [66_000, 126_000],
      ],
    ],
    [20_000, 20_000, [[20_000, 20_000]]],
    [20_000, 6_000, []],
  ])('from %i to %i', (from, to, parts) => {
    expect(evenly({ from, to }, schedule).map((part) => [part.from, part.to])).toEqual(parts);
  });
});
