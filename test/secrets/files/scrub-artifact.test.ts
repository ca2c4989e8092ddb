import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync, gunzipSync, gzipSync } from 'node:zlib';
import { openPromise } from 'yauzl';
import { afterAll, describe, expect, test } from 'vitest';
import { scrubArtifact } from '../../../src/secrets/files/scrub-artifact.ts';
import { inPieces } from '../../../src/secrets/files/content.ts';
import { ZipWriter } from '../../../src/secrets/files/zip-writer.ts';
import { makeZip } from './make-zip.ts';
import { leaksIn, openEverything } from '../open-everything.ts';

const folder = mkdtempSync(join(tmpdir(), 'scrub-artifact-'));
const source = join(folder, 'source');
const target = join(folder, 'target');
const secret = 'walnut/tree "42"';
const secrets = [
  { name: 'TOKEN', value: secret },
  { name: 'PIN', value: '424242' },
];
const mask = '*********';

afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Scrubbed = Awaited<ReturnType<typeof scrubArtifact>> & { bytes: Buffer };
async function scrub(
  bytes: Buffer | string,
  name = 'trace.zip',
  more: { maxBytes?: number } = {},
): Promise<Scrubbed> {
  rmSync(target, { force: true });
  writeFileSync(source, bytes);
  const type = name.endsWith('.zip') ? 'trace' : 'file';
  const result = await scrubArtifact(source, target, { name, type, contentType: '', secrets, ...more });
  const out = readFileSync(target);
  expect(result).toMatchObject({
    bytesIn: Buffer.byteLength(bytes),
    bytesOut: out.length,
    sha256: createHash('sha256').update(out).digest('hex'),
  });
  expect(leaksIn(name, out, [secret])).toEqual([]);
  return { ...result, bytes: out };
}
const entriesOf = (zip: Buffer, name = 'zip'): Record<string, string> =>
  Object.fromEntries(
    openEverything(name, zip)
      .filter((place) => !place.name.endsWith('(its name)') && place.name !== name)
      .map((place) => [place.name.slice(name.length + 1), place.bytes.toString()]),
  );

