import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pack, type Header } from 'tar-stream';
import { SuiteFailed } from '../../../src/script/suite/place/place.ts';
import { unpackBundle } from '../../../src/script/suite/bundle/unpack.ts';

/** Code bundles: an archive is unpacked inside its folder or refused as invalid, and takes no more room than allowed. */

export const name = 'bundle-archive';
export const maxBytes = 16 * 1024;

let root: string | null = null;
let runs = 0;

/** The first byte says whether the rest is an archive that has to be packed first (even) or is packed (odd). */
export async function run(data: Buffer): Promise<void> {
  root ??= mkdtempSync(join(tmpdir(), 'fuzz-bundle-'));
  const bytes = data.subarray(1);
  const archive = join(root, 'archive');
  writeFileSync(archive, (data[0] ?? 0) % 2 === 0 ? gzipSync(bytes, { level: 1 }) : bytes);
  const folder = join(root, `run-${(runs += 1)}`);
  const limits = { files: 50, unpackedBytes: 256 * 1024 };
  try {
    const signal = new AbortController().signal;
    const counts = await unpackBundle({ archive, folder, limits: limits as never, signal }); // fields of the bundle only
    if (counts.files > limits.files || counts.bytes > limits.unpackedBytes)
      throw new Error('over the limits');
    await checkTree(folder);
  } catch (error) {
    if (!(error instanceof SuiteFailed)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Nothing leads out, has a set-id mode or is special. */
async function checkTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) {
    const path = join(folder, entry);
    const status = await lstat(path);
    if (!status.isFile() && !status.isDirectory() && !status.isSymbolicLink())
      throw new Error(`${entry} is special`);
    if (!status.isSymbolicLink() && (status.mode & 0o7000) !== 0)
      throw new Error(`${entry} has a set-id mode`);
    if (!status.isSymbolicLink()) continue;
    const to = resolve(dirname(path), await readlink(path));
    if (to !== folder && !to.startsWith(folder + sep)) throw new Error(`${entry} leads to ${to}`);
  }
}

export const close = (): void => {
  if (root !== null) rmSync(root, { recursive: true, force: true });
};

async function archived(entries: readonly [Partial<Header> & { name: string }, string][]): Promise<Buffer> {
  const tar = pack();
  for (const [header, content] of entries) tar.entry(header, content);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer); // a stream of buffers
  // Without the last blocks of zeros.
  return Buffer.concat(chunks).subarray(0, -512);
}

export const seeds = async (): Promise<Buffer[]> => {
  const tars = [
    await archived([
      [{ name: 'package.json' }, '{"name":"a"}'],
      [{ name: 'tests/', type: 'directory' }, ''],
      [{ name: 'tests/a.spec.ts', mode: 0o6755 }, 'test'],
      [{ name: 'link', type: 'symlink', linkname: 'tests/a.spec.ts' }, ''],
    ]),
    await archived([
      [{ name: 'a', type: 'symlink', linkname: '../..' }, ''],
      [{ name: 'a/b' }, 'outside'],
    ]),
    await archived([
      [{ name: `${'long/'.repeat(60)}x` }, 'a'],
      [{ name: 'b', type: 'link', linkname: 'x' }, ''],
    ]),
    await archived([
      [{ name: '../out' }, 'a'],
      [{ name: '/etc/x' }, 'a'],
      [{ name: 'c\\d' }, 'b'],
    ]),
    await archived([
      [{ name: 'a', pax: { path: 'b', size: '1' } }, 'a'],
      [{ name: 'fifo', type: 'fifo' }, ''],
    ]),
  ];
  return [
    ...tars.map((tar) => Buffer.concat([Buffer.from([0]), tar])),
    ...tars.slice(0, 1).map((tar) => Buffer.concat([Buffer.from([1]), gzipSync(tar)])),
  ];
};

export const dictionary = [
  '../',
  './',
  '/',
  '\0',
  'ustar\0',
  'ustar  \0',
  ' path=',
  ' size=',
  ' linkpath=',
  '30 ',
  '0000644\0',
  '7777777\0',
  'L',
  'K',
  'x',
  'g',
  '1',
  '2',
  '5',
  'S',
  Buffer.from([0x80, 0, 0, 0, 0xff]),
  Buffer.alloc(512),
];
