import { describe, expect, it } from 'vitest';
import { evaluateAssertions, type AssertionSources } from '../../../src/executors/assertions/evaluate.ts';
import { parseJsonDocument } from '../../../src/executors/assertions/json-path-document.ts';
import { comparisons, type Assertion, type Comparison } from '../../../src/protocol/assertions.ts';
import { processorMs } from '../../helpers/processor-time.ts';

const json = (document: unknown): AssertionSources => ({ JSON_BODY: () => ({ value: document }) });

function assertion(fields: Partial<Assertion>): Assertion {
  return { source: 'JSON_BODY', property: '$', comparison: 'EQUALS', target: '', regex: null, ...fields };
}

function errorOf(fields: Partial<Assertion>, sources: AssertionSources): string | null {
  const [result] = evaluateAssertions([assertion(fields)], sources);
  if (result === undefined) throw new Error('no result');
  return result.error;
}

const holds = (fields: Partial<Assertion>, sources: AssertionSources): boolean =>
  errorOf(fields, sources) === null;

describe('evaluateAssertions', () => {
  it('returns every assertion in order with the actual value and the error', () => {
    const sources: AssertionSources = {
      STATUS_CODE: () => ({ value: 503 }),
      RESPONSE_TIME: () => ({ value: 120.5 }),
      JSON_BODY: () => ({ error: 'the body is not JSON' }),
    };
    expect(
      evaluateAssertions(
        [
          assertion({ source: 'STATUS_CODE', property: '', target: '200' }),
          assertion({ source: 'RESPONSE_TIME', property: '', comparison: 'LESS_THAN', target: '200' }),
          assertion({ property: '$.ok', comparison: 'IS_NULL' }),
        ],
        sources,
      ),
    ).toEqual([
      {
        source: 'STATUS_CODE',
        property: '',
        comparison: 'EQUALS',
        target: '200',
        regex: null,
        actual: 503,
        error: 'expected status code to equal "200", but was 503',
      },
      {
        source: 'RESPONSE_TIME',
        property: '',
        comparison: 'LESS_THAN',
        target: '200',
        regex: null,
        actual: 120.5,
        error: null,
      },
      {
        source: 'JSON_BODY',
        property: '$.ok',
        comparison: 'IS_NULL',
        target: '',
        regex: null,
        actual: null,
        error: 'the body is not JSON',
      },
    ]);
  });

  it('asks a source only for assertions that use it', () => {
    let asked = 0;
    const sources: AssertionSources = {
      STATUS_CODE: () => ({ value: 200 }),
      JSON_BODY: () => {
        asked++;
        return { value: {} };
      },
    };
    evaluateAssertions([], sources);
    evaluateAssertions([assertion({ source: 'STATUS_CODE', target: '200' })], sources);
    expect(asked).toBe(0);
  });

  it('answers an unknown source or comparison of a job with a sentence', () => {
    const sources = json(1);
    // A newer service may send what this agent does not know.
    expect(errorOf({ source: 'COOKIE' as 'HEADERS' }, sources)).toBe(
      'the source "COOKIE" does not exist for this check; its sources are JSON_BODY',
    );
    expect(errorOf({ source: 'constructor' as 'HEADERS' }, sources)).toContain(
      'does not exist for this check',
    );
    expect(errorOf({ comparison: 'MATCHES' as 'EQUALS' }, sources)).toMatch(
      /^the comparison "MATCHES" is unknown; use one of EQUALS, /,
    );
    expect(errorOf({ comparison: 'toString' as 'EQUALS' }, sources)).toContain('is unknown');
  });
});

