import { describe, expect, it } from 'vitest';
import { runBounded } from '../../../src/executors/assertions/bound.ts';
import { remember } from '../../../src/executors/assertions/cache.ts';
import { applyPattern, backtracking, optionalRun } from '../../../src/executors/assertions/pattern.ts';
import { findByPath } from '../../../src/executors/assertions/json-path.ts';

describe('backtracking', () => {
  it.each([
    ['"status":"(\\w+)"', { nested: false, unbounded: 1, ways: 1 }],
    ['(?:a|b)c', { nested: false, unbounded: 0, ways: 2 }],
    ['(a+)+$', { nested: true, unbounded: 2, ways: 1 }],
    ['((a+)b)*', { nested: true, unbounded: 2, ways: 1 }],
    ['(a|aa)*', { nested: true, unbounded: 1, ways: 2 }],
    ['(a?){30}a{30}', { nested: true, unbounded: 0, ways: 2 }],
    ['(?:abc){2,}', { nested: false, unbounded: 1, ways: 1 }],
    ['(a)\\1', { nested: true, unbounded: 0, ways: 1 }],
    ['[(a+)+]*', { nested: false, unbounded: 1, ways: 1 }],
    ['\\(a+\\)+', { nested: false, unbounded: 2, ways: 1 }],
    ['a{,5}', { nested: false, unbounded: 0, ways: 1 }],
    ['.*?.*.*x', { nested: false, unbounded: 3, ways: 1 }],
    ['(?:a|b|c)(?:d|e)', { nested: false, unbounded: 0, ways: 6 }],
    ['https?://.{2,5}|x{3}', { nested: false, unbounded: 0, ways: 16 }],
    ['[^\\]]+', { nested: false, unbounded: 1, ways: 1 }],
  ])('%s', (source, expected) => {
    expect(backtracking(source)).toEqual(expected);
  });
});

describe('optional parts in a row', () => {
  it.each([
    ['https?://[^/]+/?', 1],
    ['a?b?c', 2],
    ['a?b?c?d', 3],
    ['a?bc?', 1],
    ['a??[?*]?\\??', 3],
    ['x{0,3}y{0}z{2,3}', 4],
    ['x{0,9}y{0,}z{2}', 2],
    ['(?:x|y)?(a|)(?<name>b?)c*d?', 4],
    ['(a?b)?(c?d)?', 2],
    ['a?(?=b)c?', 2],
    ['(?:ab)+c?', 1],
    ['(?:(?:a?)b?)', 2],
  ])('%s', (source, run) => {
    expect(optionalRun(source)).toBe(run);
  });

  it.each([
    `${'a?'.repeat(60)}${'a'.repeat(60)}`,
    `${'a??'.repeat(60)}${'a'.repeat(60)}`,
    `${'(?:x|y)?'.repeat(60)}${'z'.repeat(10)}`,
    `${'(a|)'.repeat(60)}${'z'.repeat(10)}`,
    `${'(a?)'.repeat(60)}${'z'.repeat(10)}`,
    `${'[ab]{0,2}'.repeat(60)}${'z'.repeat(10)}`,
  ])('%s is refused before it would be translated for hours', (source) => {
    expect(applyPattern(source, 'zzz')).toEqual({
      error: expect.stringMatching(/has more than 20 optional parts in a row; join some of them$/) as unknown,
    });
  });
});

describe('a pattern or path that never finishes', () => {
  it.each([
    ['(a+)+$', `${'a'.repeat(60)}!`],
    ['(a|a?)+$', `${'a'.repeat(60)}!`],
    ['^(\\w+\\s?)*$', `${'a'.repeat(60)}!`],
    ['(?=(a+)+$)', `${'a'.repeat(60)}!`],
    ['(?:(?:a|aa){1,40}){1,40}$', `${'a'.repeat(60)}!`],
    ['.*.*.*.*=x', 'y'.repeat(3000)],
    // Without a quantifier that is unbounded or nested.
    [`${'(?:a|a)'.repeat(40)}b`, 'a'.repeat(60)],
    [`${'a?'.repeat(18)}${'a'.repeat(18)}b`, 'a'.repeat(60)],
    [`${'x{0,300}'.repeat(4)}y`, 'x'.repeat(400)],
  ])('%s is stopped', (pattern, text) => {
    expect(applyPattern(pattern, text)).toEqual({
      error: expect.stringMatching(/took longer than \d+ ms and was stopped$/) as unknown,
    });
  });

  it.each([
    ["$[?match(@, '(a+)+b')]", [`${'a'.repeat(60)}!`]],
    [`$${'[0,0]'.repeat(40)}`, JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown],
  ])('%s is stopped', (path, document) => {
    expect(findByPath(path, document)).toEqual({
      error: expect.stringMatching(/took longer than \d+ ms and was stopped$/) as unknown,
    });
  });

  it('leaves the next call unharmed', () => {
    expect(applyPattern('(a+)+$', 'aaa')).toEqual({ text: 'aaa' });
    expect(findByPath("$[?match(@, 'a+')]", ['aaa', 'b'])).toEqual({ values: ['aaa'], single: false });
    expect(() =>
      runBounded(() => {
        throw new TypeError('own');
      }, 1000),
    ).toThrow(new TypeError('own'));
  });
});

describe('many patterns that never finish', () => {
  it('get less and less time, while harmless ones go on', () => {
    const text = `${'a'.repeat(60)}!`;
    const stopped = Array.from({ length: 30 }, (_, index) => applyPattern(`(?:x${index})?(a+)+$`, text));
    const limits = stopped.map((match) =>
      Number(/than (\d+) ms/.exec('error' in match ? match.error : '')?.[1]),
    );
    expect(limits.at(-1)).toBe(6);
    expect(limits.reduce((sum, limit) => sum + limit, 0)).toBeLessThan(1000);
    expect(applyPattern('(a+)+!', text)).toEqual({ text: 'a'.repeat(60) });
    expect(applyPattern('a!$', text)).toEqual({ text: 'a!' });
  });
});

describe('remember', () => {
  it('computes a value once, and evicts the least recently used', () => {
    const made: string[] = [];
    const get = remember(2, (key) => {
      made.push(key);
      return { key };
    });
    expect([get('a'), get('b'), get('a'), get('c'), get('a'), get('b')].map((value) => value.key)).toEqual([
      'a',
      'b',
      'a',
      'c',
      'a',
      'b',
    ]);
    expect(made).toEqual(['a', 'b', 'c', 'b']);
  });
});
