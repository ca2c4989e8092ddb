import { expect, test } from 'vitest';
import { encodedForms } from '../../../src/secrets/forms/forms.ts';
import { createScrubber, scrubberOf } from '../../../src/secrets/scrubber/scrubber.ts';
import { buildTables, maxSecretBytes } from '../../../src/secrets/scrubber/tables.ts';
import { seededRandom } from '../through.ts';

const random = seededRandom(5);
const odd = (length: number): string =>
  Array.from({ length }, () => String.fromCharCode(33 + Math.floor(random() * 94))).join('');

test('a thousand values of a thousand odd characters: bounded tables, and each value is masked in common forms', () => {
  const values = Array.from({ length: 1000 }, () => odd(1000));
  const scrubber = createScrubber(values.map((value, i) => ({ name: `V${i}`, value })));
  expect(scrubber.withheld).toBeNull();
  // All forms of these values would have a gigabyte.
  expect(scrubber.memoryBytes).toBeLessThan(100_000_000);
  for (const value of [values[0] ?? '', values[999] ?? '']) {
    const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)];
    for (const form of [...forms, Buffer.from(`x${value}`).toString('base64')]) {
      expect(scrubber.text(`<${form}>`)).toContain('*********');
      expect(scrubber.text(`<${form}>`).length).toBeLessThan(30);
    }
  }
}, 60_000);

test('tables survive the way to another thread', () => {
  const secrets = [
    { name: 'A', value: 'walnut-tree "42"' },
    { name: 'PIN', value: '4711' },
  ];
  const scrubber = scrubberOf(structuredClone(buildTables(secrets)));
  for (const form of encodedForms('walnut-tree "42"')) {
    expect(scrubber.bytes(Buffer.from(form)).toString()).toMatch(/^\*{9}$/);
  }
  expect(scrubber.json({ pin: '4711' })).toEqual({ pin: '*********' });
  expect(scrubber.warnings).toHaveLength(1);
});

test('beyond the limit nothing passes', () => {
  const scrubber = createScrubber([{ name: 'A', value: 'x'.repeat(maxSecretBytes + 1) }]);
  expect(scrubber.withheld).toMatch(/more than 4194304 bytes of secrets/);
  expect(scrubber.text('anything')).toBe('*********');
  expect(scrubber.bytes(Buffer.from('anything')).toString()).toBe('*********');
  expect(scrubber.json({ a: 1, b: ['c'] })).toEqual({ '*********': 1, '**********': ['*********'] });
  const sieve = scrubber.sieve();
  expect(Buffer.concat([...sieve.push(Buffer.from('any')), ...sieve.end()]).toString()).toBe('*********');
});
