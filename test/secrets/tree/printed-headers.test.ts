import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { maskPrintedHeaders } from '../../../src/secrets/tree/sensitive-headers.ts';
import { processorMs } from '../../helpers/processor-time.ts';

const headers = {
  authorization: `Bearer it's-"a-value"-1`,
  'set-cookie': ['sid=a-value-2; Path=/', 'b=a-value-3'],
  'X-Api-Key': 'a-value-4',
  other: 'stays',
};
const flat = { ...headers, 'set-cookie': 'sid=a-value-2' };

test.each([
  ['an object', inspect(headers)],
  ['JSON', JSON.stringify(headers)],
  ['JSON within JSON', JSON.stringify({ sent: JSON.stringify(flat) })],
  ['Headers', inspect(new Headers(flat))],
  ['a map', inspect(new Map(Object.entries(headers)))],
  ['pairs', inspect(Object.entries(headers))],
  ['pairs in JSON', JSON.stringify(Object.entries(headers))],
  ['names and values', inspect(Object.entries(flat).map(([name, value]) => ({ name, value })))],
  ['keys and values in JSON', JSON.stringify(Object.entries(flat).map(([key, value]) => ({ key, value })))],
  ['a list of both in turn', inspect(Object.entries(flat).flat())],
  ['a line', `stays\nAuthorization: Bearer a-value-1 a-value-2`],
  ['a line behind words', `stays: sent Cookie: sid=a-value-1`],
  ['a text that was cut', `{"other":"stays","authorization":"Bearer a-value-1 whi`],
])('headers printed as %s lose the values of the sensitive ones', (_form, printed) => {
  const shown = maskPrintedHeaders(printed);
  expect(shown).not.toContain('a-value');
  expect(shown).toContain('stays');
  expect(shown).toContain('*********');
});

test.each([
  'the authorization failed, try again',
  'no cookie here',
  'reauthorization: fine',
  "authorization: '*********'",
  '{"authorization":"*********"}',
])('%s is kept', (text) => {
  expect(maskPrintedHeaders(text)).toBe(text);
});

test('takes time in proportion to the text', () => {
  const texts = [
    `"cookie":"${'\\'.repeat(100_000)}`,
    '"cookie",'.repeat(20_000),
    `cookie:${' '.repeat(100_000)}`,
    `"cookie"${'\\'.repeat(100_000)}`,
    `cookie${'\\'.repeat(100_000)}`,
    `'cookie': [`.repeat(10_000),
    `\\"cookie\\":\\"`.repeat(10_000),
  ];
  const ms = processorMs(() => {
    for (const text of texts) maskPrintedHeaders(text);
  });
  expect(ms).toBeLessThan(2000);
});
