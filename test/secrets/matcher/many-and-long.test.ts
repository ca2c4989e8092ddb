import { expect, test } from 'vitest';
import { encodedForms } from '../../../src/secrets/forms/forms.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { seededRandom, throughStream } from '../through.ts';

const random = seededRandom(12);
const letters = (length: number): string =>
  Array.from({ length }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('');

test('ten thousand secrets', { timeout: 60_000 }, () => {
  const values = Array.from({ length: 10_000 }, () => letters(12 + Math.floor(random() * 10)));
  const scrubber = createScrubber(values.map((value, i) => ({ name: `V${i}`, value })));
  const some = values.filter((_, i) => i % 100 === 0);
  const text = some
    .map((value, i) => (i % 2 === 0 ? value : Buffer.from(`x:${value}`).toString('base64')))
    .join(' ');
  const out = scrubber.text(text);
  expect(out.match(/\*{9}/g)?.length).toBe(100);
  for (const value of some) expect(out).not.toContain(value);
});

test('secrets of 64 KiB, in pieces and encoded', async () => {
  const values = [letters(65_536), `${letters(30_000)}"\n/é<${letters(30_000)}`];
  const scrubber = createScrubber(values.map((value, i) => ({ name: `V${i}`, value })));
  const [first = '', second = ''] = values;
  const text = Buffer.from(
    [
      'a',
      first,
      'b',
      encodeURIComponent(second),
      'c',
      JSON.stringify(second),
      'd',
      Buffer.from(first).toString('base64'),
      'e',
    ].join('.'),
  );
  const expected = 'a.M.b.M.c."M".d.M.e'.replaceAll('M', '*********');
  expect(scrubber.bytes(text).toString()).toBe(expected);
  expect((await throughStream(scrubber, text, [65_536])).toString()).toBe(expected);
  expect((await throughStream(scrubber, text, [977])).toString()).toBe(expected);
  expect(scrubber.memoryBytes).toBeLessThan(2_000_000);
});

test('every value has its raw form, without duplicates, and none that is shorter than the value', () => {
  for (const value of [
    'abcdef',
    'a b/c+d=é',
    `it's "q" <&>`,
    '\u{1f511}key\u{1f511}',
    '\ud800 lone',
    'line\nline2\n',
  ]) {
    const forms = encodedForms(value).map((form) => form.toString('latin1'));
    expect(forms).toContain(Buffer.from(value.trim()).toString('latin1'));
    expect(new Set(forms).size).toBe(forms.length);
    expect(Math.min(...forms.map((form) => form.length))).toBeGreaterThanOrEqual(6);
  }
});
