import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { byAllDoors, throughStream } from '../through.ts';

const scrubberOf = (...values: string[]) =>
  createScrubber(values.map((value, i) => ({ name: `VARIABLE_${i}`, value })));
const M = '*********';

/** Title, secrets, text, what must come out of every door, as one write and one byte at a time. */
const cases: readonly [string, readonly string[], string, string][] = [
  ['no secrets', [], 'nothing to hide here', 'nothing to hide here'],
  ['one secret', ['walnut-tree'], 'a walnut-tree b', `a ${M} b`],
  ['a secret at both ends', ['walnut-tree'], 'walnut-tree and walnut-tree', `${M} and ${M}`],
  ['nothing but the secret', ['walnut-tree'], 'walnut-tree', M],
  ['the empty text', ['walnut-tree'], '', ''],
  ['two secrets', ['walnut-tree', 'chestnut'], 'chestnut walnut-tree chestnut', `${M} ${M} ${M}`],
  ['the first contains the second', ['walnut-tree', 'nut-tree'], 'walnut-tree nut-tree', `${M} ${M}`],
  ['the second contains the first', ['nut-tree', 'walnut-tree'], 'walnut-tree nut-tree', `${M} ${M}`],
  ['overlapping ones become one mask', ['abcdefgh', 'efghijkl'], '.abcdefghijkl.', `.${M}.`],
  ['touching ones stay two', ['abcdefgh', 'ijklmnop'], '.abcdefghijklmnop.', `.${M}${M}.`],
  [
    'three, the middle one spoilt',
    ['first-one', 'second-one', 'third-one'],
    'first-onesecond-onXthird-one',
    `${M}second-onX${M}`,
  ],
  [
    'a long near miss with two real ones inside',
    ['aaaa-bbbb-cccc-dddd-eeee', 'bbbb-cc', 'dddd-ee'],
    'aaaa-bbbb-cccc-dddd-eeeX',
    `aaaa-${M}cc-${M}eX`,
  ],
  [
    'a staircase of seven overlapping ones',
    ['abcdef', 'cdefgh', 'efghij', 'ghijkl', 'ijklmn', 'klmnop', 'mnopqr'],
    '(abcdefghijklmnopqr)',
    `(${M})`,
  ],
  [
    "what a POSIX shell's echo makes of its escapes",
    ['check\\birch\\tree\\0101\\\\x'],
    'check\birch\treeA\\x and {"a":"check\\birch\\treeA\\\\x"}',
    `${M} and {"a":"${M}"}`,
  ],
  ['a secret that overlaps itself', ['abcabcab'], 'abcabcabcabcab.', `${M}.`],
  ['a repeated character', ['0000000000'], '10000000000000000001', `1${M}1`],
  ['a repeated character, one too few', ['0000000000'], '1000000000 1', '1000000000 1'],
  ['a multi-byte character', ['pin\u00ffcode'], 'x pin\u00ffcode y', `x ${M} y`],
  [
    'characters outside the first plane',
    ['key-\u{1f511}-key'],
    '\u{1f511} key-\u{1f511}-key',
    `\u{1f511} ${M}`,
  ],
  ['another case is another text', ['Walnut-Tree'], 'walnut-tree WALNUT-TREE', 'walnut-tree WALNUT-TREE'],
  ['quotes escaped', ['say "please" now'], 'JSON: "say \\"please\\" now".', `JSON: "${M}".`],
  ['a quote doubled, as in SQL', ["it's-secret"], "'it''s-secret'", `'${M}'`],
  ['a quote closed and opened, as in shells', ["it's-secret"], "'it'\\''s-secret'", `'${M}'`],
  ['percent-encoded space and !', ['hello big world!'], '?q=hello%20big%20world%21&', `?q=${M}&`],
  ['the ! left alone', ['hello big world!'], '?q=hello%20big%20world!&', `?q=${M}&`],
  ['form encoding', ['hello big/world~'], 'q=hello+big%2Fworld%7E&', `q=${M}&`],
  ['lower-case hex digits', ['hello/big=world'], 'hello%2fbig%3dworld', M],
  ['encoded twice', ['hello/big=world'], 'hello%252Fbig%253Dworld', M],
  ['encodeURI', ['hello/big world?'], 'https://h/hello/big%20world?', `https://h/${M}`],
  ['a URL path', ['hello/{big}'], 'https://h/hello/%7Bbig%7D', `https://h/${M}`],
  ['XML', ['a<b&c>d"e'], '<v>a&lt;b&amp;c&gt;d"e</v>', `<v>${M}</v>`],
  ['HTML attribute', ['a<b&c>d"e'], 'v="a&lt;b&amp;c&gt;d&quot;e"', `v="${M}"`],
  ['decimal references', ['a<b&c>d'], '&#97;&#60;&#98;&#38;&#99;&#62;&#100;', M],
  ['hexadecimal references', ['a<b&c>d'], '&#x61;&#x3c;&#x62;&#x26;&#x63;&#x3e;&#x64;', M],
  ['JSON with slashes escaped', ['path/to/gold'], '"path\\/to\\/gold"', `"${M}"`],
  ['JSON in ASCII, lower case', ['schl\u00fcssel'], '"schl\\u00fcssel"', `"${M}"`],
  ['JSON in ASCII, upper case', ['schl\u00fcssel'], '"schl\\u00FCssel"', `"${M}"`],
  ['JSON for HTML', ['a<b&c>d'], '"a\\u003cb\\u0026c\\u003ed"', `"${M}"`],
  [
    'JSON within JSON',
    ['say "a/b"'],
    JSON.stringify(JSON.stringify({ k: 'say "a/b"' })),
    `"{\\"k\\":\\"${M}\\"}"`,
  ],
  ['hex', ['walnut-tree'], Buffer.from('walnut-tree').toString('hex'), M],
  ['HEX', ['walnut-tree'], Buffer.from('walnut-tree').toString('hex').toUpperCase(), M],
  ['base64, whole', ['walnut-tree'], `Basic ${Buffer.from('walnut-tree').toString('base64')}`, `Basic ${M}`],
  ['a key over lines, with CR LF', ['line one\nline two'], 'line one\r\nline two', M],
  ['with CR CR LF, as terminals write', ['line one\nline two'], 'line one\r\r\nline two', M],
  ['with spaces for line ends', ['line one\nline two'], 'line one line two', M],
  ['with \\n escaped', ['line one\nline two'], 'line one\\nline two', M],
  ['with LF where the secret has CR LF', ['line one\r\nline two'], 'line one\nline two', M],
  ['with LF where the secret has \\n', ['line one\\nline two'], 'line one\nline two', M],
  ['the line end behind a key is kept', ['line one\nline two\n'], 'line one\nline two\n.', `${M}\n.`],
  ['a proxy URL', ['pa:ss@word'], 'http://me:pa%3Ass%40word@proxy:3128', `http://me:${M}@proxy:3128`],
  ['a short secret in a text stays', ['abcde'], 'abcde abcdefgh', 'abcde abcdefgh'],
  [
    'a short secret with its quotes',
    ['abcde'],
    '{"pin":"abcde","x":"abcdef"}',
    `{"pin":"${M}","x":"abcdef"}`,
  ],
  ['the mask itself as a secret', [M], `a ${M} b`, `a ${M} b`],
  [
    'texts that would mask everything',
    ['/', '*', 'https://', 'http://', '123', ' '],
    'https://h/123 *',
    'https://h/123 *',
  ],
];