describe('archives', () => {
  test('scrubs entries, their names, and zips within zips; entries without secrets are byte for byte the same', async () => {
    const inner = await makeZip([['deep.txt', `deep ${secret}`]], { stored: true });
    const zip = await makeZip([
      ['plain.txt', 'nothing '.repeat(1000)],
      [`of walnut/tree "42"/notes.txt`, `a ${encodeURIComponent(secret)} b`],
      ['inner.zip', inner],
      ['more/inner2.bin', await makeZip([['twice.zip', inner]])],
    ]);
    const { bytes, maskedCount, note } = await scrub(zip);
    expect(entriesOf(bytes)).toMatchObject({
      'plain.txt': 'nothing '.repeat(1000),
      [`of ${mask}/notes.txt`]: `a ${mask} b`,
      'inner.zip/deep.txt': `deep ${mask}`,
      'more/inner2.bin/twice.zip/deep.txt': `deep ${mask}`,
    });
    expect({ maskedCount, note }).toEqual({ maskedCount: 4, note: undefined });
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(['source', 'target']);
  });

  test('sizes behind the data, stored and packed, empty entries, folders, two entries of one name', async () => {
    for (const options of [{ stream: true }, { stored: true }]) {
      const zip = await makeZip(
        [
          ['a.txt', `one ${secret}`],
          ['a.txt', `two ${secret}`],
          ['empty.txt', ''],
          ['large.txt', `${'x'.repeat(5_000_000)}${secret}`],
          ['largeclean.txt', 'y'.repeat(5_000_000)],
        ],
        options,
      );
      const { bytes } = await scrub(zip);
      const places = openEverything('zip', bytes).filter(({ name }) => name.endsWith('txt'));
      expect(places.map(({ bytes: content }) => content.length)).toEqual([13, 13, 0, 5_000_009, 5_000_000]);
    }
  });

  test('names cannot lead out of the folder; comments and bytes between entries are dropped', async () => {
    const zip = await makeZip([
      ['xx/xx/etc/passwd', 'a'],
      ['xabs/file', 'b'],
    ]);
    const hostile = Buffer.from(
      zip.toString('latin1').replaceAll('xx/xx/etc', '../../etc').replaceAll('xabs/file', '/abs\\file'),
      'latin1',
    );
    const end = hostile.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
    const comment = Buffer.from(`comment ${secret}`);
    hostile.writeUInt16LE(comment.length, end + 20);
    const { bytes } = await scrub(Buffer.concat([hostile, comment]));
    expect(Object.keys(entriesOf(bytes))).toEqual(['_/_/etc/passwd', 'abs/file']);
  });

  test('an unreadable entry is replaced by a line and noted; the rest is kept', async () => {
    const zip = await makeZip([
      ['good.txt', `good ${secret}`],
      ['encrypted.txt', 'e'.repeat(100)],
      ['broken.txt', 'b'.repeat(100)],
      ['archive.7z', Buffer.concat([Buffer.from('377abcaf271c', 'hex'), Buffer.from(secret)])],
      ['inner.zip', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.from(`no directory ${secret}`)])],
      ['bad.gz', Buffer.concat([gzipSync('x').subarray(0, 12), Buffer.from(secret)])],
    ]);
    let record = zip.indexOf(
      Buffer.from([0x50, 0x4b, 1, 2]),
      zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 1,
    );
    zip.writeUInt16LE(zip.readUInt16LE(record + 8) | 1, record + 8);
    record = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]), record + 1);
    const data = zip.readUInt32LE(record + 42) + 30 + 'broken.txt'.length;
    zip.fill(0xff, data, data + 3);
    const { bytes, note } = await scrub(zip);
    const left = (why: string): string => `This file was dropped because it could not be scrubbed: ${why}\n`;
    expect(entriesOf(bytes)).toEqual({
      'good.txt': `good ${mask}`,
      'encrypted.txt': left('an encrypted entry of an archive'),
      'broken.txt': left('a broken archive'),
      'archive.7z': left('a file in the unsupported format 7z'),
      'inner.zip': left('a broken archive'),
      'bad.gz': left('a broken gzip file'),
    });
    expect(note).toMatch(/^5 parts were dropped because they could not be scrubbed: .*7z/);
  });

  test('data behind the end of a packed entry is dropped', async () => {
    const content = Buffer.from('c'.repeat(200));
    const zip = await makeZip([['a.txt', content]]);
    // The packed data ends within its field; what follows is never unpacked.
    const packed = Buffer.concat([deflateRawSync(content), Buffer.from(secret)]);
    const directory = Buffer.from(zip.subarray(zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]))));
    const local = Buffer.from(zip.subarray(0, 30 + 5));
    directory.writeUInt32LE(packed.length, 20);
    directory.writeUInt32LE(local.length + packed.length, directory.length - 6);
    const { bytes } = await scrub(Buffer.concat([local, packed, directory]));
    expect(entriesOf(bytes)).toEqual({ 'a.txt': content.toString() });
  });

  test('gzip: unpacked, scrubbed, packed again', async () => {
    const { bytes } = await scrub(gzipSync(`line ${secret}\n`.repeat(50_000)), 'out.log.gz');
    expect(gunzipSync(bytes).toString()).toBe(`line ${mask}\n`.repeat(50_000));
  });

  test.each([
    ['no archive at all', Buffer.from('not a zip'), /a broken archive/],
    ['a cut archive', Buffer.from('PK\x03\x04 and so on'), /a broken archive/],
    ['7z', Buffer.from('377abcaf271c0004', 'hex'), /format 7z/],
  ])('%s is withheld', async (_title, bytes, message) => {
    writeFileSync(source, bytes);
    rmSync(target, { force: true });
    await expect(
      scrubArtifact(source, target, {
        name: 'trace.zip',
        type: 'trace',
        contentType: 'application/zip',
        secrets,
      }),
    ).rejects.toMatchObject({ code: 'UNSCRUBBABLE', message: expect.stringMatching(message) as string });
    expect(existsSync(target)).toBe(false);
    expect(readdirSync(folder)).toEqual(['source']);
  });

  test('bombs are withheld: too large, too many, too deep', async () => {
    const zeros = await makeZip([['zeros', Buffer.alloc(20_000_000)]]);
    await expect(scrub(zeros, 'trace.zip', { maxBytes: 10_000_000 })).rejects.toThrow(
      'it unpacks to more than 10000000 bytes, the limit for scrubbing',
    );
    const packed = gzipSync(Buffer.alloc(20_000_000));
    await expect(scrub(packed, 'x.gz', { maxBytes: 10_000_000 })).rejects.toThrow('it unpacks to more than');
    let deep = await makeZip([['end.txt', secret]]);
    for (let i = 0; i < 6; i++) deep = await makeZip([['next.zip', deep]]);
    const { bytes, note } = await scrub(deep);
    expect(note).toContain('archives within archives, more than 4 deep');
    expect(bytes.includes('end.txt')).toBe(false);
    // A size that lies: the directory says 10, the data unpacks to 20 million.
    const lying = Buffer.from(zeros);
    lying.writeUInt32LE(10, lying.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 24);
    expect((await scrub(lying)).note).toContain('a broken archive');
  });

  test('more entries than a directory of 16 bits counts', async () => {
    rmSync(target, { force: true });
    const writer = new ZipWriter(target);
    const count = 66_000;
    for (let i = 0; i < count; i++) {
      const head = { name: Buffer.from(`${i}`), utf8: true, time: 0, date: 33 };
      await writer.copy(head, { method: 0, crc: 0, unpacked: 0 }, inPieces(Buffer.alloc(0)));
    }
    writer.finish();
    const zip = await openPromise(target);
    expect(zip.entryCount).toBe(count);
    zip.close();
  });
});

