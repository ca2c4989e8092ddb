import { expect, test } from 'vitest';
import { createScrubber } from '../../src/secrets/scrubber/scrubber.ts';
import { leakDepth } from './leak-oracle.ts';
import { seededRandom, throughStream } from './through.ts';

/** Random secrets in random encodings in random noise in random pieces: nothing may survive, however one decodes. */

const alphabets = [
  'abcdefghijklmnopqrstuvwxyz0123456789',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=',
  `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~ abc`,
  'aé"ü<&/日本\u{1f511}z\\\n',
];

type Encode = (value: string, random: () => number) => Buffer | string;
const text =
  (encode: (value: string) => string): Encode =>
  (value) =>
    encode(value);
const json = (value: string): string => JSON.stringify(value).slice(1, -1);
const lowerTriplets = (value: string): string => value.replaceAll(/%../g, (triplet) => triplet.toLowerCase());
const ascii = (value: string): string =>
  value.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const html = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const form = (value: string): string => new URLSearchParams({ v: value }).toString().slice(2);
const around = (value: Buffer, random: () => number): Buffer =>
  Buffer.concat([
    Buffer.alloc(Math.floor(random() * 7), 'p'),
    value,
    Buffer.alloc(Math.floor(random() * 7), 's'),
  ]);

const encodings: { readonly [name: string]: Encode } = {
  raw: text((value) => value),
  component: text(encodeURIComponent),
  'component, lower case': text((value) => lowerTriplets(encodeURIComponent(value))),
  'component twice': text((value) => encodeURIComponent(encodeURIComponent(value))),
  form: text(form),
  'form, lower case': text((value) => lowerTriplets(form(value))),
  strict: text((value) =>
    encodeURIComponent(value).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
  ),
  'every byte': text((value) =>
    Buffer.from(value)
      .toString('hex')
      .replaceAll(/../g, (digits) => `%${digits}`),
  ),
  json: text(json),
  'json twice': text((value) => json(json(value))),
  'json, slashes': text((value) => json(value).replaceAll('/', '\\/')),
  'json, ascii': text((value) => ascii(json(value))),
  'json, ascii, upper case': text((value) =>
    ascii(json(value)).replaceAll(/\\u..../g, (e) => `\\u${e.slice(2).toUpperCase()}`),
  ),
  'json, ascii, twice': text((value) => json(ascii(json(value)))),
  'json, all': text((value) =>
    value.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ),
  html: text(html),
  'html, apostrophes': text((value) => html(value).replaceAll("'", '&#39;')),
  xml: text((value) => html(value).replaceAll("'", '&apos;')),
  decimal: text((value) =>
    Array.from(value)
      .map((c) => `&#${c.codePointAt(0)};`)
      .join(''),
  ),
  hexadecimal: text((value) =>
    Array.from(value)
      .map((c) => `&#x${c.codePointAt(0)?.toString(16)};`)
      .join(''),
  ),
  hex: text((value) => Buffer.from(value).toString('hex')),
  HEX: text((value) => Buffer.from(value).toString('hex').toUpperCase()),
  base64: (value, random) => around(Buffer.from(value), random).toString('base64'),
  base64url: (value, random) => around(Buffer.from(value), random).toString('base64url'),
  'base64 of json': (value, random) => around(Buffer.from(json(value)), random).toString('base64'),
  'base64 of base64': (value, random) =>
    around(Buffer.from(around(Buffer.from(value), random).toString('base64')), random).toString('base64'),
  'base64 in a URL': (value, random) =>
    encodeURIComponent(around(Buffer.from(value), random).toString('base64')),
  'json in a URL': text((value) => encodeURIComponent(json(value))),
  'json in html': text((value) => html(json(value))),
  'utf-16, little endian': (value) => Buffer.from(value, 'utf16le'),
  'utf-16, big endian': (value) => Buffer.from(value, 'utf16le').swap16(),
  'base64 of utf-16': (value, random) => around(Buffer.from(value, 'utf16le'), random).toString('base64'),
  'CR LF': text((value) => value.replaceAll('\n', '\r\n')),
};

const noise = (random: () => number): Buffer =>
  Buffer.from(
    Array.from({ length: Math.floor(random() * 60) }, () =>
      random() < 0.7 ? 32 + Math.floor(random() * 95) : Math.floor(random() * 256),
    ),
  );

function randomSecret(random: () => number): string {
  const alphabet = Array.from(alphabets[Math.floor(random() * alphabets.length)] ?? '');
  const length = 8 + Math.floor(random() * 30);
  const value = Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  return value.replaceAll(/^\s|\s$/g, '_');
}

test('no secret survives', async () => {
  const random = seededRandom(20_260_101);
  const names = Object.keys(encodings);
  for (let round = 0; round < 80; round++) {
    const values = Array.from({ length: 4 }, () => randomSecret(random));
    const scrubber = createScrubber(values.map((value, i) => ({ name: `V${i}`, value })));
    const used: string[] = [];
    const pieces = values.flatMap((value) => {
      const name = names[Math.floor(random() * names.length)] ?? 'raw';
      used.push(name);
      const encoded = encodings[name]?.(value, random) ?? '';
      return [noise(random), Buffer.from('.'), Buffer.from(encoded as string), Buffer.from('.')]; // Buffer.from takes both
    });
    const bytes = Buffer.concat(pieces);
    const whole = scrubber.bytes(bytes);
    for (const value of values) {
      expect({ used, value, leak: leakDepth(whole, value) }).toEqual({ used, value, leak: null });
    }
    const sizes = Array.from({ length: 400 }, () => 1 + Math.floor(random() * 40));
    for (const cut of [sizes, [1], [bytes.length]]) {
      expect((await throughStream(scrubber, bytes, cut)).equals(whole)).toBe(true);
    }
  }
});

test('every encoding of a difficult value, at every depth that the oracle reads', () => {
  const random = seededRandom(4);
  const value = `S3cr"et's/<é>&\\ 100%+=ü\nend`;
  const scrubber = createScrubber([{ name: 'V', value }]);
  for (const [name, encode] of Object.entries(encodings)) {
    const bytes = Buffer.concat([
      Buffer.from('a.'),
      Buffer.from(encode(value, random) as string),
      Buffer.from('.z'),
    ]); // takes both
    if (name !== 'CR LF') expect([name, leakDepth(bytes, value)]).not.toEqual([name, null]);
    expect([name, leakDepth(scrubber.bytes(bytes), value)]).toEqual([name, null]);
    expect([name, scrubber.bytes(bytes).includes('*********')]).toEqual([name, true]);
  }
});

test('long streams in pieces of all sizes give the same output as in one piece', async () => {
  const random = seededRandom(8);
  const values = Array.from({ length: 5 }, () => randomSecret(random));
  const scrubber = createScrubber(values.map((value, i) => ({ name: `V${i}`, value })));
  const parts: Buffer[] = [];
  for (let i = 0; i < 1500; i++) {
    parts.push(noise(random), noise(random), Buffer.from(values[i % 5] ?? ''));
  }
  const bytes = Buffer.concat(parts);
  const whole = scrubber.bytes(bytes);
  for (const most of [7, 300, 5000, 70_000]) {
    const sizes = Array.from({ length: bytes.length / most + 1 }, () => 1 + Math.floor(random() * most));
    expect((await throughStream(scrubber, bytes, sizes)).equals(whole)).toBe(true);
  }
  for (const value of values) expect(whole.includes(value)).toBe(false);
});
