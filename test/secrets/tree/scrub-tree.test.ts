import { expect, test } from 'vitest';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { isSensitiveHeader } from '../../../src/sensitive-headers.ts';

const M = '*********';
const scrubber = createScrubber([
  { name: 'TOKEN', value: 'walnut-tree' },
  { name: 'QUOTED', value: 'a "b"\nc\\d' },
  { name: 'NUMBER', value: '4821330917' },
  { name: 'PIN', value: '4711' },
  { name: 'SHORT', value: 'abc' },
]);

test('a tree without secrets is the same reference', () => {
  const tree = {
    a: [1, 'two', { three: null }],
    b: 'walnut',
    c: true,
    headers: { accept: '*/*' },
    d: 'abcd',
    e: 47110,
  };
  expect(scrubber.json(tree)).toBe(tree);
});

test('strings, keys and numbers, without touching the input', () => {
  const input = {
    text: 'x walnut-tree y',
    quoted: 'say a "b"\nc\\d!',
    list: ['clean', ['walnut-tree']],
    'key walnut-tree': { 'walnut-tree': 1 },
    number: 4821330917,
    pin: 4711,
    pinText: '4711',
    pinInside: 'my pin is 4711',
    short: 'abc',
    untouched: { deep: ['same'] },
  };
  const before = structuredClone(input);
  const output: unknown = scrubber.json(input);
  expect(input).toEqual(before);
  expect(output).toEqual({
    text: `x ${M} y`,
    quoted: `say ${M}!`,
    list: ['clean', [M]],
    [`key ${M}`]: { [M]: 1 },
    number: M,
    pin: M,
    pinText: M,
    pinInside: 'my pin is 4711',
    short: M,
    untouched: { deep: ['same'] },
  });
  expect((output as typeof input).untouched).toBe(input.untouched); // the same shape
});

test.each([
  ['a string', 'walnut-tree', M],
  ['a short string', 'abc', M],
  ['a number', 4711, M],
  ['another number', 4712, 4712],
  ['null', null, null],
  ['undefined', undefined, undefined],
  ['a bigint', 4821330917n, M],
])('a tree that is only %s', (_title, tree, expected) => {
  expect(scrubber.json<unknown>(tree)).toEqual(expected);
});

test('two keys that become the same mask both stay', () => {
  const output: unknown = scrubber.json({ 'walnut-tree': 1, 'walnut%2Dtree': 2 });
  expect(Object.values(output as object)).toEqual([1, 2]);
});

test('sensitive headers in maps', () => {
  expect(
    scrubber.json({
      Authorization: 'Bearer anything',
      COOKIE: 'a=b',
      'set-cookie': ['a=b', 'c=d'],
      'Proxy-Authorization': 'Basic eA==',
      'X-API-Key': 12345,
      'x-auth-token': 't',
      'Content-Type': 'text/html',
    }),
  ).toEqual({
    Authorization: M,
    COOKIE: M,
    'set-cookie': [M, M],
    'Proxy-Authorization': M,
    'X-API-Key': M,
    'x-auth-token': M,
    'Content-Type': 'text/html',
  });
});

test('sensitive headers in lists of entries, also split over two, and in flat lists', () => {
  expect(
    scrubber.json({
      har: [
        { name: 'Authorization', value: 'Bearer a' },
        { name: 'authorization', value: 'Bearer b' },
        { name: 'Accept', value: '*/*' },
      ],
      entries: [{ key: 'Cookie', value: 'a=b', locked: false }],
      before: { value: 'x', key: 'X-Api-Key' },
      raw: ['Host', 'h', 'Set-Cookie', 'a=b'],
      pairs: [
        ['Cookie', 'a=b'],
        ['Accept', '*/*'],
      ],
      names: ['Authorization', 'Cookie'],
      cookie: { parsed: 'object' },
    }),
  ).toEqual({
    har: [
      { name: 'Authorization', value: M },
      { name: 'authorization', value: M },
      { name: 'Accept', value: '*/*' },
    ],
    entries: [{ key: 'Cookie', value: M, locked: false }],
    before: { value: M, key: 'X-Api-Key' },
    raw: ['Host', 'h', 'Set-Cookie', M],
    pairs: [
      ['Cookie', M],
      ['Accept', '*/*'],
    ],
    names: ['Authorization', 'Cookie'],
    cookie: { parsed: 'object' },
  });
});

test('a tree that was scrubbed before is not changed', () => {
  const once = scrubber.json({
    headers: { cookie: 'a=b' },
    list: [{ name: 'cookie', value: 'c' }],
    t: 'walnut-tree',
  });
  expect(scrubber.json(once)).toBe(once);
});

test('objects that write themselves, bytes, and __proto__ as a key', () => {
  const url = new URL('https://me:walnut-tree@host/');
  const date = new Date(0);
  const output = scrubber.json({
    url,
    date,
    bytes: Buffer.from('walnut-tree'),
    parsed: JSON.parse('{"__proto__":"walnut-tree"}') as unknown,
  });
  expect(JSON.stringify(output)).not.toContain('walnut-tree');
  expect(output.url).toBe(`https://me:${M}@host/`);
  expect(output.date).toBe(date);
  expect(output.bytes).toEqual(Buffer.from(M));
  expect(Object.getOwnPropertyDescriptor(output.parsed, '__proto__')?.value).toBe(M);
});

test('handles trees that are circular or endlessly deep', () => {
  const loop: Record<string, unknown> = { text: 'walnut-tree' };
  loop['self'] = loop;
  expect(scrubber.json(loop)).toEqual({ text: M, self: M });
  let deep: unknown = 'walnut-tree';
  for (let i = 0; i < 20_000; i++) deep = [deep];
  expect(JSON.stringify(scrubber.json(deep))).not.toContain('walnut-tree');
});

test('without any secret sensitive headers are masked all the same', () => {
  const none = createScrubber([]);
  expect(none.json({ cookie: 'a=b', x: 'y' })).toEqual({ cookie: M, x: 'y' });
  const tree = { x: ['y', 1] };
  expect(none.json(tree)).toBe(tree);
});

test('names of sensitive headers', () => {
  const names = ['Authorization', 'cookie', 'SET-COOKIE', 'Proxy-Authorization', 'x-api-key', 'X-Auth-Token'];
  expect(names.map(isSensitiveHeader)).toEqual(names.map(() => true));
  const others = ['accept', 'authorizatio', '', 'cookies', 'content-type', 'x'.repeat(45)];
  expect(others.map(isSensitiveHeader)).toEqual(others.map(() => false));
});
