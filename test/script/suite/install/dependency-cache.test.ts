import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { CachedFolders } from '../../../../src/script/suite/install/dependency-cache.ts';
import { cacheIn, dataFolder } from '../../../helpers/suites/suite-install.ts';

/** The cache of installed dependencies: complete entries only, limited in size, and shared safely. */

const root = mkdtempSync(join(tmpdir(), 'dependency-cache-'));
afterAll(() => {
  for (const each of [root, dataFolder]) rmSync(each, { recursive: true, force: true });
});

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(root, 'cache-'))));

const keyOf = (digit: string) => digit.repeat(64);

/** A run's folders with a bundle of two packages. */
function bundle(): CachedFolders {
  const own = mkdtempSync(join(root, 'run-'));
  const folders = { project: join(own, 'project'), programs: join(own, 'home', 'programs') };
  put(folders.project, 'package.json', '{}');
  put(folders.project, 'packages/cart/package.json', '{}');
  put(folders.project, 'packages/cart/cli.js', '#!/usr/bin/env node\n');
  return folders;
}

function put(below: string, path: string, text: string): void {
  mkdirSync(dirname(join(below, path)), { recursive: true });
  writeFileSync(join(below, path), text);
}

/** What an install leaves. */
function install({ project, programs }: CachedFolders, text = 'one'): void {
  put(project, 'node_modules/a/index.js', text);
  put(project, 'node_modules/.bin/.keep', '');
  symlinkSync('../a/index.js', join(project, 'node_modules/.bin/a'));
  symlinkSync('../packages/cart', join(project, 'node_modules/cart'));
  put(project, 'packages/cart/node_modules/b/index.js', 'b');
  chmodSync(join(project, 'packages/cart/cli.js'), 0o755);
  put(programs, 'lib/pnpm.js', 'pnpm');
}

type Cache = ReturnType<typeof cacheIn>['cache'];

async function installAndKeep(cache: Cache, key: string, more: { text?: string; replace?: boolean } = {}) {
  const folders = bundle();
  const before = await cache.before(folders);
  if (before === null) throw new Error('nothing could be listed');
  install(folders, more.text);
  const draft = await cache.draft(key, {
    before,
    replace: more.replace ?? false,
    signal: new AbortController().signal,
  });
  await draft?.publish();
  return draft;
}

async function taken(cache: Cache, key: string): Promise<CachedFolders | null> {
  const folders = bundle();
  return (await cache.take(key, folders, new AbortController().signal)) ? folders : null;
}

const entries = () => readdirSync(folder).sort();

test('files behind a link in place of the folder are not copied', async () => {
  const { cache, said } = cacheIn(folder);
  const folders = bundle();
  put(folders.programs, 'bin/yarn', '');
  const other = mkdtempSync(join(root, 'other-'));
  put(other, 'bin/yarn', '');
  put(other, 'key', 'of the agent');
  const before = await cache.before(folders);
  if (before === null) throw new Error('nothing could be listed');
  rmSync(folders.programs, { recursive: true });
  symlinkSync(other, folders.programs);
  const { signal } = new AbortController();
  expect(await cache.draft(keyOf('a'), { before, replace: false, signal })).toBe(null);
  expect(said.at(-1)).toBe('Dependencies are not cached: the install has replaced the folder programs');
  expect(entries()).toEqual([]);
});

test('the files of an install are restored with links and modes, and not shared', async () => {
  const { cache, said } = cacheIn(folder);
  expect(await taken(cache, keyOf('a'))).toBe(null);
  await installAndKeep(cache, keyOf('a'));
  expect(said).toEqual(['Dependencies are cached for the next runs']);

  const first = await taken(cache, keyOf('a'));
  if (first === null) throw new Error('nothing came back');
  const { project, programs } = first;
  expect(readFileSync(join(project, 'node_modules/.bin/a'), 'utf8')).toBe('one');
  expect(readlinkSync(join(project, 'node_modules/cart'))).toBe('../packages/cart');
  expect(readFileSync(join(project, 'node_modules/cart/node_modules/b/index.js'), 'utf8')).toBe('b');
  expect(statSync(join(project, 'packages/cart/cli.js')).mode & 0o111).toBe(0o111);
  expect(readFileSync(join(programs, 'lib/pnpm.js'), 'utf8')).toBe('pnpm');
  expect(lstatSync(join(project, 'node_modules/a/index.js')).nlink).toBe(1);

  // What a suite then does to its own copy is its own affair.
  writeFileSync(join(project, 'node_modules/a/index.js'), 'changed');
  const second = await taken(cache, keyOf('a'));
  expect(readFileSync(join(second?.project ?? '', 'node_modules/a/index.js'), 'utf8')).toBe('one');
  expect(entries()).toEqual([keyOf('a')]);
});

