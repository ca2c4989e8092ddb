import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createBrowserStore } from '../../../../src/script/suite/browsers/store.ts';

/** Browser builds that runs share: which are stored, and how a failure of one run affects others. */

const root = mkdtempSync(join(tmpdir(), 'browser-store-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const folderIn = (name: string) => join(root, name);
const { signal } = new AbortController();
const from = 'http://browsers.example';
const version = '1.58.2';

function put(folder: string, name: string): void {
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, 'INSTALLATION_COMPLETE'), '');
}

test('only requested browsers are stored, and no links', async () => {
  const folder = folderIn('taken');
  const store = createBrowserStore(folder);
  const install = async (draft: string) => {
    put(draft, 'chromium-1');
    put(draft, 'ffmpeg-1');
    put(draft, 'firefox-1');
    symlinkSync('chromium-1', join(draft, 'webkit-1'));
    return Promise.resolve(null);
  };
  expect(await store.add(['chromium-1', 'webkit-1'], { from, version, install, signal })).toBeNull();
  expect(readdirSync(folder).sort()).toEqual(['chromium-1', 'ffmpeg-1']);
});

test('an unavailable browser does not prevent another; an unreachable host does', async () => {
  const store = createBrowserStore(folderIn('notes'));
  let tries = 0;
  const failing = (why: string) => () => Promise.resolve((tries++, why));
  const add = (name: string, why: string) =>
    store.add([name], { from, version, install: failing(why), signal });
  expect(await add('webkit-1', 'no WebKit for this system')).toBe('no WebKit for this system');
  expect(await add('webkit-1', 'another')).toBe('no WebKit for this system');
  expect(tries).toBe(1);
  expect(await add('chromium-1', 'connect ECONNREFUSED')).toBe('connect ECONNREFUSED');
  expect(await add('firefox-1', 'another')).toBe('connect ECONNREFUSED');
  expect(tries).toBe(2);
});

test('a browser missing in one release can be installed by another, whatever its version text', async () => {
  const store = createBrowserStore(folderIn('versions'));
  const why = (of: string) => `Playwright ${of} knows no such browser`;
  const add = (of: string) =>
    store.add(['chromium-1'], { from, version: of, install: () => Promise.resolve(why(of)), signal });
  for (const of of ['99.0.0', '1.0.0-ECONNREFUSED', '1.58.2']) expect(await add(of)).toBe(why(of));
});

test('files of a killed install are never used, and are deleted by the next install', async () => {
  const folder = folderIn('killed');
  const left = join(folder, '.new-1-1');
  mkdirSync(left, { recursive: true });
  put(left, 'chromium-1');
  const store = createBrowserStore(folder);
  expect(await store.find('chromium-1')).toBeNull();
  // Its lock is as old.
  writeFileSync(join(folder, '.lock'), '');
  utimesSync(join(folder, '.lock'), new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
  const install = (draft: string) => Promise.resolve((put(draft, 'firefox-1'), null));
  expect(await store.add(['firefox-1'], { from, version, install, signal })).toBeNull();
  expect(readdirSync(folder)).toEqual(['firefox-1']);
});

test('a run that waits for another install stops at once when it is cancelled', async () => {
  const folder = folderIn('waits');
  const store = createBrowserStore(folder);
  let release = () => undefined as void;
  const held = new Promise<void>((resolve) => (release = resolve));
  let begun = () => undefined as void;
  const installing = new Promise<void>((resolve) => (begun = resolve));
  const first = store.add(['chromium-1'], {
    from,
    version,
    signal,
    install: async (draft) => {
      begun();
      await held;
      put(draft, 'chromium-1');
      return null;
    },
  });
  await installing;
  const cancel = new AbortController();
  const never = () => Promise.reject(new Error('it was not to begin'));
  const second = store.add(['chromium-1'], { from, version, signal: cancel.signal, install: never });
  cancel.abort(new Error('cancelled'));
  await expect(second).rejects.toThrow('cancelled');
  release();
  expect(await first).toBeNull();
  expect(existsSync(join(folder, 'chromium-1'))).toBe(true);
});