describe('comparisons on one value', () => {
  type Row = [value: unknown, comparison: Comparison, target: string, holds: boolean];
  const rows: Row[] = [
    // equality by kind
    [200, 'EQUALS', '200', true],
    [200, 'EQUALS', ' 200.0 ', true],
    [200, 'EQUALS', '2e2', true],
    [200, 'EQUALS', '0xc8', true],
    [8, 'EQUALS', '0o10', true],
    [5, 'EQUALS', '0b101', true],
    [200, 'EQUALS', '', false],
    [0, 'EQUALS', '', false],
    [0, 'EQUALS', '-0', true],
    [200, 'EQUALS', '200ms', false],
    [1.1, 'EQUALS', '1.10', true],
    [0.1 + 0.2, 'EQUALS', '0.3', false],
    [1700000000123, 'EQUALS', '1700000000123', true],
    [1e21, 'EQUALS', '1000000000000000000000', true],
    ['200', 'EQUALS', '200', true],
    ['200', 'EQUALS', '200.0', false],
    ['1.10', 'EQUALS', '1.1', false],
    ['', 'EQUALS', '', true],
    ['Ünïcode 日本', 'EQUALS', 'Ünïcode 日本', true],
    ['null', 'EQUALS', 'null', true],
    [true, 'EQUALS', 'true', true],
    [true, 'EQUALS', '1', false],
    [false, 'NOT_EQUALS', 'true', true],
    [null, 'EQUALS', 'null', true],
    [null, 'EQUALS', '', false],
    [null, 'NOT_EQUALS', 'x', true],
    [{ a: 1, b: [2] }, 'EQUALS', '{ "b": [2], "a": 1 }', true],
    [{ a: 1 }, 'EQUALS', '{"a":1,"b":2}', false],
    [{ a: 1 }, 'EQUALS', 'a', false],
    // order
    [500, 'GREATER_THAN', '499.9', true],
    [500, 'GREATER_THAN', '500', false],
    [500, 'LESS_THAN', '500', false],
    [499, 'LESS_THAN', '500', true],
    [-1, 'LESS_THAN', '0', true],
    ['10', 'GREATER_THAN', '9', true],
    ['abc', 'GREATER_THAN', '1', false],
    ['', 'LESS_THAN', '1', false],
    [null, 'LESS_THAN', '1', false],
    [true, 'GREATER_THAN', '0', false],
    [10, 'GREATER_THAN', 'abc', false],
    [10, 'LESS_THAN', 'abc', false],
    // keys and values
    [{ a: null }, 'HAS_KEY', 'a', true],
    [{ a: 1 }, 'HAS_KEY', 'toString', false],
    [{ a: 1 }, 'NOT_HAS_KEY', 'b', true],
    ['a', 'HAS_KEY', 'a', false],
    ['a', 'NOT_HAS_KEY', 'a', true],
    [{ a: 1, b: 'x' }, 'HAS_VALUE', 'x', true],
    [{ a: 1, b: 'x' }, 'HAS_VALUE', '1', true],
    [{ a: 1 }, 'NOT_HAS_VALUE', '1', false],
    [['a', 2], 'HAS_VALUE', '2', true],
    [['a', 2], 'NOT_HAS_VALUE', 'b', true],
    ['a', 'HAS_VALUE', 'a', true],
    ['a', 'HAS_VALUE', 'b', false],
    [{ a: 1 }, 'NOT_HAS_KEY', 'a', false],
    // emptiness
    ['', 'IS_EMPTY', '', true],
    [[], 'IS_EMPTY', '', true],
    [{}, 'IS_EMPTY', '', true],
    [null, 'IS_EMPTY', '', true],
    [0, 'IS_EMPTY', '', false],
    [false, 'NOT_EMPTY', '', true],
    [[0], 'NOT_EMPTY', '', true],
    [[], 'NOT_EMPTY', '', false],
    // containment
    ['hello world', 'CONTAINS', 'lo w', true],
    ['hello', 'NOT_CONTAINS', 'x', true],
    ['hello', 'NOT_CONTAINS', 'ell', false],
    [['foo', 'bar'], 'CONTAINS', 'foo', true],
    [['foobar'], 'CONTAINS', 'foo', false],
    [[1, 2], 'NOT_CONTAINS', '3', true],
    [12345, 'CONTAINS', '234', true],
    [{ state: { up: true } }, 'CONTAINS', '"up":true', true],
    [null, 'CONTAINS', 'null', false],
    // null
    [null, 'IS_NULL', '', true],
    ['', 'IS_NULL', '', false],
    [0, 'NOT_NULL', '', true],
    [null, 'NOT_NULL', '', false],
    [[], 'NOT_NULL', '', true],
    // each element of one array
    [[1, 1], 'EQUALS', '1', true],
    [[1, 2], 'EQUALS', '1', false],
    [[1, 2], 'NOT_EQUALS', '3', true],
    [[1, 2], 'NOT_EQUALS', '2', false],
    [[3, 4], 'GREATER_THAN', '2', true],
    [[3, 1], 'GREATER_THAN', '2', false],
    [[{ id: 1 }, { id: 2 }], 'HAS_KEY', 'id', true],
    [[{ id: 1 }, {}], 'HAS_KEY', 'id', false],
    [[{ id: 1 }, {}], 'NOT_HAS_KEY', 'x', true],
    // the array as a whole
    [[1, 2], 'EQUALS', '[1, 2]', true],
    [[1, 2], 'EQUALS', '[2, 1]', false],
    [[], 'EQUALS', '[]', true],
    [[1], 'NOT_EQUALS', '[]', true],
    [[], 'EQUALS', '1', false],
    [[], 'NOT_EQUALS', '1', true],
  ];

  it.each(rows)('%j %s %j is %s', (value, comparison, target, expected) => {
    expect(holds({ comparison, target }, json(value))).toBe(expected);
  });

  it('has a case for every comparison, both ways', () => {
    const seen = (expected: boolean): Comparison[] => [
      ...new Set(rows.filter((row) => row[3] === expected).map((row) => row[1])),
    ];
    expect(seen(true).sort()).toEqual([...comparisons].sort());
    expect(seen(false).sort()).toEqual([...comparisons].sort());
  });

  it('compares every digit of long ids when the document kept them', () => {
    const sources = json(parseJsonDocument('{"id": 12345678901234567891, "text": "12345678901234567899"}'));
    expect(holds({ property: '$.id', target: '12345678901234567891' }, sources)).toBe(true);
    expect(holds({ property: '$.id', target: '12345678901234567890' }, sources)).toBe(false);
    expect(
      holds({ property: '$.id', comparison: 'GREATER_THAN', target: '12345678901234567890' }, sources),
    ).toBe(true);
    expect(holds({ property: '$.text', target: '12345678901234567899' }, sources)).toBe(true);
    const [whole] = evaluateAssertions([assertion({ comparison: 'NOT_NULL' })], sources);
    expect(JSON.stringify(whole?.actual)).toContain('12345678901234567891');
  });

  it('takes endless digits for no number, without reading them', () => {
    const ms = processorMs(() => {
      const [result] = evaluateAssertions(
        [assertion({ source: 'TEXT_BODY', comparison: 'GREATER_THAN', target: '5', property: '' })],
        { TEXT_BODY: () => ({ value: '9'.repeat(10_000_000) }) },
      );
      expect(result?.error).toMatch(/\(it is not a number\)$/);
    });
    expect(ms).toBeLessThan(1000);
  });

  it('names the expected and the actual value', () => {
    const sources = json({ list: [1, 2, 'x'], name: 'n'.repeat(500), none: null });
    const expectError = (fields: Partial<Assertion>) => expect(errorOf(fields, sources));
    expectError({ property: '$.list', comparison: 'GREATER_THAN', target: '0' }).toBe(
      'expected JSON body at $.list to be greater than "0", but value 3 of 3 was "x" (it is not a number)',
    );
    expectError({ property: '$.none', comparison: 'NOT_NULL' }).toBe(
      'expected JSON body at $.none not to be null, but was null',
    );
    expectError({ property: '$.name', target: 'm' }).toBe(
      `expected JSON body at $.name to equal "m", but was "${'n'.repeat(199)}…`,
    );
    expectError({ property: '$.gone', target: 'm' }).toBe(
      'expected JSON body at $.gone to equal "m", but nothing was found',
    );
    expectError({ property: '$.list[0]', comparison: 'LESS_THAN', target: 'two' }).toBe(
      'expected JSON body at $.list[0] to be less than "two", but was 1 (the target "two" is not a number)',
    );
  });
});

