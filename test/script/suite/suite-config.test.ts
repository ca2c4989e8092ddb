import { readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findConfigs } from '../../../src/script/suite/config-search.ts';
import { injectConfig } from '../../../src/script/suite/config.ts';
import type { SuitePlace } from '../../../src/script/suite/place/place.ts';
import { builtProgram } from '../../helpers/build.ts';
import { runtimesHere } from '../../helpers/scripts/runtimes.ts';
import { makeProject, removeProject, runProject } from '../../helpers/suites/suite-project.ts';

const places: SuitePlace[] = [];
const project = (files: { [path: string]: string }): SuitePlace => {
  const place = makeProject(files);
  places.push(place);
  return place;
};
beforeAll(async () => void (await builtProgram()), 120_000);
afterEach(() => places.splice(0).forEach(removeProject));

const oneTest = `import { test } from '@playwright/test';\ntest('one', async () => {});\n`;
/** Writes what Playwright made of the config, once a run has begun. */
const spy = `module.exports = class { onBegin(config) {
  require('node:fs').writeFileSync(__dirname + '/seen.json', JSON.stringify({ workers: config.workers, rootDir: config.rootDir,
    reporter: config.reporter.map(([name]) => name.split('/').at(-1)),
    projects: config.projects.map(({ name, retries, use, testDir }) => ({ name, retries, use, testDir })) })); } }`;
const seen = (place: SuitePlace): unknown =>
  JSON.parse(readFileSync(join(place.project, 'seen.json'), 'utf8'));

describe('where configs are', () => {
  test('usual names in any folder, and paths in commands', async () => {
    const place = project({
      'package.json': JSON.stringify({
        scripts: { e2e: 'playwright test -c "odd name.ts"', lint: 'eslint -c lint.js' },
      }),
      'odd name.ts': '',
      'lint.js': '',
      'playwright.config.ts': '',
      'playwright.staging.config.mts': '',
      'playwright-helpers.ts': '',
      'packages/a/playwright.config.js': '',
      'packages/a/package.json': JSON.stringify({ scripts: { test: 'playwright test --config=sub/pw.cjs' } }),
      'packages/a/sub/pw.cjs': '',
      'own.ts': '',
    });
    const { project: folder, working } = place;
    const found = await findConfigs({ project: folder, working, command: 'yarn e2e --config ./own.ts' });
    expect(found.map((path) => path.slice(folder.length + 1))).toEqual([
      'odd name.ts',
      'own.ts',
      'packages/a/playwright.config.js',
      'packages/a/sub/pw.cjs',
      'playwright.config.ts',
      'playwright.staging.config.mts',
    ]);
  });

  test('a config that is not there fails the run and names the field', async () => {
    const place = project({});
    for (const configPath of ['none.ts', '../outside.ts']) {
      const injecting = injectConfig({ place, suite: { configPath, testCommand: null } });
      await expect(injecting).rejects.toMatchObject({
        reason: { code: 'SCRIPT_INVALID', message: expect.stringMatching(/^configPath: .*include the file/) },
      });
    }
  });

  test('an invalid module fails the run, and no link leads the agent out of the project', async () => {
    const place = project({ 'config.json': '{}', 'sub/playwright.config.ts': '' });
    const outside = project({ 'playwright.config.ts': '' }).project;
    symlinkSync('sub', join(place.project, 'inside'));
    symlinkSync(outside, join(place.project, 'outside'));
    const injected = (configPath: string) =>
      injectConfig({ place, suite: { configPath, testCommand: null } }).then(({ configs }) => configs);
    await expect(injected('config.json')).rejects.toThrow(
      'configPath: config.json is not a Playwright config',
    );
    for (const configPath of ['outside', 'outside/playwright.config.ts'])
      await expect(injected(configPath)).rejects.toThrow('configPath: the bundle has no file');
    const linked = { ...place, working: join(place.project, 'outside') };
    await expect(
      injectConfig({ place: linked, suite: { configPath: null, testCommand: null } }),
    ).rejects.toThrow('workingDir "outside" is not a folder of the bundle');
    expect(readFileSync(join(outside, 'playwright.config.ts'), 'utf8')).toBe('');
    expect(readdirSync(outside).filter((name) => name.includes('config'))).toEqual(['playwright.config.ts']);
    expect(await injected('inside')).toContain('sub/playwright.config.ts');
  });

  test('a project without a config gets one; an existing file is not overwritten', async () => {
    const place = project({ 'e2e/own.ts': '', 'e2e/own.as-given.ts': 'kept' });
    const testCommand = 'npm run e2e -- -c e2e/own.ts';
    const { configs } = await injectConfig({ place, suite: { configPath: null, testCommand } });
    expect(configs).toEqual(['e2e/own.ts', 'playwright.config.cjs']);
    const names = ['own.as-given-2.ts', 'own.as-given.ts', 'own.ts'];
    expect(readdirSync(join(place.project, 'e2e')).sort()).toEqual(names);
    expect(readFileSync(join(place.project, 'e2e', 'own.as-given.ts'), 'utf8')).toBe('kept');
  });
});

