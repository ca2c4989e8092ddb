import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { browsersFor, findBrowsers, playwrightCaches } from '../../../src/script/playwright/browsers.ts';

/** Which of several folders with Playwright's own builds a runtime gets its browsers from. */

let folder: string;
let runtimeFolder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'browsers-path-'));
  runtimeFolder = join(folder, 'runtime');
  put(
    join(runtimeFolder, 'node_modules', 'playwright-core', 'browsers.json'),
    JSON.stringify({
      browsers: [
        { name: 'chromium', revision: '1200' },
        { name: 'chromium-headless-shell', revision: '1200' },
        { name: 'ffmpeg', revision: '1011' },
      ],
    }),
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(file: string, content = '#!/bin/sh\n'): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { mode: 0o755 });
  return file;
}

const chrome = (place: string, revision = '1200') =>
  put(join(folder, place, `chromium-${revision}`, 'chrome-linux64', 'chrome'));

test('the folder of PLAYWRIGHT_BROWSERS_PATH takes precedence over the usual ones', async () => {
  const own = join(folder, 'own');
  expect(playwrightCaches(own)).toEqual([own, ...playwrightCaches()]);
  const usual = chrome('usual');
  const installed = [own, join(folder, 'usual')];
  const find = () => findBrowsers({ runtimeFolder, installed, chromium: [], ffmpeg: [] });
  expect(await find()).toMatchObject({ chromium: usual, ownBuild: true, ffmpeg: null });
  const first = chrome('own');
  const ffmpeg = put(join(own, 'ffmpeg-1011', 'ffmpeg-linux'));
  expect(await find()).toMatchObject({ chromium: first, ownBuild: true, ffmpeg });
});

test('builds of another revision are passed over', async () => {
  chrome('own', '1100');
  const system = put(join(folder, 'chromium'));
  const options = { runtimeFolder, installed: [join(folder, 'own')], chromium: [system], ffmpeg: [] };
  expect(await findBrowsers(options)).toMatchObject({ chromium: system, ownBuild: false });
});

test('processes may read the folder that the browser is in', async () => {
  const program = chrome('own');
  const options = { runtimeFolder, installed: [join(folder, 'own')], chromium: [], ffmpeg: [] };
  const found = await browsersFor({ ...options, dataFolder: join(folder, 'data'), sandbox: false });
  expect(found.programFolders).toContain(dirname(program));
});
