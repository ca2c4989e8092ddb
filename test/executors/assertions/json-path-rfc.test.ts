import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findByPath } from '../../../src/executors/assertions/json-path.ts';
import { evaluateAssertions } from '../../../src/executors/assertions/evaluate.ts';

/**
 * The examples of RFC 9535, through the function that assertions use. The community's compliance suite
 * comes with a package that is itself tested by it; JSONPATH_SUITE=path/to/cts.json runs another version of the suite.
 */

/** The values at a path. A busy machine may stop a path at its time limit, which is no subject of this file. */
const valuesOf = (path: string, document: unknown, tries = 50): unknown[] => {
  const found = findByPath(path, document);
  if ('values' in found) return found.values;
  if (tries > 0 && found.error.includes('took longer than')) return valuesOf(path, document, tries - 1);
  throw new Error(found.error);
};

const book = (category: string, author: string, title: string, price: number, isbn?: string) =>
  isbn === undefined ? { category, author, title, price } : { category, author, title, isbn, price };
const books = [
  book('reference', 'Nigel Rees', 'Sayings of the Century', 8.95),
  book('fiction', 'Evelyn Waugh', 'Sword of Honour', 12.99),
  book('fiction', 'Herman Melville', 'Moby Dick', 8.99, '0-553-21311-3'),
  book('fiction', 'J. R. R. Tolkien', 'The Lord of the Rings', 22.99, '0-395-19395-8'),
];
const bicycle = { color: 'red', price: 399 };
const store = { store: { book: books, bicycle } };
const names = { o: { 'j j': { 'k.k': 3 } }, "'": { '@': 2 } };
const objects = { o: { j: 1, k: 2 }, a: [5, 3] };
const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const filtered = {
  a: [3, 5, 1, 2, 4, 6, { b: 'j' }, { b: 'k' }, { b: {} }, { b: 'kilo' }],
  o: { p: 1, q: 2, r: 3, s: 5, t: { u: 6 } },
  e: 'f',
};
const compared = { obj: { x: 'y' }, arr: [2, 3] };
const descended = { o: { j: 1, k: 2 }, a: [5, 3, [{ j: 4 }, { k: 6 }]] };
const nulls = { a: null, b: [null], c: [{}], null: 1 };
const [, , third, fourth] = books;

const selections: readonly (readonly [path: string, document: unknown, values: unknown[]])[] = [
  // Section 1.5
  ['$.store.book[*].author', store, books.map(({ author }) => author)],
  ['$..author', store, books.map(({ author }) => author)],
  ['$.store.*', store, [books, bicycle]],
  ['$.store..price', store, [8.95, 12.99, 8.99, 22.99, 399]],
  ['$..book[2]', store, [third]],
  ['$..book[2].author', store, ['Herman Melville']],
  ['$..book[2].publisher', store, []],
  ['$..book[-1]', store, [fourth]],
  ['$..book[0,1]', store, books.slice(0, 2)],
  ['$..book[:2]', store, books.slice(0, 2)],
  ['$..book[?@.isbn]', store, [third, fourth]],
  ['$..book[?@.price<10]', store, [books[0], third]],
  // 2.2, 2.3.1, 2.3.2, 2.3.3
  ['$', { k: 'v' }, [{ k: 'v' }]],
  ["$.o['j j']", names, [{ 'k.k': 3 }]],
  ["$.o['j j']['k.k']", names, [3]],
  ['$.o["j j"]["k.k"]', names, [3]],
  ['$["\'"]["@"]', names, [2]],
  ['$[*]', objects, [{ j: 1, k: 2 }, [5, 3]]],
  ['$.o[*]', objects, [1, 2]],
  ['$.o[*, *]', objects, [1, 2, 1, 2]],
  ['$.a[*]', objects, [5, 3]],
  ['$[1]', ['a', 'b'], ['b']],
  ['$[-2]', ['a', 'b'], ['a']],
  // 2.3.4
  ['$[1:3]', letters, ['b', 'c']],
  ['$[5:]', letters, ['f', 'g']],
  ['$[1:5:2]', letters, ['b', 'd']],
  ['$[5:1:-2]', letters, ['f', 'd']],
  ['$[::-1]', letters, letters.toReversed()],
  ['$[1:3:0]', letters, []],
  // 2.3.5
  ["$.a[?@.b == 'kilo']", filtered, [{ b: 'kilo' }]],
  ["$.a[?(@.b == 'kilo')]", filtered, [{ b: 'kilo' }]],
  ['$.a[?@>3.5]', filtered, [5, 4, 6]],
  ['$.a[?@.b]', filtered, [{ b: 'j' }, { b: 'k' }, { b: {} }, { b: 'kilo' }]],
  ['$[?@.*]', filtered, [filtered.a, filtered.o]],
  ['$[?@[?@.b]]', filtered, [filtered.a]],
  ['$.o[?@<3, ?@<3]', filtered, [1, 2, 1, 2]],
  ['$.a[?@<2 || @.b == "k"]', filtered, [1, { b: 'k' }]],
  ['$.a[?match(@.b, "[jk]")]', filtered, [{ b: 'j' }, { b: 'k' }]],
  ['$.a[?search(@.b, "[jk]")]', filtered, [{ b: 'j' }, { b: 'k' }, { b: 'kilo' }]],
  ['$.o[?@>1 && @<4]', filtered, [2, 3]],
  ['$.o[?@.u || @.x]', filtered, [{ u: 6 }]],
  ['$.a[?@.b == $.x]', filtered, [3, 5, 1, 2, 4, 6]],
  ['$.a[?@ == @]', filtered, filtered.a],
  // 2.5
  ['$[0, 3]', letters, ['a', 'd']],
  ['$[0:2, 5]', letters, ['a', 'b', 'f']],
  ['$[0, 0]', letters, ['a', 'a']],
  ['$..j', descended, [1, 4]],
  ['$..[0]', descended, [5, { j: 4 }]],
  ['$..o', descended, [{ j: 1, k: 2 }]],
  ['$.o..[*, *]', descended, [1, 2, 1, 2]],
  ['$.a..[0, 1]', descended, [5, 3, { j: 4 }, { k: 6 }]],
  // 2.6
  ['$.a', nulls, [null]],
  ['$.a[0]', nulls, []],
  ['$.a.d', nulls, []],
  ['$.b[0]', nulls, [null]],
  ['$.b[*]', nulls, [null]],
  ['$.b[?@]', nulls, [null]],
  ['$.b[?@==null]', nulls, [null]],
  ['$.c[?@.d==null]', nulls, []],
  ['$.null', nulls, [1]],
];