describe('traces', () => {
  const digest = '424242aabbccddeeff00112233445566778899aa';
  const page = 'page@0123456789abcdef0123424242abcdef';
  const scrubLines = async (...events: unknown[]): Promise<unknown[]> => {
    const text = events.map((event) => `${JSON.stringify(event)}\n`).join('');
    const { bytes } = await scrub(await makeZip([['0-trace.trace', text]]));
    const lines = (entriesOf(bytes)['0-trace.trace'] ?? '').split('\n');
    expect(lines.pop()).toBe('');
    return lines.map((line) => JSON.parse(line) as unknown);
  };

  test('references and numbers stay, so that the trace opens; the same value elsewhere is masked', async () => {
    const kept = {
      type: 'x',
      sha1: digest,
      _sha1: `${digest}.html`,
      bodySha1: digest,
      file: `screencast/${page}-1424242.jpeg`,
      pageref: page,
      pageId: page,
      downloadsPath: '/tmp/424242/d',
      tracesDir: '/tmp/424242',
      time: 1_424_242.5,
      n: 424242,
    };
    expect(await scrubLines({ ...kept, text: 'pin 424242', sub: { sha1: secret, file: '424242' } })).toEqual([
      { ...kept, text: `pin ${mask}`, sub: { sha1: mask, file: mask } },
    ]);
  });

  test('a resource keeps the name that the trace has for it, also when part of it is like a secret', async () => {
    const zip = await makeZip([
      [`resources/${digest}.html`, `<p>${secret.replaceAll('"', '&quot;')}</p>`],
      [
        '0-trace.network',
        `${JSON.stringify({ snapshot: { response: { content: { _sha1: `${digest}.html` } } } })}\n`,
      ],
    ]);
    expect(entriesOf((await scrub(zip)).bytes)).toEqual({
      [`resources/${digest}.html`]: `<p>${mask}</p>`,
      '0-trace.network': `{"snapshot":{"response":{"content":{"_sha1":"${digest}.html"}}}}\n`,
    });
  });

  test('only names that are digests are kept: no folder above them, no secret of the same length', async () => {
    const token = 'c0ffee'.repeat(7).slice(0, 40);
    const zip = await makeZip([
      [`of 424242/${digest}.png`, 'picture'],
      [`resources/src@${digest}.txt`, 'source'],
      [`data/${token}.png`, 'picture'],
    ]);
    writeFileSync(source, zip);
    await scrubArtifact(source, target, {
      name: 'report.zip',
      type: 'report',
      contentType: '',
      secrets: [...secrets, { name: 'KEY', value: token }],
    });
    expect(Object.keys(entriesOf(readFileSync(target)))).toEqual([
      `of ${mask}/${mask}aabbccddeeff00112233445566778899aa.png`,
      `resources/src@${digest}.txt`,
      `data/${mask}.png`,
    ]);
  });

  test('a duplicate key and a broken line with headers hide no secret', async () => {
    const trace = [
      `{"type":"a","text":"pin 424242","text":"shown"}`,
      `{"type":"b","n":424242}`,
      `{"request":{"headers":[{"name":"Cookie","value":"hush`,
    ].join('\n');
    const { bytes, note } = await scrub(await makeZip([['0-trace.trace', trace]]));
    expect(entriesOf(bytes)['0-trace.trace']?.split('\n')).toEqual([
      `{"type":"a","text":"shown"}`,
      `{"type":"b","n":424242}`,
      '{}',
    ]);
    expect(note).toContain('a broken line with headers');
  });

  test('sensitive headers, cookies and request logs, whatever the secrets are', async () => {
    const pairs = (value: string): { name: string; value: string }[] => [
      { name: 'Authorization', value },
      { name: 'x-api-KEY', value },
      { name: 'Accept', value: '*/*' },
    ];
    expect(
      await scrubLines(
        { type: 'a', request: { headers: pairs('hush'), cookies: [{ name: 'sid', value: 'hush' }] } },
        {
          type: 'before',
          params: { headers: { cookie: 'hush', 'Set-Cookie': ['hush', 'hush'], other: 'shown' } },
        },
        { type: 'flat', rawHeaders: ['X-Auth-Token', 'hush', 'Date', 'today'] },
        { type: 'log', message: '  Proxy-Authorization: Basic hush' },
        { type: 'options', options: { httpCredentials: { username: 'me', password: 'hush' } } },
        {
          type: 'error',
          text: 'no\nCall log:\n\u001b[2m    - cookie: hush; hush\u001b[22m\n  - accept: all',
        },
        { type: 'authors', html: ['P', {}, 'Cookie', 'policy'] },
      ),
    ).toEqual([
      {
        type: 'a',
        request: {
          headers: pairs(mask).with(2, { name: 'Accept', value: '*/*' }),
          cookies: [{ name: 'sid', value: mask }],
        },
      },
      { type: 'before', params: { headers: { cookie: mask, 'Set-Cookie': [mask, mask], other: 'shown' } } },
      { type: 'flat', rawHeaders: ['X-Auth-Token', mask, 'Date', 'today'] },
      { type: 'log', message: `  Proxy-Authorization: ${mask}` },
      { type: 'options', options: { httpCredentials: { username: 'me', password: mask } } },
      // A text with a masked header loses its colours.
      { type: 'error', text: `no\nCall log:\n    - cookie: ${mask}\n  - accept: all` },
      { type: 'authors', html: ['P', {}, 'Cookie', 'policy'] },
    ]);
  });

  test('secrets in escapes, in colours, cut short, in keys; lines stay JSON', async () => {
    const coloured = 'walnut/tree \u001b[7m"\u001b[27m42\u001b[7m"\u001b[27m';
    expect(
      await scrubLines(
        { type: 'a', text: JSON.stringify({ inner: JSON.stringify(secret) }) },
        { type: 'b', text: `diff ${coloured}` },
        { type: 'c', title: 'Fill "walnut/tr…' },
        { type: 'd', args: { [secret]: 1, [mask]: 2 } },
        { type: 'e', value: '424242', exact: 424242 },
      ),
    ).toEqual([
      { type: 'a', text: `{"inner":"\\"${mask}\\""}` },
      { type: 'b', text: `diff ${mask}` },
      { type: 'c', title: `Fill "${mask}…` },
      { type: 'd', args: { [mask]: 1, [`${mask}*`]: 2 } },
      { type: 'e', value: mask, exact: 424242 },
    ]);
  });

  test('several secrets in one line, each in another form', async () => {
    const escapes = '\\u0034\\u0032\\u0034\\u0032\\u0034\\u0032';
    const line = JSON.stringify({
      type: 'a',
      plain: 'nothing to hide',
      pin: 'of 424242 and 424242',
      quoted: `a ${secret} b`,
      accent: 'é 424242 ü',
      fields: { 'key 424242': ['more of nothing', `x\n${encodeURIComponent(secret)}`] },
      again: 'ESCAPES',
    });
    const { bytes } = await scrub(
      await makeZip([['0-trace.trace', `${line}\n{}\n${line.replace('ESCAPES', escapes)}\n`]]),
    );
    const clean = {
      type: 'a',
      plain: 'nothing to hide',
      pin: `of ${mask} and ${mask}`,
      quoted: `a ${mask} b`,
      accent: `é ${mask} ü`,
      fields: { [`key ${mask}`]: ['more of nothing', `x\n${mask}`] },
    };
    const lines = (entriesOf(bytes)['0-trace.trace'] ?? '').split('\n').slice(0, 3);
    expect(lines.map((each) => JSON.parse(each) as unknown)).toEqual([
      { ...clean, again: 'ESCAPES' },
      {},
      { ...clean, again: mask },
    ]);
  });

  test('a secret that is JSON, lines that are not JSON, a line that is too long', async () => {
    const json = '{"private_key":"abc","id":"def"}';
    writeFileSync(
      source,
      await makeZip([
        ['test.trace', `{"type":"ok"}\n{"type":"event","params":${json}}\n{ not json ${secret}\n`],
        ['1.trace', `{"text":"${'z'.repeat(9_000_000)}"}\n{"type":"after"}\n`],
      ]),
    );
    const { note } = await scrubArtifact(source, target, {
      name: 'trace.zip',
      type: 'trace',
      contentType: '',
      secrets: [...secrets, { name: 'KEY_FILE', value: json }],
    });
    expect(entriesOf(readFileSync(target))).toEqual({
      'test.trace': `{"type":"ok"}\n{}\n{ not json ${mask}\n`,
      '1.trace': '{"type":"after"}\n',
    });
    expect(note).toContain('2 parts were dropped');
  });
});