describe.each(cases)('%s', (_title, secrets, text, expected) => {
  test('all doors', async () => {
    expect(await byAllDoors(scrubberOf(...secrets), text)).toEqual(Array.from({ length: 5 }, () => expected));
  });
});

test.each(['', 'a', 'ab', 'abc', 'abcd', 'abcde'])(
  'base64 of "%s:secret" shows the prefix only',
  async (prefix) => {
    const scrubber = scrubberOf('chestnut-42');
    const encoded = Buffer.from(`${prefix}:chestnut-42`).toString('base64');
    for (const out of await byAllDoors(scrubber, `Basic ${encoded}.`)) {
      expect(out).toMatch(/^Basic [A-Za-z0-9+/]{0,8}\*{9}[A-Za-z0-9+/]?={0,2}\.$/);
    }
    const urlSafe = Buffer.from(`${prefix}:chestnut-42~~`).toString('base64url');
    for (const out of await byAllDoors(scrubber, urlSafe)) expect(out).toContain(M);
  },
);

test('a key of many lines leaves none of them behind, whatever became of its white space', () => {
  const lines = [
    '-----BEGIN KEY-----',
    'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC',
    'q7Xz0Pb9cE2mL5nW8vR1tY4uI6oA3sD+/',
    '-----END KEY-----',
  ];
  const scrubber = scrubberOf(lines.join('\n'));
  const out = scrubber.text(`> ${lines.join('\n>   ')}\n\t${lines.join(' \t \n')}`);
  expect(out).not.toContain(lines[1]);
  expect(out).not.toContain(lines[2]);
});

