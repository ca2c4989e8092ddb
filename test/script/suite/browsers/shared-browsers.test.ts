import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { confinement } from '../../../../src/script/process/confinement.ts';
import { createBrowserStore } from '../../../../src/script/suite/browsers/store.ts';
import { findEngines } from '../../../../src/script/suite/install/engines.ts';
import { prepareBrowsers } from '../../../../src/script/suite/browsers/browsers.ts';
import type { SuitePlace } from '../../../../src/script/suite/place/place.ts';
import { programRunner, suiteLimits } from '../../../../src/script/suite/program.ts';
import { coreRegistry, downloads, type Host } from '../../../helpers/scripts/playwright-hosts.ts';
import { runtimesHere } from '../../../helpers/scripts/runtimes.ts';

/** The browsers that suites of several customers share: a hostile project cannot change them. */

const data = mkdtempSync(join(tmpdir(), 'shared-browsers-'));
const [engine] = findEngines(data);
const runtime = runtimesHere[0];
const packages = join(runtime?.folder ?? '', 'node_modules');
const { holds } = await confinement();

type Browser = { name: string; revision: string };

describe.runIf(engine !== undefined && runtime !== undefined)('the store of browsers', () => {
  let root: string;
  let registry: Host;
  let agents: Host;
  let others: Host;
  let shell: string;
  beforeAll(async () => {
    registry = await coreRegistry(packages);
    agents = await downloads('genuine');
    others = await downloads('poisoned');
    const list = readFileSync(join(packages, 'playwright-core', 'browsers.json'), 'utf8');
    const { browsers } = JSON.parse(list) as { browsers: Browser[] };
    const revision = browsers.find(({ name }) => name === 'chromium-headless-shell')?.revision ?? '';
    shell = `chromium_headless_shell-${revision}`;
  });
  afterAll(() => {
    for (const each of [registry, agents, others]) each.close();
    rmSync(data, { recursive: true, force: true });
  });
  beforeEach(() => (root = mkdtempSync(join(data, 't-'))));
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** A run's folders, with the packages of the runtime, or with a Playwright that runs `program` for `playwright install`. */
  function placeOf(name: string, hostile?: { program: string; version?: string }): SuitePlace {
    const run = join(root, name);
    const project = join(run, 'project');
    const own = join(project, 'node_modules');
    mkdirSync(join(own, '.bin'), { recursive: true });
    writeFileSync(join(project, 'package.json'), '{}');
    const core = join(own, 'playwright-core');
    mkdirSync(core);
    for (const file of ['package.json', 'browsers.json'])
      writeFileSync(join(core, file), readFileSync(join(packages, 'playwright-core', file)));
    if (hostile?.version !== undefined)
      writeFileSync(join(core, 'package.json'), JSON.stringify({ version: hostile.version }));
    const program = hostile?.program ?? 'echo "its own Playwright is not to run" >&2; exit 1';
    writeFileSync(join(own, '.bin', 'playwright'), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
    const place = { root: run, project, working: project, home: join(run, 'home') };
    const all = { ...place, temporary: join(run, 'tmp'), report: join(run, 'report') };
    for (const path of [all.home, all.temporary, all.report]) mkdirSync(path);
    return all;
  }

  const runIn = (place: SuitePlace, readable: readonly string[]) =>
    programRunner({ place, limits: suiteLimits(1), readable: () => readable });
  const environment = () => ({ PLAYWRIGHT_DOWNLOAD_HOST: agents.url, npm_config_registry: registry.url });

  async function prepare(place: SuitePlace, checkEnv: { [name: string]: string } = {}) {
    if (engine === undefined) throw new Error('no engine');
    const log: string[] = [];
    const found = await prepareBrowsers({
      place,
      suite: { browsers: [], configPath: null },
      manager: { name: 'npm', exec: 'PATH="$PWD/node_modules/.bin:$PATH" exec' },
      env: { PATH: `${engine.bin}:/usr/bin:/bin`, HOME: place.home, ...environment(), ...checkEnv },
      checkEnv,
      environment: environment(),
      engine,
      run: runIn(place, engine.readable),
      runIn: (apart) => runIn(apart, engine.readable),
      store: createBrowserStore(join(root, 'store')),
      sandbox: false,
      timeoutMs: 60_000,
      log: (_level, line) => void log.push(line),
      signal: new AbortController().signal,
      installed: [],
      chromium: [],
      ffmpeg: [],
    });
    const folder = join(place.root, 'browsers', shell);
    const file = ['chrome-headless-shell-linux64/chrome-headless-shell', 'chrome-linux/headless_shell']
      .map((path) => join(folder, path))
      .find((path) => existsSync(path));
    return { ...found, log, program: file === undefined ? null : readFileSync(file, 'utf8') };
  }
  const stored = () =>
    readdirSync(join(root, 'store'))
      .filter((name) => !name.startsWith('.'))
      .sort();

  test(
    'browsers are downloaded from the agent’s host, once for all runs and agents',
    { timeout: 60_000 },
    async () => {
      const before = agents.asked.length;
      // Two at once, of two agents that share the folder: each has its own store.
      const found = await Promise.all([placeOf('a'), placeOf('b')].map((place) => prepare(place)));
      for (const { missing, playwrightVersion, program, log } of found) {
        expect(missing, log.join('\n')).toEqual([]);
        expect(playwrightVersion).toBe(runtime?.playwrightVersion);
        expect(program).toContain('genuine');
      }
      const names = agents.asked.slice(before).map((path) => path.split('/').at(-1));
      expect(new Set(names).size).toBe(names.length);
      // A later run asks for nothing.
      const after = agents.asked.length;
      expect((await prepare(placeOf('c'))).missing).toEqual([]);
      expect(agents.asked.length).toBe(after);
      expect(existsSync(join(root, 'store', '.lock'))).toBe(false);
      expect(readdirSync(join(root, 'store')).filter((name) => name.startsWith('.new-'))).toEqual([]);
    },
  );

  test(
    'a project’s own Playwright and variables do not affect shared browsers',
    { timeout: 60_000 },
    async () => {
      const poison = `
mkdir -p "$PLAYWRIGHT_BROWSERS_PATH/${shell}/chrome-linux"
echo poisoned > "$PLAYWRIGHT_BROWSERS_PATH/${shell}/chrome-linux/headless_shell"
touch "$PLAYWRIGHT_BROWSERS_PATH/${shell}/INSTALLATION_COMPLETE"
ln -s /etc "$PLAYWRIGHT_BROWSERS_PATH/chromium-1"`;
      // Its download host is the project's own affair, and so are browsers from there.
      const own = { PLAYWRIGHT_DOWNLOAD_HOST: others.url };
      const first = await prepare(placeOf('own-host', { program: poison }), own);
      expect(first.log.join('\n')).toContain('only for this run');
      expect(existsSync(join(root, 'store'))).toBe(false);
      // A release that there is not, with the folders of one that there is.
      const unknown = await prepare(placeOf('unknown', { program: poison, version: '99.0.0' }));
      expect(unknown.log.join('\n')).toMatch(
        /Playwright 99\.0\.0 cannot be fetched from the agent's registry/,
      );
      expect(stored()).toEqual([]);
      // What it brought is for itself, as far as it is no link out of the run.
      for (const { readable } of [first, unknown]) expect(readable).toEqual([]);
      // With the right release its own program is not even asked, whatever its variables say.
      const third = await prepare(placeOf('hostile', { program: poison }), {
        NODE_OPTIONS: '--require=/nowhere.js',
        npm_config_registry: others.url,
        PATH: '/nowhere',
      });
      expect(third.program).toContain('genuine');
      const honest = await prepare(placeOf('honest'));
      expect(honest.program).toContain('genuine');
      expect(honest.log.join('\n')).not.toContain('installing');
    },
  );

  test.runIf(holds.landlock)(
    'programs of a suite can write neither to the store nor to a running install',
    { timeout: 60_000 },
    async () => {
      await prepare(placeOf('a'));
      const store = join(root, 'store');
      const draft = join(store, '.new-of-another');
      mkdirSync(draft);
      const place = placeOf('b');
      symlinkSync(store, join(place.project, 'way'));
      const before = stored();
      const said: string[] = [];
      const tries = [
        `echo x >> ${store}/${shell}/INSTALLATION_COMPLETE`,
        `mv ${store}/${shell} ${store}/gone`,
        `rm -rf ${store}/${shell}`,
        `mkdir ${store}/firefox-1`,
        `mkdir ${draft}/firefox-1`,
        'mkdir way/firefox-1',
        `ln ${store}/${shell}/INSTALLATION_COMPLETE second && echo x >> second`,
        `cp /bin/true ${store}/.unreachable.json`,
      ];
      const run = runIn(place, [join(store, shell)]);
      await run({
        command: tries.map((each) => `(${each}) 2>/dev/null && echo 'done: ${each}'`).join('\n'),
        cwd: place.working,
        env: { PATH: '/usr/bin:/bin' },
        timeoutMs: 30_000,
        signal: new AbortController().signal,
        onLine: (line) => void said.push(line),
      });
      expect(said).toEqual([]);
      expect(stored()).toEqual(before);
      expect(readdirSync(draft)).toEqual([]);
      expect(readFileSync(join(store, shell, 'INSTALLATION_COMPLETE'), 'utf8')).toBe('');
    },
  );
});