describe('reports', () => {
  test('the archive inside an HTML report, in each format of such reports', async () => {
    const zip = await makeZip([
      [
        'report.json',
        JSON.stringify({ stdout: secret, headers: [{ name: 'cookie', value: 'hush' }], duration: 424242 }),
      ],
      ['data.zip', await makeZip([['0-trace.trace', `${JSON.stringify({ text: secret })}\n`]])],
    ]);
    const base64 = zip.toString('base64');
    for (const [before, after] of [
      ['<script>window.playwrightReportBase64 = "data:application/zip;base64,', '";</script>'],
      ['<template id="playwrightReportBase64">data:application/zip;base64,', '</template>'],
      [
        '<script id="playwrightReportBase64" type="application/zip">data:application/zip;base64,',
        '</script>',
      ],
    ] as const) {
      const padding = `<!-- ${'p'.repeat(262_144 - before.length - 4)}`;
      const { bytes } = await scrub(
        `<html>${secret}${padding}${before}${base64}${after}${secret}`,
        'index.html',
      );
      const html = bytes.toString();
      expect(html.startsWith(`<html>${mask}${padding}${before}UEsDB`)).toBe(true);
      expect(html.endsWith(`${after}${mask}`)).toBe(true);
      const start = html.indexOf(before) + before.length;
      const inner = Buffer.from(html.slice(start, html.indexOf('<', start)).replace('";', ''), 'base64');
      expect(entriesOf(inner)).toMatchObject({
        'report.json': `{"stdout":"${mask}","headers":[{"name":"cookie","value":"${mask}"}],"duration":424242}`,
        'data.zip/0-trace.trace': `{"text":"${mask}"}\n`,
      });
    }
  });

  test('a JSON report: headers, numbers, attachments, and its layout', async () => {
    const attachment = await makeZip([['in.txt', secret]]);
    const report = (value: string | number, hush: string, body: string): string =>
      JSON.stringify({ n: value, headers: { Authorization: hush }, body }, null, 2);
    const { bytes } = await scrub(report(424242, 'hush', attachment.toString('base64')), 'report.json');
    const { body } = JSON.parse(bytes.toString()) as { body: string };
    expect(bytes.toString()).toBe(report(mask, mask, body));
    expect(entriesOf(Buffer.from(body, 'base64'))).toEqual({ 'in.txt': mask });
  });

  test('base64 text that only looks like an archive is masked; a word that begins like one is kept', async () => {
    const { bytes, note } = await scrub(`UEsDBAo= and UEsDBAoAAA${'A'.repeat(60)} end`, 'a.txt');
    expect(bytes.toString()).toBe(`UEsDBAo= and ${mask} end`);
    expect(note).toContain('a broken archive');
  });

  test('logs: colours within a secret, headers in the log of a request', async () => {
    const text = `first\n\u001b[31mred\u001b[0m\nwalnut/tree \u001b[7m"\u001b[27m42"\nCall log:\n  - → GET /\n    - set-cookie: hush\nlast`;
    expect((await scrub('\u001b[31mred\u001b[0m', 'o.log')).bytes.toString()).toBe('\u001b[31mred\u001b[0m');
    expect((await scrub(text, 'out.log')).bytes.toString()).toBe(
      `first\nred\n${mask}\nCall log:\n  - → GET /\n    - set-cookie: ${mask}\nlast`,
    );
  });
});

test('an abort and a missing source leave no file, and the next artifact is scrubbed', async () => {
  const reason = new Error('enough');
  const options = { name: 'a.txt', type: 'file', contentType: 'text/plain', secrets };
  rmSync(target, { force: true });
  writeFileSync(source, 'x'.repeat(30_000_000));
  const signal = AbortSignal.abort(reason);
  await expect(scrubArtifact(source, target, { ...options, signal })).rejects.toBe(reason);
  await expect(scrubArtifact(join(folder, 'missing'), target, options)).rejects.toMatchObject({
    code: 'ENOENT',
  });
  expect(readdirSync(folder)).toEqual(['source']);
  expect((await scrub(secret, 'a.txt')).maskedCount).toBe(1);
});