test('output of tests, and runs that do not pass, are not cached', async () => {
  const { cache } = cacheIn(folder);
  const folders = bundle();
  const before = await cache.before(folders);
  if (before === null) throw new Error('nothing could be listed');
  install(folders);
  const draft = await cache.draft(keyOf('a'), {
    before,
    replace: false,
    signal: new AbortController().signal,
  });
  put(folders.project, 'node_modules/a/poison.js', 'x');
  expect(await taken(cache, keyOf('a'))).toBe(null);
  await draft?.publish();
  expect(existsSync(join((await taken(cache, keyOf('a')))?.project ?? '', 'node_modules/a/poison.js'))).toBe(
    false,
  );

  const other = await cache.draft(keyOf('b'), {
    before,
    replace: false,
    signal: new AbortController().signal,
  });
  await other?.discard();
  expect(entries()).toEqual([keyOf('a')]);
});

test('two runs with one key: the first entry is kept, a refresh replaces it', async () => {
  const { cache } = cacheIn(folder);
  await Promise.all([1, 2, 3].map(() => installAndKeep(cache, keyOf('a'), { text: 'one' })));
  await installAndKeep(cache, keyOf('a'), { text: 'two' });
  const content = async () =>
    readFileSync(join((await taken(cache, keyOf('a')))?.project ?? '', 'node_modules/a/index.js'), 'utf8');
  expect(await content()).toBe('one');
  await installAndKeep(cache, keyOf('a'), { text: 'three', replace: true });
  expect(await content()).toBe('three');
  expect(entries()).toEqual([keyOf('a')]);
});

test('reads during replacement and eviction get a complete entry or none', async () => {
  const { cache } = cacheIn(folder);
  await installAndKeep(cache, keyOf('a'));
  let whole = 0;
  const takers = Array.from({ length: 20 }, async () => {
    const folders = bundle();
    const hit = await cache.take(keyOf('a'), folders, new AbortController().signal);
    if (hit) whole += 1;
    expect(existsSync(join(folders.project, 'node_modules/a/index.js'))).toBe(hit);
    expect(existsSync(join(folders.project, 'packages/cart/node_modules/b/index.js'))).toBe(hit);
  });
  const changers = Array.from({ length: 5 }, () => installAndKeep(cache, keyOf('a'), { replace: true }));
  await Promise.all([...takers, ...changers]);
  expect(whole).toBeGreaterThan(0);
  expect(entries()).toEqual([keyOf('a')]);
});

describe('an entry that can not be used', () => {
  test.each<[string, (entry: string) => void, RegExp]>([
    [
      'lacks a file',
      (entry) => rmSync(join(entry, 'project/node_modules/a/index.js')),
      /differs from what was stored/,
    ],
    [
      'has a longer file',
      (entry) => put(entry, 'project/node_modules/a/index.js', 'longer'),
      /differs from what was stored/,
    ],
    [
      'lacks a folder',
      (entry) => rmSync(join(entry, 'project/packages'), { recursive: true }),
      /not used: cp: /,
    ],
    ['has no whole manifest', (entry) => put(entry, 'manifest.json', '{"project":'), /not used: /],
    [
      'names a path outside',
      (entry) => {
        const file = join(entry, 'manifest.json');
        put(
          entry,
          'manifest.json',
          readFileSync(file, 'utf8').replace('"node_modules"', '"../node_modules"'),
        );
      },
      /no usable manifest/,
    ],
  ])('%s: the run installs again in unchanged folders', async (_, damage, told) => {
    const { cache, said } = cacheIn(folder);
    await installAndKeep(cache, keyOf('a'));
    damage(join(folder, keyOf('a')));
    const folders = bundle();
    expect(await cache.take(keyOf('a'), folders, new AbortController().signal)).toBe(false);
    expect(said.at(-1)).toMatch(told);
    expect(readdirSync(folders.project).sort()).toEqual(['package.json', 'packages']);
    expect(readdirSync(join(folders.project, 'packages/cart')).sort()).toEqual(['cli.js', 'package.json']);
  });

  test('nothing is written through a folder of the bundle that is a link', async () => {
    const { cache, said } = cacheIn(folder);
    await installAndKeep(cache, keyOf('a'));
    const folders = bundle();
    const outside = mkdtempSync(join(root, 'outside-'));
    rmSync(join(folders.project, 'packages/cart'), { recursive: true });
    symlinkSync(outside, join(folders.project, 'packages/cart'));
    expect(await cache.take(keyOf('a'), folders, new AbortController().signal)).toBe(false);
    expect(said.at(-1)).toMatch(/no folder of its own packages\/cart/);
    expect(readdirSync(outside)).toEqual([]);
  });
});