test.each(selections)('%s', (path, document, values) => {
  expect(valuesOf(path, document)).toEqual(values);
});

/** Section 2.3.5.3: comparisons within a filter; each is true or false for the whole document. */
test.each([
  ['$.absent1 == $.absent2', true],
  ['$.absent1 <= $.absent2', true],
  ["$.absent == 'g'", false],
  ['$.absent1 != $.absent2', false],
  ["$.absent != 'g'", true],
  ['1 <= 2', true],
  ['1 > 2', false],
  ["13 == '13'", false],
  ["'a' <= 'b'", true],
  ["'a' > 'b'", false],
  ['$.obj == $.arr', false],
  ['$.obj != $.arr', true],
  ['$.obj == $.obj', true],
  ['$.obj != $.obj', false],
  ['$.arr == $.arr', true],
  ['$.arr == 17', false],
  ['$.obj <= $.arr', false],
  ['$.obj < $.arr', false],
  ['$.obj <= $.obj', true],
  ['1 <= $.arr', false],
  ['1 >= $.arr', false],
  ['true <= true', true],
  ['true > true', false],
  ['length($.arr) == 2 && count($.*) == 2 && value($..x) == "y"', true],
])('%s is %s', (comparison, holds) => {
  expect(valuesOf(`$[?${comparison}]`, compared).length).toBe(holds ? 2 : 0);
});

test.each([
  '',
  '$.',
  '$..',
  '$[',
  '$[]',
  '$.[a]',
  '$[01]',
  '$[-0]',
  '$[1.0]',
  "$['a",
  '$["a\']',
  '$ ',
  ' $',
  '$.a ',
  '$.1a',
  '$[9007199254740992]',
  '$[-9007199254740992]',
  '$[1:2:3:4]',
  '$[a]',
  "$['\\x']",
  "$['\\ud800']",
  '$."a"',
  '$a',
  '$[?]',
  '$[?1]',
  "$[?'a']",
  '$[?@.a=1]',
  '$[?@.*==1]',
  '$[?@..a==1]',
  '$[?@[0:1]==1]',
  '$[?true]',
  '$[?@.a==[1]]',
  '$[?length(@.*)<3]',
  '$[?count(1)>2]',
  "$[?match(@.a,'x')==true]",
  '$[?length(@.a)]',
  '$[?value(@.a)]',
  '$[?nothing(@.a)]',
  '$[?count(@.a) (1)]',
  '$[?@.a==01]',
  '$[?@.a==1.]',
  '$[?@.a==.1]',
  '$[?(@.a]',
  '$[? !@.a==1]',
  '$[?1==!@.a]',
  '$[?@.b && (@.c || !@.a<1)]',
  '$[?@.a==1==2]',
  '$[?@[?!@.x!=2]]',
])('not well-formed: %s', (path) => {
  expect(findByPath(path, { a: 1 })).toEqual({
    error: expect.stringMatching(/is not valid|must start with \$/),
  });
});

test('assertions use the same paths', () => {
  const [result] = evaluateAssertions(
    [
      {
        source: 'JSON_BODY',
        property: '$.store.book[?@.price<10].title',
        comparison: 'EQUALS',
        target: '["Sayings of the Century","Moby Dick"]',
        regex: null,
      },
    ],
    { JSON_BODY: () => ({ value: store }) },
  );
  expect(result?.actual).toEqual(['Sayings of the Century', 'Moby Dick']);
});

type Case = {
  name: string;
  selector: string;
  document?: unknown;
  result?: unknown[];
  results?: unknown[][];
  invalid_selector?: boolean;
};
const packaged = 'node_modules/jsonpath-rfc9535/src/__tests__/jsonpath-compliance-test-suite/cts.json';
// eslint-disable-next-line node/no-process-env -- an option of this test alone
const suite = process.env['JSONPATH_SUITE'] ?? resolve(import.meta.dirname, '../../..', packaged);

describe('the compliance suite', () => {
  const cases = (JSON.parse(readFileSync(suite, 'utf8')) as { tests: Case[] }).tests; // of its schema
  test('is whole', () => expect(cases.length).toBeGreaterThan(680));
  test.each(cases.map((each) => [each.name, each] as const))('%s', (_name, each) => {
    if (each.invalid_selector === true) {
      expect(findByPath(each.selector, each.document)).toHaveProperty('error');
      return;
    }
    expect(each.results ?? [each.result]).toContainEqual(valuesOf(each.selector, each.document));
  });
});