describe('JSON sources', () => {
  const books = json({
    store: {
      book: [
        { price: 8, tags: ['a', 'b'] },
        { price: 12, tags: ['a'] },
        { price: 22.5, tags: [] },
      ],
    },
    length: 7,
  });

  it.each<[path: string, comparison: Comparison, target: string, expected: boolean]>([
    ['$.store.book[*].price', 'GREATER_THAN', '7', true],
    ['$.store.book[*].price', 'GREATER_THAN', '8', false],
    ['$..price', 'LESS_THAN', '23', true],
    ['$.store.book[?(@.price<10 && @.price>1)].price', 'EQUALS', '8', true],
    ['$.store.book[0:2].price', 'LESS_THAN', '13', true],
    ['$.store.book[0,2].price', 'NOT_EQUALS', '12', true],
    ['$.store.book[-1].price', 'EQUALS', '22.5', true],
    ['$.store.book.length', 'EQUALS', '3', true],
    ['$.store.book[*].tags.length', 'LESS_THAN', '3', true],
    ['$.store.book[?(@.tags.length > 1)].price', 'EQUALS', '8', true],
    ['$.store.book[?(!(@.tags.length > 0))].price', 'EQUALS', '22.5', true],
    ['$.length', 'EQUALS', '7', true],
    ['$.store.book[0].tags', 'CONTAINS', 'b', true],
    ['$.store.book[*].tags', 'IS_EMPTY', '', false],
    ['', 'HAS_KEY', 'store', true],
    ['$', 'HAS_KEY', 'store', true],
    // nothing found
    ['$.gone', 'IS_NULL', '', true],
    ['$.gone', 'NOT_NULL', '', false],
    ['$.store.book[?@.price > 100]', 'IS_EMPTY', '', true],
    ['$.store.book[?@.price > 100]', 'NOT_EMPTY', '', false],
    ['$.gone', 'EQUALS', '', false],
    ['$.gone', 'NOT_EQUALS', 'x', true],
    ['$.gone', 'GREATER_THAN', '-1', false],
    ['$.gone', 'LESS_THAN', '1', false],
    ['$.gone', 'CONTAINS', '', false],
    ['$.gone', 'NOT_CONTAINS', 'x', true],
    ['$.gone', 'HAS_KEY', 'x', false],
    ['$.gone', 'NOT_HAS_KEY', 'x', true],
    ['$.gone', 'HAS_VALUE', 'x', false],
    ['$.gone', 'NOT_HAS_VALUE', 'x', true],
  ])('%s %s %j is %s', (property, comparison, target, expected) => {
    expect(holds({ property, comparison, target }, books)).toBe(expected);
  });

  it('shows one value as itself and several as a list', () => {
    const actual = (property: string) => evaluateAssertions([assertion({ property })], books)[0]?.actual;
    expect(actual('$.store.book[0].price')).toBe(8);
    expect(actual('$..price')).toEqual([8, 12, 22.5]);
    expect(actual('$.gone')).toBe(null);
  });

  it.each([
    ['store.book', 'the JSONPath "store.book" must start with $'],
    ['$.store[', /^the JSONPath "\$\.store\[" is not valid: /],
    ['$[?unknown(@)]', /^the JSONPath "\$\[\?unknown\(@\)\]" is not valid: /],
  ])('a wrong path %s is an error', (property, message) => {
    const error = errorOf({ property, comparison: 'NOT_NULL' }, books);
    if (typeof message === 'string') expect(error).toBe(message);
    else expect(error).toMatch(message);
  });

  it.each([[['a', 'b'], '$[1]', 'b'] as const, [true, '$', 'true'] as const, ['text', '$', 'text'] as const])(
    'accepts a root of any kind: %j',
    (document, property, target) => {
      expect(holds({ property, target }, json(document))).toBe(true);
    },
  );

  it('survives documents and targets of great depth', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const sources = json(JSON.parse(deep));
    for (const comparison of comparisons) {
      for (const property of ['$', '$..*', '$[?@.a == 1]']) {
        const [result] = evaluateAssertions([assertion({ property, comparison, target: deep })], sources);
        expect(JSON.stringify(result).length).toBeLessThan(100_000);
      }
    }
  });
});

