import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ZipFile } from 'yazl';
import { createBrowserStore } from '../../../src/script/suite/browser-store.ts';
import { browserFault, prepareBrowsers } from '../../../src/script/suite/suite-browsers.ts';
import type { SuitePlace } from '../../../src/script/suite/suite-place.ts';
import { wantedBrowsers } from '../../../src/script/suite/wanted-browsers.ts';
import { runPlainly } from '../../helpers/plain-program.ts';
import { runtimesHere } from '../../helpers/runtimes.ts';

let root: string;
const servers: Server[] = [];
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'suite-browsers-'))));
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
  rmSync(root, { recursive: true, force: true });
});

const runtime = runtimesHere[0] ?? null;
const node = dirname(runtime?.node ?? process.execPath);

function placeOf(name: string, config: string | null): SuitePlace {
  const run = join(root, name);
  const working = join(run, 'project');
  mkdirSync(working, { recursive: true });
  if (runtime !== null) symlinkSync(join(runtime.folder, 'node_modules'), join(working, 'node_modules'));
  writeFileSync(join(working, 'package.json'), '{}');
  if (config !== null) writeFileSync(join(working, 'playwright.config.ts'), config);
  return { root: run, project: working, working, home: run, temporary: run, report: run };
}

type Lines = [level: string, msg: string][];

function options(place: SuitePlace, host: string, lines: Lines, more: { chromium?: string[] } = {}) {
  return {
    place,
    suite: { browsers: [], configPath: null },
    manager: { name: 'npm' as const, exec: 'exec' },
    env: {
      PATH: `${join(place.working, 'node_modules', '.bin')}:${node}:/usr/bin:/bin`,
      PLAYWRIGHT_DOWNLOAD_HOST: host,
    },
    run: runPlainly,
    store: createBrowserStore(join(root, 'store')),
    sandbox: false,
    timeoutMs: 60_000,
    log: (level: string, msg: string) => void lines.push([level, msg]),
    signal: new AbortController().signal,
    installed: [],
    chromium: more.chromium ?? [],
    ffmpeg: [],
  };
}

/** A host that has every browser: archives with small programs where the real ones would be. */
async function downloads(): Promise<{ url: string; asked: string[] }> {
  const zip = new ZipFile();
  for (const path of [
    'chrome-linux64/chrome',
    'chrome-linux/chrome',
    'chrome-headless-shell-linux64/chrome-headless-shell',
    'chrome-linux/headless_shell',
    'ffmpeg-linux',
    'firefox/firefox',
  ]) {
    zip.addBuffer(Buffer.from('#!/bin/sh\nexit 0\n'), path, { mode: 0o100755 });
  }
  zip.end();
  const archive = await buffer(zip.outputStream as unknown as NodeJS.ReadableStream);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-length', archive.length);
    response.end(archive);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

test.skipIf(runtime === null)(
  'builds of Playwright’s come from the named host, once for all runs',
  async () => {
    const host = await downloads();
    const lines: Lines = [];
    const places = [placeOf('a', null), placeOf('b', null)];
    // Two at once, of two agents that share the folder: each has a store of its own.
    const found = await Promise.all(places.map((place) => prepareBrowsers(options(place, host.url, lines))));
    for (const [index, { env, missing, playwrightVersion }] of found.entries()) {
      expect(missing).toEqual([]);
      expect(playwrightVersion).toBe(runtime?.playwrightVersion);
      expect(env['PLAYWRIGHT_BROWSERS_PATH']).toBe(join(places[index]?.root ?? '', 'browsers'));
    }
    const names = host.asked.map((path) => path.split('/').at(-1));
    expect(new Set(names).size).toBe(names.length);
    expect(names.some((name) => /headless-shell/.test(name ?? ''))).toBe(true);
    // A later run asks for nothing.
    const before = host.asked.length;
    const again = await prepareBrowsers(options(placeOf('c', null), host.url, lines));
    expect(again.missing).toEqual([]);
    expect(host.asked.length).toBe(before);
    expect(existsSync(join(root, 'store', '.lock'))).toBe(false);
  },
);

test.skipIf(runtime === null)(
  'without a way to them, Chromium is the system’s own and others are missing',
  async () => {
    const chromium = join(root, 'chromium');
    writeFileSync(chromium, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const lines: Lines = [];
    const place = placeOf(
      'a',
      "export default { projects: [{ name: 'chromium' }, { use: devices['Desktop Firefox'] }] };",
    );
    const dead = 'http://127.0.0.1:1';
    const found = await prepareBrowsers(options(place, dead, lines, { chromium: [chromium] }));
    expect(found.missing.map(({ browser }) => browser)).toEqual(['firefox']);
    expect(found.missing[0]?.why).toMatch(/^playwright install failed: Error: .*ECONNREFUSED/);
    const { revision } = (
      JSON.parse(
        readFileSync(join(place.working, 'node_modules', 'playwright-core', 'browsers.json'), 'utf8'),
      ) as { browsers: { name: string; revision: string }[] }
    ).browsers.find(({ name }) => name === 'chromium') ?? { revision: '' };
    const wrapper = join(place.root, 'browsers', `chromium-${revision}`, 'chrome-linux', 'chrome');
    expect(readFileSync(wrapper, 'utf8')).toContain(chromium);
    expect(lines.some(([, msg]) => msg.includes("system's own"))).toBe(true);
    // The next run does not wait for the same host again.
    const began = performance.now();
    await prepareBrowsers(options(placeOf('b', null), dead, lines, { chromium: [chromium] }));
    expect(performance.now() - began).toBeLessThan(2000);
    expect(browserFault(["Error: browserType.launch: Executable doesn't exist at /x"], found)?.code).toBe(
      'BROWSER_UNAVAILABLE',
    );
    const channel = "Error: Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome";
    expect(browserFault([channel], found)?.code).toBe('BROWSER_UNAVAILABLE');
    expect(browserFault(['expect(received).toBe(expected)'], found)).toBeNull();
  },
);

test('the browsers that a config speaks of, but not its comments', async () => {
  const wanted = async (name: string, config: string) =>
    (await wantedBrowsers(placeOf(name, config), { browsers: [], configPath: null })).browsers.sort();
  expect(await wanted('a', '// firefox, webkit\nexport default { use: { baseURL: "http://x/" } };')).toEqual([
    'chromium',
  ]);
  expect(await wanted('b', "/* webkit */ devices['Desktop Safari']; browserName: 'firefox'")).toEqual([
    'firefox',
    'webkit',
  ]);
  expect(await wanted('c', "devices['Pixel 5']; devices['iPhone 13']")).toEqual(['chromium', 'webkit']);
  const { channels } = await wantedBrowsers(placeOf('d', "use: { channel: 'msedge' }"), {
    browsers: ['firefox'],
    configPath: null,
  });
  expect(channels).toEqual(['msedge']);
});

test.runIf(process.platform === 'linux')('a pipe in the place of a package.json keeps nobody', async () => {
  const place = placeOf('pipe', null);
  rmSync(join(place.working, 'node_modules'), { force: true });
  mkdirSync(join(place.working, 'node_modules', '@playwright', 'test'), { recursive: true });
  execFileSync('mkfifo', [join(place.working, 'node_modules', '@playwright', 'test', 'package.json')]);
  const lines: Lines = [];
  const { playwrightVersion } = await prepareBrowsers(options(place, 'http://127.0.0.1:1', lines));
  expect(playwrightVersion).toBeNull();
  expect(lines).toEqual([['warn', expect.stringContaining('no Playwright was found')]]);
});