test('an install that changes files of the bundle is not cached; a lock file may change', async () => {
  const { cache, said } = cacheIn(folder);
  const folders = bundle();
  put(folders.project, 'package-lock.json', '{}');
  put(folders.project, 'src/config.ts', 'a');
  const before = await cache.before(folders);
  if (before === null) throw new Error('nothing could be listed');
  install(folders);
  put(folders.project, 'package-lock.json', '{"a":1}');
  const draft = await cache.draft(keyOf('a'), {
    before,
    replace: false,
    signal: new AbortController().signal,
  });
  await draft?.discard();
  expect(draft).not.toBe(null);
  put(folders.project, 'src/config.ts', 'other');
  expect(
    await cache.draft(keyOf('a'), { before, replace: false, signal: new AbortController().signal }),
  ).toBe(null);
  expect(said).toEqual([
    'Dependencies are not cached: the install changed a file of the bundle: src/config.ts',
  ]);
  expect(entries()).toEqual([]);
});

test('the least recently used entries are evicted first, and those unused for 30 days', async () => {
  const size = 'one'.length + 'b'.length + 'pnpm'.length;
  let now = Date.now();
  const { cache, said } = cacheIn(folder, { maxBytes: 3 * size, now: () => now });
  for (const digit of ['a', 'b', 'c']) {
    await installAndKeep(cache, keyOf(digit));
    now += 1000;
  }
  expect(await taken(cache, keyOf('a'))).not.toBe(null);
  now += 1000;
  await installAndKeep(cache, keyOf('d'));
  expect(entries()).toEqual([keyOf('a'), keyOf('c'), keyOf('d')]);

  now += 29 * 24 * 60 * 60_000;
  expect(await taken(cache, keyOf('c'))).not.toBe(null);
  now += 2 * 24 * 60 * 60_000;
  await installAndKeep(cache, keyOf('e'));
  expect(entries()).toEqual([keyOf('c'), keyOf('e')]);

  await installAndKeep(cache, keyOf('f'), { text: 'x'.repeat(4 * size) });
  expect(said.at(-1)).toMatch(
    /^Dependencies are not cached: the install left \d+ bytes, and there is room for \d+$/,
  );
  expect(entries()).toEqual([keyOf('c'), keyOf('e')]);
});

test('files of killed processes are deleted by the next run that stores an entry', async () => {
  const { cache } = cacheIn(folder);
  const { pid } = spawnSync('true');
  for (const name of [
    `.draft-${pid}-x`,
    `.gone-${pid}-x`,
    `.draft-${process.pid}-of-the-one-before`,
    '.draft-1-old',
  ])
    put(join(folder, name), 'project/file', 'x');
  const long = new Date(Date.now() - 24 * 60 * 60_000);
  utimesSync(join(folder, '.draft-1-old'), long, long);
  put(join(folder, '.draft-1-x'), 'project/file', 'x');
  await installAndKeep(cache, keyOf('a'));
  expect(entries()).toEqual(['.draft-1-x', keyOf('a')]);
});

test('a read-only folder disables only the cache', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const { cache, said } = cacheIn(join(file, 'below'));
  expect(await taken(cache, keyOf('a'))).toBe(null);
  expect(await installAndKeep(cache, keyOf('a'))).toBe(null);
  expect(said.at(-1)).toMatch(/^Dependencies are not cached: ENOTDIR/);
});

test('a run that is cancelled while it copies is cancelled', async () => {
  const { cache } = cacheIn(folder);
  await installAndKeep(cache, keyOf('a'));
  const reason = new Error('cancelled');
  await expect(cache.take(keyOf('a'), bundle(), AbortSignal.abort(reason))).rejects.toBe(reason);
});
