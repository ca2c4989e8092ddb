import { evaluateAssertions } from '../../../src/executors/assertions/evaluate.ts';
import { bodySources } from '../../../src/executors/http/body-sources.ts';
import { comparisons, type Assertion } from '../../../src/protocol/assertions.ts';

/** Assertions of a check on the body of a target: JSONPath, patterns and comparisons; they never throw. */

export const name = 'assertions';
export const maxBytes = 4096;

/** The lines are: property, target, body; the first byte chooses the comparison. */
export function run(data: Buffer): void {
  const [property = '', target = '', ...rest] = data.subarray(1).toString().split('\n');
  const text = rest.join('\n');
  const comparison = comparisons[(data[0] ?? 0) % comparisons.length] ?? 'EQUALS';
  const body = {
    bytes: Buffer.from(text),
    cut: false,
    error: null,
    mediaType: 'application/json',
    charset: null,
  };
  const sources = bodySources(body);
  const assertions: Assertion[] = (['JSON_BODY', 'TEXT_BODY'] as const).map((source) => ({
    source,
    property: source === 'JSON_BODY' ? `$${property}` : property,
    comparison,
    target,
    regex: null,
  }));
  const results = evaluateAssertions(assertions, sources);
  if (results.length !== 2) throw new Error('an assertion has no result');
  // The result is sent as JSON.
  if (JSON.stringify(results).length > 200_000 + data.length * 12)
    throw new Error('the results are too long');
}

export const seeds = (): string[] => [
  'a.items[0].id\n7\n{"items":[{"id":7,"tags":["a","b"]}],"total":12345678901234567890}',
  'b..id\n[1,2]\n{"a":{"id":1},"b":{"id":2}}',
  'c[?@.price < 10 && match(@.title, \'a.*\')].title\nabc\n[{"price":9,"title":"abc"}]',
  'd[1:5:2]\n1\n[1,2,3,4,5,6]',
  'e[?length(@.a) > count(@.b[*]) || !@[\'c\']]\n1\n[{"a":"xyz","b":[1]}]',
  'f.length\n3\n[1,2,3]',
  'g^(\\w+)=(\\d*)$\n12\nabc=12',
  'h(a+)+$\n12\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab',
  'i[?@.a==@.b][\'x\',\'y\',0,*]\nnull\n{"x":[{"a":1,"b":1.0}],"y":null}',
  'j\n1e400\n1e400',
];

export const dictionary = [
  '..',
  '[*]',
  '[?',
  '@',
  '$',
  "['",
  "']",
  ' && ',
  ' || ',
  '!',
  '==',
  '<=',
  'match(',
  'search(',
  'value(',
  'count(',
  'length(',
  '.length',
  '\\u',
  '(?=',
  '(?<a>',
  '{1,9}',
  '[^',
  '+)+',
  '|',
  'null',
  'true',
  '"__proto__"',
  '\n',
  ':',
];