test('a variable as the shell here prints it', () => {
  const value = 'check\\birch\\ntree\\0101-7741';
  for (const print of ['echo "$TOKEN"', `printf '%b' "$TOKEN"`]) {
    const printed = execFileSync('sh', ['-c', print], { env: { PATH: process.env['PATH'], TOKEN: value } });
    expect(scrubberOf(value).text(printed.toString()).trim()).toBe(M);
  }
});

test('UTF-16 in both byte orders', () => {
  const scrubber = scrubberOf('walnut-tr\u00e9e');
  const little = Buffer.from('x walnut-tr\u00e9e y', 'utf16le');
  // The zero byte before a character reads as either byte order's: the space's own may go with the mask.
  expect(scrubber.bytes(little).toString('latin1').replaceAll('\0', '')).toBe(`x ${M} y`);
  expect(scrubber.bytes(Buffer.from(little).swap16()).toString('latin1').replaceAll('\0', '')).toBe(
    `x ${M} y`,
  );
});

test('UTF-8 that was decoded as Latin-1, plain and inside JSON', () => {
  const value = 'wälnut-"tree"';
  const misread = Buffer.from(value).toString('latin1');
  const once = JSON.stringify({ echo: misread });
  const ascii = once.replaceAll(/[^\0-\x7e]/g, (unit) => `\\u00${unit.charCodeAt(0).toString(16)}`);
  for (const text of [misread, once, ascii, JSON.stringify(once)]) {
    expect(scrubberOf(value).text(text)).toBe(
      text === misread
        ? M
        : text === JSON.stringify(once)
          ? JSON.stringify(`{"echo":"${M}"}`)
          : `{"echo":"${M}"}`,
    );
  }
});

test('bytes of no text at all pass unchanged, as the same reference', () => {
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167) & 255));
  expect(scrubberOf('walnut-tree').bytes(bytes)).toBe(bytes);
});

test('a cut inside a percent triplet or a character', async () => {
  const scrubber = scrubberOf('p\u00e9ch\u00e9/tree');
  for (const form of ['p%C3%A9ch%C3%A9%2Ftree', 'p\u00e9ch\u00e9/tree']) {
    const bytes = Buffer.from(`<${form}>`);
    for (let cut = 1; cut < bytes.length; cut++) {
      expect((await throughStream(scrubber, bytes, [cut, bytes.length])).toString()).toBe(`<${M}>`);
    }
  }
});

test('a scrubber created later does not change a running stream', async () => {
  const stream = scrubberOf('walnut-tree').stream();
  stream.write('walnut-tr');
  scrubberOf('chestnut-tree');
  stream.end('ee chestnut-tree');
  const out: Buffer[] = [];
  for await (const piece of stream) out.push(piece as Buffer);
  expect(Buffer.concat(out).toString()).toBe(`${M} chestnut-tree`);
});

test('a sieve holds back little', () => {
  const scrubber = scrubberOf('walnut-tree');
  const sieve = scrubber.sieve();
  let most = 0;
  for (let i = 0; i < 5000; i++) {
    sieve.push(Buffer.from('x'));
    most = Math.max(most, sieve.heldBytes);
  }
  sieve.push(Buffer.alloc(1_000_000, 'y'));
  expect(Math.max(most, sieve.heldBytes)).toBeLessThan(250);
});

test('warnings name the variable, never the value', () => {
  const scrubber = createScrubber([
    { name: 'PIN', value: '48213' },
    { name: 'EMPTY', value: '' },
    { name: 'SLASH', value: '/' },
    { name: 'GOOD', value: 'walnut-tree' },
  ]);
  expect(scrubber.warnings).toEqual([
    'PIN: the value has fewer than 6 bytes and is masked only where it is a whole value; choose a longer one',
    'SLASH: the value is too common to be masked; choose another one',
  ]);
});

test('counts masked values and bytes', () => {
  const scrubber = scrubberOf('walnut-tree');
  scrubber.text('walnut-tree, walnut-tree!');
  expect([scrubber.scannedBytes, scrubber.maskedCount, scrubber.maskedBytes]).toEqual([25, 2, 22]);
});
