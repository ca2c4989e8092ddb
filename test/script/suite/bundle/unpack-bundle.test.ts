import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { linkJudge } from '../../../../src/script/suite/bundle/paths.ts';
import { checkBundle, unpackBundle } from '../../../../src/script/suite/bundle/unpack.ts';

/** Archives here are made byte by byte: a library would not write most of them. */
type Entry = {
  name: string;
  type?: string;
  link?: string;
  body?: string | Buffer;
  size?: number;
  mode?: number;
};

function header({ name, type = '0', link = '', body = '', size, mode = 0o644 }: Entry): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  block.write(name, 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size ?? Buffer.byteLength(body), 11), 124);
  block.write(octal(0, 11), 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(link, 157, 100);
  block.write('ustar\0' + '00', 257);
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  return block;
}

function blocks(entry: Entry): Buffer {
  const body = Buffer.from(entry.body ?? '');
  return Buffer.concat([header(entry), body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** A header before the header, with a path or link of any length or letters. */
function pax(fields: Record<string, string>): Entry {
  const record = (key: string, value: string): string => {
    const text = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(text);
    while (length !== Buffer.byteLength(text) + String(length).length)
      length = Buffer.byteLength(text) + String(length).length;
    return length + text;
  };
  const body = Object.entries(fields)
    .map(([key, value]) => record(key, value))
    .join('');
  return { name: 'PaxHeader', type: 'x', body };
}

const end = Buffer.alloc(1024);
const tar = (...entries: Entry[]): Buffer => Buffer.concat([...entries.map(blocks), end]);
const file = (name: string, body = 'text'): Entry => ({ name, body });
const symlink = (name: string, link: string): Entry => ({ name, type: '2', link });
const folderEntry = (name: string): Entry => ({ name, type: '5', mode: 0o755 });

let base: string;
let place: string;
let count = 0;
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'unpack-')));
});
afterAll(() => rm(base, { recursive: true, force: true }));
beforeEach(async () => {
  place = join(base, String(++count));
  await mkdir(place);
});

