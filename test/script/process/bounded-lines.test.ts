import { expect, test } from 'vitest';
import { readLines } from '../../../src/script/process/bounded-lines.ts';

function linesOf(text: string, size: number): [line: string, cut: boolean][] {
  const bytes = Buffer.from(text);
  const lines: [string, boolean][] = [];
  const reader = readLines(8, (line, cut) => lines.push([line, cut]));
  for (let from = 0; from < bytes.length; from += size) reader.push(bytes.subarray(from, from + size));
  reader.end();
  return lines;
}

test.each([1, 2, 4, 8, 9, 100])('a cut is marked wherever the pieces end: pieces of %i bytes', (size) => {
  // The scrubber finds the beginning of a secret only before a mark.
  expect(linesOf('12345678\n123456789\nabc\n\nsecret-value', size)).toEqual([
    ['12345678', false],
    ['12345678…', true],
    ['abc', false],
    ['', false],
    ['secret-v…', true],
  ]);
});