describe('text sources', () => {
  const body = (value: string | null): AssertionSources => ({ TEXT_BODY: () => ({ value }) });
  const text = (fields: Partial<Assertion>) => assertion({ source: 'TEXT_BODY', property: '', ...fields });

  it.each<[pattern: string, comparison: Comparison, target: string, expected: boolean]>([
    ['', 'CONTAINS', 'version: 42', true],
    ['version: (\\d+)', 'EQUALS', '42', true],
    ['version: (\\d+)', 'GREATER_THAN', '41', true],
    ['version: \\d+', 'EQUALS', 'version: 42', true],
    ['(?<name>ver)(sion)', 'EQUALS', 'ver', true],
    ['version: (\\d+)', 'LESS_THAN', '7', false], // the first match, not the one that would hold
    ['VERSION', 'IS_NULL', '', true], // no flags
    ['VERSION', 'EQUALS', 'VERSION', false],
    ['ver(x)?', 'IS_NULL', '', true], // a group that took no part
  ])('/%s/ %s %j is %s', (property, comparison, target, expected) => {
    const [result] = evaluateAssertions(
      [text({ property, comparison, target })],
      body('version: 42\nversion: 6'),
    );
    expect(result?.error === null).toBe(expected);
  });

  it('reads RESPONSE_DATA and TEXT_ANSWER alike', () => {
    const sources: AssertionSources = {
      RESPONSE_DATA: () => ({ value: 'SSH-2.0-OpenSSH_9\r\n' }),
      TEXT_ANSWER: () => ({ value: 'a.example. 300 IN A 192.0.2.1' }),
    };
    expect(holds({ source: 'RESPONSE_DATA', property: 'SSH-([\\d.]+)', target: '2.0' }, sources)).toBe(true);
    expect(holds({ source: 'TEXT_ANSWER', property: '(\\d+) IN', target: '300' }, sources)).toBe(true);
  });

  it('names a pattern that is none', () => {
    const [result] = evaluateAssertions([text({ property: '(' })], body('x'));
    expect(result?.error).toMatch(/^the pattern \/\(\/ is not a valid regular expression: /);
  });

  it('keeps at most 10 KB of the actual value, without splitting characters', () => {
    const [ascii] = evaluateAssertions(
      [text({ comparison: 'CONTAINS', target: 'z' })],
      body(`${'a'.repeat(20_000)}z`),
    );
    expect(ascii).toMatchObject({ error: null, actual: `${'a'.repeat(10_237)}…` });
    const [wide] = evaluateAssertions([text({ comparison: 'NOT_EMPTY' })], body('日'.repeat(20_000)));
    expect(wide?.actual).toBe(`${'日'.repeat(3412)}…`);
    const [pairs] = evaluateAssertions([text({ comparison: 'NOT_EMPTY' })], body(`a${'😀'.repeat(5000)}`));
    expect(pairs?.actual).toBe(`a${'😀'.repeat(2559)}…`);
    const [tree] = evaluateAssertions(
      [assertion({ comparison: 'NOT_EMPTY' })],
      json(Array.from({ length: 1_000_000 }, (_, index) => ({ index }))),
    );
    expect(tree?.actual).toHaveLength(10_238);
    expect(tree?.actual).toMatch(/^\[\{"index":0\},/);
  });
});

describe('HEADERS with a credential', () => {
  const value = 'sid=walnut-tree-4711; Path=/';
  const sources: AssertionSources = { HEADERS: () => ({ value: { 'Set-Cookie': [value], server: 'x' } }) };
  const result = (over: Partial<Assertion>) =>
    evaluateAssertions([assertion({ source: 'HEADERS', property: 'set-cookie', ...over })], sources)[0];

  it('compares the value and shows a mask', () => {
    expect(result({ comparison: 'CONTAINS', target: 'walnut' })).toMatchObject({
      actual: '*********',
      error: null,
    });
    expect(result({ comparison: 'EQUALS', target: 'other' })).toMatchObject({
      actual: '*********',
      error: 'expected header "set-cookie" to equal "other", but was "*********"',
    });
    expect(result({ comparison: 'EQUALS', regex: 'sid=([^;]+)', target: 'x' })).toMatchObject({
      actual: '*********',
    });
    expect(result({ comparison: 'NOT_EQUALS', target: value })).toMatchObject({
      target: '*********',
      error: 'expected header "set-cookie" not to equal "*********", but was "*********"',
    });
    const all = JSON.stringify(result({ property: '', comparison: 'IS_EMPTY', target: '' }));
    expect(all).not.toContain('walnut');
    expect(all).toContain('server');
  });
});

describe('HEADERS', () => {
  const map = {
    'Content-Type': 'text/html; charset=utf-8',
    'set-cookie': ['a=1; Path=/', 'b=2'],
    'x-empty': '',
  };
  const forms: [string, AssertionSources][] = [
    ['all headers', { HEADERS: () => ({ value: map }) }],
    [
      'the values of the one',
      {
        HEADERS: ({ property }) => ({
          value: Object.entries(map).find(([name]) => name.toLowerCase() === property.toLowerCase())?.[1],
        }),
      },
    ],
  ];
  type Row = [name: string, regex: string | null, comparison: Comparison, target: string, expected: boolean];
  const rows: Row[] = [
    ['content-type', null, 'EQUALS', 'text/html; charset=utf-8', true],
    ['CONTENT-TYPE', null, 'CONTAINS', 'html', true],
    ['content-type', 'charset=(.+)', 'EQUALS', 'utf-8', true],
    ['content-type', 'charset=(\\d+)', 'IS_NULL', '', true],
    ['set-cookie', null, 'CONTAINS', 'b=', true],
    ['set-cookie', null, 'NOT_CONTAINS', 'a=', false],
    ['set-cookie', '^b=(.*)$', 'EQUALS', '2', true],
    ['set-cookie', null, 'IS_EMPTY', '', false],
    ['x-empty', null, 'IS_EMPTY', '', true],
    ['x-empty', null, 'NOT_NULL', '', true],
    ['x-empty', '^$', 'EQUALS', '', true],
    ['x-gone', null, 'IS_NULL', '', true],
    ['x-gone', null, 'NOT_EMPTY', '', false],
    ['x-gone', null, 'NOT_EQUALS', 'x', true],
    ['X-Empty', null, 'HAS_KEY', '', true],
    ['x-gone', null, 'HAS_KEY', '', false],
    ['x-gone', null, 'NOT_HAS_KEY', '', true],
  ];
  describe.each(forms)('given as %s', (_form, sources) => {
    it.each(rows)('%s /%s/ %s %j is %s', (property, regex, comparison, target, expected) => {
      expect(holds({ source: 'HEADERS', property, regex, comparison, target }, sources)).toBe(expected);
    });
  });

  it('without a name asks all headers', () => {
    const sources: AssertionSources = { HEADERS: () => ({ value: map }) };
    const has = (comparison: Comparison, target: string) =>
      holds({ source: 'HEADERS', property: '', comparison, target }, sources);
    expect(has('HAS_KEY', 'Set-Cookie')).toBe(true);
    expect(has('HAS_KEY', 'x-gone')).toBe(false);
    expect(has('HAS_VALUE', 'text/html; charset=utf-8')).toBe(true);
  });
});

describe('LATENCY', () => {
  const sources: AssertionSources = {
    LATENCY: () => ({ value: { avg: 2.5, min: 1, max: 4, stdDev: null } }),
  };
  it.each<[string, Comparison, string, boolean]>([
    ['avg', 'EQUALS', '2.5', true],
    ['min', 'LESS_THAN', '1', false],
    ['max', 'GREATER_THAN', '3.9', true],
    ['', 'EQUALS', '2.5', true],
    ['stdDev', 'IS_NULL', '', true],
  ])('%s %s %s is %s', (property, comparison, target, expected) => {
    expect(holds({ source: 'LATENCY', property, comparison, target }, sources)).toBe(expected);
  });

  it('names its properties', () => {
    expect(errorOf({ source: 'LATENCY', property: 'p99' }, sources)).toBe(
      'LATENCY has no property "p99"; use avg, min, max or stdDev',
    );
  });
});
