import { describe, expect, it } from 'vitest';
import { parseJsonDocument } from '../../../src/executors/assertions/json-path-document.ts';
import { findByPath } from '../../../src/executors/assertions/json-path.ts';
import { processorMs } from '../../helpers/processor-time.ts';

describe('findByPath', () => {
  it('distinguishes a path to one place from a path to several', () => {
    const document = { a: [{ b: 1 }, { b: 2 }] };
    expect(findByPath('$.a[0].b', document)).toEqual({ values: [1], single: true });
    expect(findByPath('$.a[*].b', document)).toEqual({ values: [1, 2], single: false });
    expect(findByPath('$.a[9].b', document)).toEqual({ values: [], single: true });
  });

  it('finds nothing in prototypes', () => {
    expect(findByPath('$.constructor', {})).toEqual({ values: [], single: true });
    expect(findByPath('$.__proto__', {})).toEqual({ values: [], single: true });
  });

  it('takes large selections', () => {
    const document = { list: Array.from({ length: 300_000 }, (_, index) => index) };
    const found = findByPath('$.list[*]', document);
    expect('values' in found && found.values.length).toBe(300_000);
  });
});

describe('parseJsonDocument', () => {
  it('keeps the digits of long integers and changes nothing else', () => {
    const text =
      '{"id":9007199254740993,"neg":-12345678901234567890,"list":[1234567890123456789],"float":1234567890123456.75,' +
      '"exp":1e300,"text":"id 9007199254740993 \\" 9007199254740993","9007199254740993":1,"safe":9007199254740991}';
    expect(parseJsonDocument(text)).toEqual({
      id: 9007199254740993n,
      neg: -12345678901234567890n,
      list: [1234567890123456789n],
      float: 1234567890123456.75,
      exp: 1e300,
      text: 'id 9007199254740993 " 9007199254740993',
      '9007199254740993': 1,
      safe: 9007199254740991,
    });
  });

  it('takes documents that are too deep, too long or too large for that as JSON.parse does', () => {
    const escapes = '\\n'.repeat(5_000_000);
    for (const text of [
      `${'['.repeat(50_000)}12345678901234567890${']'.repeat(50_000)}`,
      `["${escapes}",12345678901234567890]`,
    ]) {
      expect(typeof parseJsonDocument(text)).toBe('object');
    }
    const ms = processorMs(() => {
      expect(parseJsonDocument(`[${'9'.repeat(4_000_000)}]`)).toEqual([Infinity]);
    });
    expect(ms).toBeLessThan(1000);
  });

  it('refuses invalid JSON', () => {
    for (const text of ['', '<html>', '{"a":12345678901234567890', 'NaN']) {
      expect(() => parseJsonDocument(text)).toThrow(SyntaxError);
    }
  });
});
