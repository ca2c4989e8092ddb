import { expect, test } from 'vitest';
import { isNestedDeeper } from '../src/json-values.ts';

test.each([
  ['[[[]]]', 3, false],
  ['[[[]]]', 2, true],
  ['{"a":{"b":[1]}}', 3, false],
  ['{"a":{"b":[1]}}', 2, true],
  // Brackets within strings open nothing, also after an escaped quote.
  ['"[[[[[["', 1, false],
  ['["\\"[[[[","\\\\",["x"]]', 2, false],
  ['["\\\\",[[1]]]', 2, true],
  // Levels that have been closed do not count.
  ['[[],[],[],{},{}]', 2, false],
  ['', 0, false],
  ['[', 0, true],
  ['"unfinished \\', 1, false],
])('%s is nested more than %i levels: %s', (text, most, expected) => {
  expect(isNestedDeeper(text, most)).toBe(expected);
});

test('a text that is millions of levels deep is refused at the first level too many', () => {
  expect(isNestedDeeper('['.repeat(3_000_000), 100)).toBe(true);
});
