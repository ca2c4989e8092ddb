import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { byAllDoors, seededRandom, throughStream } from '../through.ts';

/** Forms in which programs print secrets. No piece of 8 bytes of the secret's form may survive. */

const random = seededRandom(13);
const letters = (length: number): string =>
  Array.from({ length }, () => 'abcdefghijkmnpqrstuvwxyzABCDEFGH23456789'[Math.floor(random() * 40)]).join(
    '',
  );
const pem = [
  '-----BEGIN PRIVATE KEY-----',
  ...Array.from({ length: 12 }, () => letters(64)),
  letters(30),
  '-----END PRIVATE KEY-----',
].join('\n');
const account = JSON.stringify(
  {
    type: 'service_account',
    project_id: 'walnut-tree-4711',
    private_key_id: letters(40),
    private_key: `${pem}\n`,
    client_email: 'robot@walnut-tree-4711.example',
  },
  null,
  2,
);
const odd = `it's "odd" & <so> \`on\` ${letters(9)}`;
const large = `<${letters(2500)}'"&\`${letters(2500)}>`;
const wrap = (text: string, width: number, end: string): string =>
  (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(end);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const zone = (text: string, size = 255): string =>
  (text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [])
    .map((part) => `"${part.replaceAll(/["\\]/g, '\\$&').replaceAll('é', '\\195\\169')}"`)
    .join(' ');

/** Pieces of 8 characters of `form` that are still in `output`. */
function piecesIn(output: string, form: string): string[] {
  const found: string[] = [];
  for (let at = 0; at + 8 <= form.length; at++) {
    const piece = form.slice(at, at + 8);
    // Parts of every printed text.
    if (/^[-\s'"+.,\\0-9]*$|BEGIN|END |PRIVATE|KEY-/.test(piece)) continue;
    if (output.includes(piece)) found.push(piece);
  }
  return found;
}

const forms: readonly (readonly [name: string, secret: string, form: string])[] = [
  ...[64, 76].flatMap((width) =>
    ['\n', '\r\n', '\\n', '\n    '].flatMap((end) =>
      [0, 1, 2, 40, 59].map(
        (before) =>
          [
            `base64, ${width} columns, ${JSON.stringify(end)}, after ${before} bytes`,
            large,
            wrap(base64(`${letters(before)}${large}${letters(70)}`), width, end),
          ] as const,
      ),
    ),
  ),
  ['base64 of a short value in lines', odd, wrap(base64(`${letters(40)}${odd}${letters(70)}`), 64, '\n')],
  ['quoted by Node', odd, inspect({ value: odd })],
  ['quoted by Node, with control characters', `${odd}\x1b\x7f`, inspect([`${odd}\x1b\x7f`])],
  ['a template literal', odd, odd.replaceAll('`', '\\`')],
  ['Node within JSON', odd, JSON.stringify(inspect(odd))],
  ['only < escaped', odd, JSON.stringify(odd).replaceAll('<', '\\u003c')],
  ['only < escaped, upper case', odd, JSON.stringify(odd).replaceAll('<', '\\u003C')],
  ['only > escaped', odd, JSON.stringify(odd).replaceAll('>', '\\u003e')],
  ['only & escaped', odd, JSON.stringify(odd).replaceAll('&', '\\u0026')],
  [
    '< and line separators escaped',
    `a<b\u2028${odd}`,
    JSON.stringify(`a<b\u2028${odd}`).replaceAll('<', '\\u003C').replaceAll('\u2028', '\\u2028'),
  ],
  [
    'a large value, attribute',
    large,
    large
      .replaceAll('&', '&amp;')
      .replaceAll('"', '&#34;')
      .replaceAll("'", '&#39;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;'),
  ],
  ['a large value, shell', large, large.replaceAll("'", "'\\''")],
  ['a large value, inspected', large, inspect({ large }, { breakLength: Infinity })],
  ['a large value, < escaped', large, JSON.stringify(large).replaceAll('<', '\\u003c')],
  ['DNS escapes', `é${odd}\\`, zone(`é${odd}\\`)],
  ['a printed buffer', 'walnut-tree-in-bloom', inspect(Buffer.from('walnut-tree-in-bloom'))],
  ['Buffer.toJSON', 'walnut-tree-in-bloom', JSON.stringify({ a: Buffer.from('x walnut-tree-in-bloom y') })],
  [
    'Buffer.toJSON, indented',
    'walnut-tree-in-bloom',
    JSON.stringify(Buffer.from('walnut-tree-in-bloom'), null, 2),
  ],
  ['a printed array', 'walnut-tree-in-bloom', inspect([...Buffer.from('x walnut-tree-in-bloom y')])],
];

describe('no piece of 8 bytes survives', () => {
  test.each(forms)('%s', async (_name, secret, form) => {
    const scrubber = createScrubber([{ name: 'V', value: secret }]);
    const text = `it printed ${form} and went on`;
    const secretForm = /base64|buffer|Buffer|array/.test(_name) ? '' : secret;
    for (const output of await byAllDoors(scrubber, text)) {
      expect(piecesIn(output, secretForm)).toEqual([]);
      expect(output).toContain('*********');
      expect(output.startsWith('it printed ') && output.endsWith(' and went on')).toBe(true);
      for (const run of output.match(/[A-Za-z0-9+/]{24,}/g) ?? []) {
        for (const skip of [0, 1, 2, 3]) {
          expect(piecesIn(Buffer.from(run.slice(skip), 'base64').toString('latin1'), secret)).toEqual([]);
        }
      }
      const bytes = Buffer.from((output.match(/\b\d{2,3}(?=[,\s\]])/g) ?? []).map(Number));
      expect(piecesIn(bytes.toString('latin1'), secret)).toEqual([]);
    }
  });

  test('strings of a TXT record: 255 bytes each, wherever the secret begins', () => {
    const secret = letters(400);
    const scrubber = createScrubber([{ name: 'V', value: secret }]);
    for (const before of [0, 1, 100, 250]) {
      const shown = `example.com. 300 IN TXT ${zone(`${letters(before)}${secret}`)}`;
      expect(piecesIn(scrubber.text(shown), secret)).toEqual([]);
      expect(piecesIn(JSON.stringify(scrubber.json([JSON.stringify(shown)])), secret)).toEqual([]);
    }
    expect(piecesIn(scrubber.text(inspect([secret.slice(0, 255), secret.slice(255)])), secret)).toEqual([]);
  });

  test('a buffer or string that Node cut', () => {
    const secret = letters(80);
    const scrubber = createScrubber([{ name: 'V', value: secret }]);
    const buffer = scrubber.text(inspect(Buffer.from(`Bearer ${secret}`)));
    const shown = Buffer.from(buffer.replaceAll(/[^0-9a-f ]/g, '').replaceAll(' ', ''), 'hex').toString(
      'latin1',
    );
    expect(piecesIn(shown, secret)).toEqual([]);
    const cut = scrubber.text(inspect([secret], { maxStringLength: 30 }));
    expect(piecesIn(cut, secret)).toEqual([]);
  });
});

describe('secrets of several lines', () => {
  const secrets: readonly (readonly [string, string])[] = [
    ['a key', pem],
    ['a key with CR LF', pem.replaceAll('\n', '\r\n')],
    ['a service account', account],
    ['a service account on one line', JSON.stringify(JSON.parse(account))],
  ];
  test.each(secrets)('%s, line by line', async (_name, value) => {
    const scrubber = createScrubber([{ name: 'KEY', value }]);
    const key = JSON.stringify(value).includes('private_key')
      ? (JSON.parse(value) as { private_key: string }).private_key
      : value;
    const lines = key.split(/\r?\n/);
    const printed = [
      inspect({ credentials: value }),
      inspect({ key }),
      lines.map((line) => `\x1b[31m- ${line}\x1b[39m`).join('\n'),
      lines.map((line) => `+     ${line}`).join('\n'),
      lines.map((line) => `  - text: "${line}"`).join('\n'),
      JSON.stringify({ message: inspect(key) }),
      JSON.stringify(JSON.stringify(key)),
      `- paragraph: ${value.replaceAll(/\s+/g, ' ')}`,
      lines.slice(3, 7).join('\n'),
      lines.map((line) => base64(line)).join('\n'),
    ];
    for (const text of printed) {
      for (const output of await byAllDoors(scrubber, text)) {
        expect(piecesIn(output, lines.slice(1, -2).join('\n').replaceAll(/\s/g, ' '))).toEqual([]);
        for (const line of lines.slice(1, -2)) expect(piecesIn(output, line)).toEqual([]);
      }
    }
  });

  test('what is not secret stays: short lines, the first and last line of a key, other texts', () => {
    const scrubber = createScrubber([{ name: 'KEY', value: `{\n  "a": 1,\n${pem}\n}` }]);
    for (const text of [
      '{',
      '}',
      '"a": 1,',
      '-----BEGIN PRIVATE KEY-----',
      'PRIVATE',
      'hello world\nhow are you',
    ]) {
      expect(scrubber.text(text)).toBe(text);
    }
  });

  test('the values of credentials in a JSON document, and not its addresses', () => {
    const scrubber = createScrubber([
      {
        name: 'KEY',
        value:
          '{"client_secret":"walnut-tree","token_uri":"https://auth.example/token","type":"service_account"}',
      },
    ]);
    expect(scrubber.text('walnut-tree https://auth.example/token service_account')).toBe(
      '********* https://auth.example/token service_account',
    );
  });
});

test('base64 in lines that come in pieces of any size', async () => {
  const scrubber = createScrubber([{ name: 'V', value: odd }]);
  const text = Buffer.from(
    Array.from({ length: 40 }, (_, i) =>
      wrap(base64(`${letters(i * 3)}${odd}${letters(90)}`), 76, '\r\n'),
    ).join('\n.\n'),
  );
  for (const size of [1, 7, 60, 77, 300, 4000]) {
    const output = (await throughStream(scrubber, text, [size])).toString();
    const plain = output
      .split('\n.\n')
      .map((part) =>
        Buffer.from(part.replaceAll('*********', 'AAAA').replaceAll(/\s/g, ''), 'base64').toString('latin1'),
      );
    for (const each of plain) expect(piecesIn(each, odd)).toEqual([]);
    expect(output.match(/\*{9}/g)?.length).toBeGreaterThanOrEqual(40);
  }
});

test('difficult values do not break a scrubber', () => {
  const values = [
    '',
    ' ',
    'a',
    '\0',
    '(.*+?)[^]$|\\',
    '$&$1$`',
    '\ud800\ud800\ud800\ud800',
    'é'.normalize('NFD').repeat(5),
    '\u{1f511}'.repeat(4),
    '%%%%%%%%',
    '\\u003c\\n\\',
    '……………………',
    '*********',
    '__proto__',
    'constructor',
  ];
  const scrubber = createScrubber(values.map((value, i) => ({ name: `V${i}`, value })));
  for (const value of values) {
    if (Buffer.byteLength(value) < 6 || value === '*********') continue;
    expect(scrubber.text(`<${value}>`)).not.toContain(value);
    expect(JSON.stringify(scrubber.json({ [value]: [value] }))).not.toContain(
      JSON.stringify(value).slice(1, -1),
    );
  }
  expect(scrubber.text('é'.normalize('NFC').repeat(5))).toBe('*********');
});
