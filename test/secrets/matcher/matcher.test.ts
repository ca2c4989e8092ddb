import { expect, test } from 'vitest';
import { createMatcher } from '../../../src/secrets/matcher/matcher.ts';
import { seededRandom } from '../through.ts';
import { processorMs } from '../../helpers/processor-time.ts';

/** The same question, answered by looking everywhere for everything. */
function slowly(patterns: readonly string[], text: string): number[] {
  const covered = new Uint8Array(text.length);
  const joined = new Uint8Array(text.length + 1);
  for (const pattern of patterns) {
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + 1)) {
      covered.fill(1, at, at + pattern.length);
      joined.fill(1, at + 1, at + pattern.length);
    }
  }
  const spans: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (covered[i] === 0) continue;
    if (joined[i] === 0) spans.push(i, i + 1);
    else spans[spans.length - 1] = i + 1;
  }
  return spans;
}

function find(patterns: readonly string[], text: string): number[] {
  const matcher = createMatcher(patterns.map((pattern) => ({ bytes: Buffer.from(pattern, 'latin1') })));
  const bytes = Buffer.from(text, 'latin1');
  const spans: number[] = [];
  matcher.find(bytes, { from: 0, until: bytes.length, end: bytes.length }, spans);
  return spans;
}

test('finds the same as a slow search, in texts of few letters with many overlaps', () => {
  const random = seededRandom(3);
  const word = (letters: number, length: number): string =>
    Array.from({ length }, () => String.fromCharCode(97 + Math.floor(random() * letters))).join('');
  for (let round = 0; round < 300; round++) {
    const letters = 1 + Math.floor(random() * 4);
    const count = 1 + Math.floor(random() * 12);
    const patterns = Array.from({ length: count }, () => word(letters, 3 + Math.floor(random() * 30)));
    // Long texts take the path of four lanes.
    const pieces = Array.from({ length: round % 10 === 0 ? 800 : 20 }, () =>
      random() < 0.5
        ? (patterns[Math.floor(random() * count)] ?? '')
        : word(letters, Math.floor(random() * 20)),
    );
    const text = pieces.join('');
    expect(find(patterns, text)).toEqual(slowly(patterns, text));
  }
});

test('parts of a match may be kept', () => {
  const matcher = createMatcher([{ bytes: Buffer.from('"pin"'), lead: 1, trail: 1 }]);
  const spans: number[] = [];
  matcher.find(Buffer.from('a "pin" b'), { from: 0, until: 9, end: 9 }, spans);
  expect(spans).toEqual([3, 6]);
});

test('without patterns, finds nothing; refuses a pattern that is too short', () => {
  expect(find([], 'some text')).toEqual([]);
  expect(() => createMatcher([{ bytes: Buffer.from('ab') }])).toThrow(RangeError);
});

/** Fails only where the cost is out of all proportion: seconds instead of milliseconds. */
function withinSeconds(seconds: number, work: () => void): void {
  expect(processorMs(work)).toBeLessThan(seconds * 1000);
}

test('a text of one character against long secrets of that character', () => {
  const secrets = ['a'.repeat(65_536), 'a'.repeat(30_000), `${'a'.repeat(20_000)}b${'a'.repeat(20_000)}`];
  const text = 'a'.repeat(1_000_000);
  withinSeconds(8, () => expect(find(secrets, text)).toEqual([0, text.length]));
  const miss = `${'a'.repeat(29_999)}c`.repeat(20);
  withinSeconds(8, () => expect(find(secrets, miss)).toEqual([]));
});

test('ten thousand secrets with the same prefix, in a text of only that prefix', () => {
  const random = seededRandom(5);
  const prefix = 'a'.repeat(40);
  const secrets = Array.from(
    { length: 10_000 },
    () => prefix + random().toString(36).slice(2).padEnd(12, 'z'),
  );
  const text = `${'a'.repeat(1_000_000)}${secrets[77]}`;
  withinSeconds(8, () => expect(find(secrets, text)).toEqual([1_000_000, text.length]));
});

test('a staircase of a thousand lengths of one character', () => {
  const secrets = Array.from({ length: 1000 }, (_, i) => 'x'.repeat(i + 6));
  withinSeconds(8, () => expect(find(secrets, `.${'x'.repeat(500_000)}.`)).toEqual([1, 500_001]));
  withinSeconds(8, () => expect(find(secrets, '.xxxxx'.repeat(10_000))).toEqual([]));
});

test('a long pattern is compared completely, though only its prefix is indexed', () => {
  const random = seededRandom(9);
  const long = Array.from({ length: 70_000 }, () => String.fromCharCode(33 + Math.floor(random() * 90))).join(
    '',
  );
  const almost = `${long.slice(0, -1)}\x7f`;
  expect(find([long], `.${almost}.${long}.`)).toEqual([70_002, 140_002]);
});