describe.skipIf(runtimesHere.length === 0)('the config as Playwright loads it', () => {
  test('defaults where the project has none; a trace and no window always; its own reporters stay', async () => {
    const place = project({
      'playwright.config.ts': `import { defineConfig } from '@playwright/test';
export const shared = 'of the config';
export default defineConfig({ testDir: './tests', reporter: [['line'], ['./spy.js']], use: { headless: false, locale: 'de' },
  projects: [{ name: 'plain' }, { name: 'own', retries: 0, use: { trace: 'off', video: 'off' } }] });`,
      'spy.js': spy,
      'tests/one.spec.ts': `import { test, expect } from '@playwright/test';
import { shared } from '../playwright.config';
test('one', () => { expect(shared).toBe('of the config'); });`,
    });
    const { report, configs } = await runProject(place);
    expect(report.failure).toBeNull();
    expect(configs).toEqual(['playwright.config.ts']);
    const testDir = join(place.project, 'tests');
    const use = {
      headless: true,
      locale: 'de',
      screenshot: 'only-on-failure',
      trace: 'on',
      video: 'on-first-retry',
    };
    expect(seen(place)).toEqual({
      workers: 4,
      rootDir: testDir,
      reporter: ['line', 'spy.js'],
      projects: [
        { name: 'plain', retries: 2, use, testDir },
        { name: 'own', retries: 0, use: { ...use, video: 'off' }, testDir },
      ],
    });
    expect(report.notes).toEqual([
      '2 tests: 2 passed, 0 failed',
      expect.stringMatching(/^headless: false of the config is ignored/),
    ]);
    expect(report.tests.map(({ project: name, status }) => [name, status])).toEqual([
      ['plain', 'passed'],
      ['own', 'passed'],
    ]);
    const names = ['report.zip', 'test-results.json', 'one-one-plain.zip', 'one-one-own.zip'];
    expect(report.files.map(({ name }) => name)).toEqual(names);
  }, 60_000);

  test('an ES module that exports a promise, and settings of its own', async () => {
    const place = project({
      'package.json': '{"name":"x","type":"module"}',
      'playwright.config.ts': `import { defineConfig } from '@playwright/test';
const load = async () => defineConfig({ workers: 1, retries: 0, reporter: './spy.cjs', use: { video: 'off', screenshot: 'off' } });
export default load();`,
      'spy.cjs': spy,
      'one.spec.ts': oneTest,
    });
    const { report } = await runProject(place, { modules: true });
    expect(report.failure).toBeNull();
    expect(seen(place)).toMatchObject({
      workers: 1,
      projects: [{ retries: 0, use: { trace: 'on', video: 'off', screenshot: 'off' } }],
    });
  }, 60_000);

  test('module.exports, another name, a reporter of the command', async () => {
    const place = project({
      'e2e/base.js': `module.exports = { testDir: '.', use: { locale: 'fr' } };`,
      'e2e/own.js': `module.exports = { ...require('./base'), projects: [{ name: 'p' }] };`,
      'e2e/one.spec.js': oneTest,
      'spy.js': spy,
    });
    const testCommand = 'playwright test --reporter=./spy.js';
    const { report, configs } = await runProject(place, {
      configPath: 'e2e/own.js',
      testCommand,
      projects: ['p'],
    });
    expect(report.failure).toBeNull();
    expect(configs).toEqual(['e2e/own.js']);
    expect(seen(place)).toMatchObject({
      reporter: ['spy.js'],
      projects: [{ name: 'p', use: { locale: 'fr', trace: 'on' }, testDir: join(place.project, 'e2e') }],
    });
    // Although the command has taken away the reporters of the config.
    expect(report.files.map(({ name }) => name)).toEqual([
      'report.zip',
      'test-results.json',
      'one-one-p.zip',
    ]);
    expect(report.tests[0]).toMatchObject({ title: 'one', file: 'e2e/one.spec.js', status: 'passed' });
  }, 60_000);
});
