import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBrowserStore } from '../../../../src/script/suite/browsers/store.ts';
import { browserFault, prepareBrowsers } from '../../../../src/script/suite/browsers/browsers.ts';
import type { SuitePlace } from '../../../../src/script/suite/place/place.ts';
import { wantedBrowsers } from '../../../../src/script/suite/browsers/wanted.ts';
import { runPlainly } from '../../../helpers/plain-program.ts';
import { coreRegistry, type Host } from '../../../helpers/scripts/playwright-hosts.ts';
import { runtimesHere } from '../../../helpers/scripts/runtimes.ts';

let root: string;
let registry: Host | undefined;
beforeAll(async () => {
  if (runtime !== null) registry = await coreRegistry(join(runtime.folder, 'node_modules'));
});
afterAll(() => registry?.close());
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'suite-browsers-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

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
    checkEnv: {},
    environment: { PLAYWRIGHT_DOWNLOAD_HOST: host, npm_config_registry: registry?.url ?? '' },
    engine: { name: 'node' as const, version: '22.0.0', bin: node, readable: [] },
    run: runPlainly,
    runIn: () => runPlainly,
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

test.skipIf(runtime === null)(
  'without a download host, Chromium is the system’s own and others are missing',
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
    expect(lines.some(([, msg]) => msg.includes("the system's Chromium"))).toBe(true);
    // The next run does not try the same host again.
    const isInstalling = ([, msg]: Lines[number]) => msg.startsWith('installing');
    expect(lines.some(isInstalling)).toBe(true);
    const later: Lines = [];
    await prepareBrowsers(options(placeOf('b', null), dead, later, { chromium: [chromium] }));
    expect(later.filter(isInstalling)).toEqual([]);
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

test.runIf(process.platform === 'linux')('a pipe in place of a package.json does not block', async () => {
  const place = placeOf('pipe', null);
  rmSync(join(place.working, 'node_modules'), { force: true });
  mkdirSync(join(place.working, 'node_modules', '@playwright', 'test'), { recursive: true });
  execFileSync('mkfifo', [join(place.working, 'node_modules', '@playwright', 'test', 'package.json')]);
  const lines: Lines = [];
  const { playwrightVersion } = await prepareBrowsers(options(place, 'http://127.0.0.1:1', lines));
  expect(playwrightVersion).toBeNull();
  expect(lines).toEqual([['warn', expect.stringContaining('no Playwright was found')]]);
});