async function unpack(
  bytes: Buffer,
  options: { limits?: { unpackedBytes: number; entries: number }; signal?: AbortSignal } = {},
) {
  const archive = join(place, 'bundle.tgz');
  await writeFile(archive, bytes);
  return unpackBundle({
    archive,
    folder: join(place, 'tree'),
    signal: options.signal ?? new AbortController().signal,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
}
const inTree = (path: string) => join(place, 'tree', path);
const unpackTar = (...entries: Entry[]) => unpack(gzipSync(tar(...entries)));

async function failureOf(work: Promise<unknown>): Promise<{ name: string; code: string; message: string }> {
  const error = (await work.then(
    () => new Error('it was unpacked'),
    (thrown: unknown) => thrown,
  )) as Error & { reason?: { code: string }; code?: string }; // SuiteFailed has a reason, AgentError a code
  return { name: error.name, code: error.reason?.code ?? error.code ?? '', message: error.message };
}
const invalid = (words: string) => ({
  name: 'SuiteFailed',
  code: 'BUNDLE_INVALID',
  message: expect.stringContaining(words) as string,
});

test('files, folders, links within the folder and file modes', async () => {
  const long = `${'folder/'.repeat(40)}file.txt`;
  const counts = await unpackTar(
    folderEntry('./'),
    folderEntry('src'),
    file('./package.json', '{}'),
    { ...file('bin/run.sh', '#!/bin/sh'), mode: 0o6755 },
    file('src/a.ts', ''),
    symlink('node_modules/a', '../src'),
    symlink('self', '.'),
    symlink('later', 'not/there/yet'),
    { name: 'hard.json', type: '1', link: './package.json' },
    pax({ path: long }),
    file('short'),
    pax({ path: 'größe/名前.txt' }),
    file('short'),
  );
  expect(counts).toEqual({ files: 9, bytes: 19 });
  expect(await readFile(inTree('package.json'), 'utf8')).toBe('{}');
  expect(await readFile(inTree('hard.json'), 'utf8')).toBe('{}');
  expect(await readFile(inTree(long), 'utf8')).toBe('text');
  expect(await readFile(inTree('größe/名前.txt'), 'utf8')).toBe('text');
  expect(await readFile(inTree('node_modules/a/a.ts'), 'utf8')).toBe('');
  expect(await readlink(inTree('later'))).toBe('not/there/yet');
  const umask = process.umask();
  expect((await stat(inTree('bin/run.sh'))).mode & 0o7777).toBe(0o755 & ~umask);
  expect((await stat(inTree('package.json'))).mode & 0o7777).toBe(0o644 & ~umask);
});

test('entries outside the folder are refused, and nothing is written there', async () => {
  const refusals: [Entry[], string][] = [
    [[file('../evil')], 'has a path with ".."'],
    [[file('a/../../evil')], 'has a path with ".."'],
    [[file('/evil')], 'has an absolute path'],
    [[pax({ path: '/tmp/evil' }), file('x')], 'has an absolute path'],
    [[pax({ path: '../evil' }), file('x')], 'has a path with ".."'],
    [[pax({ path: 'a\0b' }), file('x')], 'zero byte'],
    [[folderEntry('../evil')], 'has a path with ".."'],
    [[symlink('out', '..')], 'leads out of the folder'],
    [[symlink('out', '/etc')], 'a link to an absolute path'],
    [[symlink('a/out', '../../b')], 'leads out of the folder'],
    [[symlink('out', '')], 'without a usable target'],
    // By its name only, this one would stay inside.
    [[file('deep/er/x'), symlink('deep/er/up', '../..'), symlink('y', 'deep/er/up/../..')], 'leads out'],
    [[symlink('y', 'deep/er/up/../..'), symlink('deep/er/up', '../..')], 'leads out'],
    [[symlink('a', 'b'), symlink('b', 'c'), symlink('c', '..')], 'leads out of the folder'],
    [[symlink('a', 'b'), symlink('b', 'a')], 'leads back to itself'],
    [[symlink('a', 'a/x')], 'leads back to itself'],
    // Through a link, in either order.
    [
      [folderEntry('real'), symlink('door', 'real'), file('door/evil')],
      'appears twice, as a link and as a directory',
    ],
    [[file('door/evil'), symlink('door', 'real')], 'appears twice, as a directory and as a link'],
    [[symlink('door', '../outside'), file('door/evil')], 'appears twice'],
    [[symlink('evil', '../outside'), file('evil')], 'appears twice, as a link and as a file'],
    [[{ name: 'passwd', type: '1', link: '/etc/passwd' }], 'hard link that leads out'],
    [[{ name: 'passwd', type: '1', link: '../../etc/passwd' }], 'hard link that leads out'],
    [[{ name: 'passwd', type: '1', link: 'nothing' }], 'is not an earlier file'],
    [[folderEntry('d'), { name: 'x', type: '1', link: 'd' }], 'is not an earlier file'],
    [[{ name: 'pipe', type: '6' }], 'is a fifo'],
    [[{ name: 'null', type: '3' }], 'is a character-device'],
    [[{ name: 'sda', type: '4' }], 'is a block-device'],
    [[{ name: 'odd', type: 'S' }], 'unknown kind'],
    [[pax({ 'GNU.sparse.major': '1' }), file('x')], 'sparse'],
    [[file('a'), file('a/b')], 'appears twice, as a file and as a directory'],
    [
      [file(`${'x'.repeat(256)}`.slice(0, 99)), pax({ path: 'x'.repeat(256) }), file('x')],
      'a name of more than 255',
    ],
    [[pax({ path: 'x/'.repeat(600) }), file('x')], 'a path of more than 1024'],
    [[folderEntry('only')], 'contains no files'],
  ];
  for (const [entries, words] of refusals) {
    const failure = await failureOf(unpackTar(...entries));
    expect(failure, JSON.stringify(entries).slice(0, 200)).toEqual(invalid(words));
    await rm(join(place, 'tree'), { recursive: true, force: true });
  }
  expect((await readdir(place)).sort()).toEqual(['bundle.tgz']);
});

test('a repeated name replaces the file, and not its hard links', async () => {
  await unpackTar(
    file('./package.json', 'old'),
    { name: 'kept', type: '1', link: 'package.json' },
    file('package.json', 'new'),
    symlink('link', 'a'),
    symlink('link', 'package.json'),
    { name: 'second', type: '1', link: 'link' },
  );
  expect(await readFile(inTree('package.json'), 'utf8')).toBe('new');
  expect(await readFile(inTree('kept'), 'utf8')).toBe('old');
  expect(await readFile(inTree('link'), 'utf8')).toBe('new');
  expect((await lstat(inTree('second'))).isSymbolicLink()).toBe(true);
});

test('sizes and counts are bounded', async () => {
  const small = { unpackedBytes: 1024 * 1024, entries: 100 };
  const many = Array.from({ length: 101 }, (_, i) => file(`f${i}`, ''));
  expect(await failureOf(unpack(gzipSync(tar(...many)), { limits: small }))).toEqual(
    invalid('more than 100 entries'),
  );
  // Folders that no entry names count as well.
  const deep = file(`${'d/'.repeat(45)}x`, '');
  const other = file(`${'e/'.repeat(45)}x`, '');
  const third = file(`${'f/'.repeat(45)}x`, '');
  await rm(join(place, 'tree'), { recursive: true });
  expect(await failureOf(unpack(gzipSync(tar(deep, other, third)), { limits: small }))).toEqual(
    invalid('more than 100 entries'),
  );
  await rm(join(place, 'tree'), { recursive: true });
  const bomb = gzipSync(tar(file('zeros', '\0'.repeat(2 * 1024 * 1024))));
  expect(bomb.length).toBeLessThan(10_000);
  expect(await failureOf(unpack(bomb, { limits: small }))).toEqual(invalid('more than 1 MB'));
  await rm(join(place, 'tree'), { recursive: true });
  const claims = gzipSync(Buffer.concat([header({ name: 'x', size: 0o77777777777 }), end]));
  expect(await failureOf(unpack(claims))).toEqual(invalid('more than 2048 MB'));
});

test('a bomb of gigabytes is given up in time and in constant memory', { timeout: 60_000 }, async () => {
  const archive = join(place, 'bomb.tgz');
  const zeros = Buffer.alloc(1024 * 1024);
  await pipeline(
    Readable.from(
      (function* () {
        for (let i = 0; i < 200; i++) {
          yield header({ name: `f${i}`, size: zeros.length });
          yield zeros;
        }
      })(),
    ),
    createGzip({ level: 1 }),
    createWriteStream(archive),
  );
  const before = process.memoryUsage().rss;
  const limits = { unpackedBytes: 150 * 1024 * 1024, entries: 1000 };
  const work = unpackBundle({
    archive,
    folder: join(place, 'tree'),
    limits,
    signal: new AbortController().signal,
  });
  expect(await failureOf(work)).toEqual(invalid('more than 150 MB'));
  expect(process.memoryUsage().rss - before).toBeLessThan(120 * 1024 * 1024);
});

test('200,000 entries are refused before they are all read', { timeout: 60_000 }, async () => {
  const entries = (function* () {
    const thousand = Buffer.concat(Array.from({ length: 1000 }, () => header(folderEntry('again'))));
    for (let i = 0; i < 200; i++) yield thousand;
    yield end;
  })();
  const archive = join(place, 'many.tgz');
  await pipeline(Readable.from(entries), createGzip({ level: 1 }), createWriteStream(archive));
  const folder = join(place, 'tree');
  const work = unpackBundle({ archive, folder, signal: new AbortController().signal });
  expect(await failureOf(work)).toEqual(invalid('more than 100000 entries'));
});

test('headers of long names are bounded', async () => {
  const long = { name: 'PaxHeader', type: 'x', body: Buffer.alloc(3 * 1024 * 1024, 'x') };
  expect(await failureOf(unpackTar(long, file('x')))).toEqual(invalid('a header of more than 256 KB'));
  await rm(join(place, 'tree'), { recursive: true });
  const huge = Buffer.concat([header({ name: 'PaxHeader', type: 'x', size: 1024 ** 3 }), end]);
  expect(await failureOf(unpack(gzipSync(huge)))).toEqual(invalid('Header exceeds max size'));
});

test('damaged archives', async () => {
  const good = gzipSync(tar(file('a', randomBytes(50_000).toString('hex')), file('b')));
  const cases: [Buffer, string][] = [
    [good.subarray(0, good.length - 20_000), 'damaged'],
    [Buffer.from('no archive at all'), 'damaged'],
    [Buffer.alloc(0), 'damaged'],
    [gzipSync(end), 'contains no files'],
    [gzipSync('no tar in it'.repeat(100)), 'not a tar archive'],
    [gzipSync(tar(file('a', 'x'.repeat(5000))).subarray(0, 2048)), 'not a tar archive'],
    [gzipSync(Buffer.concat([tar(file('a')), randomBytes(4096)])), 'not a tar archive'],
  ];
  for (const [bytes, words] of cases) {
    expect(await failureOf(unpack(bytes))).toEqual(invalid(words));
    await rm(join(place, 'tree'), { recursive: true, force: true });
  }
  expect(await failureOf(unpack(Buffer.concat([good, Buffer.from('garbage')])))).toEqual(invalid('damaged'));
  await rm(join(place, 'tree'), { recursive: true });
  // Tapes and some tools fill up with zeros.
  expect(await unpack(Buffer.concat([good, Buffer.alloc(5000)]))).toMatchObject({ files: 2 });
});

test('a truncated archive, and a folder that is in use', async () => {
  const abort = new AbortController();
  const entries = Array.from({ length: 5000 }, (_, i) => file(`f${i}`, 'x'));
  const work = unpack(gzipSync(tar(...entries)), { signal: abort.signal });
  const look = setInterval(() => {
    if (existsSync(join(place, 'tree', 'f9'))) abort.abort(new Error('enough'));
  }, 1);
  expect((await failureOf(work)).message).toBe('enough');
  clearInterval(look);
  expect(await failureOf(unpackTar(file('a')))).toMatchObject({ name: 'AgentError', code: 'INTERNAL' });
});

test('a disk that is full is our own fault', async (context) => {
  const disk = join(place, 'disk');
  await mkdir(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return context.skip('no right to mount a small disk');
  }
  try {
    const archive = join(place, 'bundle.tgz');
    const { signal } = new AbortController();
    const small = Array.from({ length: 100 }, (_, i) => file(`f${i}`, 'x'.repeat(10_000)));
    for (const entries of [[file('large', 'x'.repeat(400_000))], small]) {
      await writeFile(archive, gzipSync(tar(...entries)));
      const folder = join(disk, 'tree');
      expect(await failureOf(unpackBundle({ archive, folder, signal }))).toMatchObject({
        name: 'AgentError',
        code: 'DISK_FULL',
      });
      await rm(folder, { recursive: true });
    }
  } finally {
    execFileSync('umount', [disk]);
  }
});

test('many links are judged in time', () => {
  const links = new Map<string, string>();
  // Each leads through the one before, twice: 2^n without memory.
  links.set('l0', 'real');
  for (let i = 1; i < 60; i++) links.set(`l${i}`, `l${i - 1}/../l${i - 1}`);
  const judge = linkJudge(links);
  expect(judge('l3')).toBe(null);
  expect(judge('l59')).toMatch(/more than 40|leads back/);
});

test('the archive must be the one of the job', async () => {
  const archive = join(place, 'bundle.tgz');
  await writeFile(archive, 'bytes');
  const digest = createHash('sha256').update('bytes').digest('hex');
  await checkBundle({ archive, digest, size: 5 });
  expect(await failureOf(checkBundle({ archive, digest, size: 6 }))).toMatchObject({
    code: 'BUNDLE_UNAVAILABLE',
  });
  expect(await failureOf(checkBundle({ archive, digest: '0'.repeat(64), size: 5 }))).toMatchObject({
    code: 'BUNDLE_UNAVAILABLE',
  });
});
