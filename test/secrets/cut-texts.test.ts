import { describe, expect, test } from 'vitest';
import { createScrubber } from '../../src/secrets/scrubber/scrubber.ts';
import { mask } from '../../src/secrets/secret.ts';
import { seededRandom } from './through.ts';

const secret = 'q7/Walnut+tree "42" grünlich-und-lang-genug';
const scrubber = createScrubber([{ name: 'TOKEN', value: secret }]);
const long = 'All of this is a long body without any secret. '.repeat(100);

/** Ways in which a result may write a value. */
const encodings: readonly [string, (text: string) => string][] = [
  ['raw', (text) => text],
  ['JSON', (text) => JSON.stringify(text).slice(1, -1)],
  ['URL', encodeURIComponent],
  ['base64', (text) => Buffer.from(text).toString('base64')],
  ['hex', (text) => Buffer.from(text).toString('hex')],
];

describe('a text that was cut within a secret', () => {
  test.each(encodings)('before an ellipsis: %s', (_name, encode) => {
    const encoded = encode(secret);
    for (let end = 4; end < encoded.length; end++) {
      const text = `was "${encoded.slice(0, end)}… (it is not a number)`;
      expect(scrubber.text(text)).toBe(`was "${mask}… (it is not a number)`);
      expect(scrubber.json({ error: [text] })).toEqual({ error: [`was "${mask}… (it is not a number)`] });
    }
  });

  test.each(encodings)('at the end of a long text: %s', (_name, encode) => {
    const encoded = encode(secret);
    for (let end = 4; end < encoded.length; end++) {
      expect(scrubber.json([`${long}${encoded.slice(0, end)}`])).toEqual([`${long}${mask}`]);
    }
  });

  test('several cuts, and complete secrets between them', () => {
    const text = `a ${secret} b ${secret.slice(0, 9)}… c ${secret.slice(0, 20)}… d …${secret.slice(0, 5)}…`;
    expect(scrubber.text(text)).toBe(`a ${mask} b ${mask}… c ${mask}… d …${mask}…`);
  });

  test('a key of 64 KiB, of which only a beginning is kept to compare with', () => {
    const random = seededRandom(7);
    const key = Array.from({ length: 65_536 }, () =>
      String.fromCharCode(97 + Math.floor(random() * 26)),
    ).join('');
    const keys = createScrubber([{ name: 'KEY', value: key }]);
    for (const end of [4, 500, 1023, 1024, 1025, 40_000, 65_535]) {
      expect(keys.text(`${key.slice(0, end)}…`)).toBe(`${mask}…`);
    }
  });
});

describe('a text that was not cut within a secret is not changed', () => {
  test.each([
    ['short, without an ellipsis', `ends with ${secret.slice(0, 12)}`],
    ['a beginning that goes on otherwise', `${secret.slice(0, 12)}! and then …`],
    ['too little to matter', `${secret.slice(0, 3)}…`],
    ['the end of it', `${secret.slice(5)}…`],
    ['long', long],
    ['nothing but ellipses', '…'.repeat(5000)],
  ])('%s', (_name, text) => {
    const tree = { text };
    expect(scrubber.json(tree)).toBe(tree);
    expect(scrubber.text(text)).toBe(text);
  });

  test('parts of short values', () => {
    const short = createScrubber([{ name: 'PIN', value: 'abcde' }]);
    expect(short.text('was "abcd…')).toBe('was "abcd…');
  });
});
