import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { SuitePlace } from '../../../../src/script/suite/place/place.ts';
import {
  cacheIn,
  dataFolder,
  enginesHere,
  managersFolder,
  placeOf,
  runOf,
} from '../../../helpers/suites/suite-install.ts';
import { reachesRegistry } from '../../../helpers/suites/suite-registry.ts';

/** Installs with the real managers, from the real registry: the resulting files, with and without the cache. */

const runs = enginesHere.length > 0 && (await reachesRegistry());

afterAll(() => rmSync(dataFolder, { recursive: true, force: true }));

/** Says 7.0.0 where the package can be loaded. */
const ask = `-p "require('is-number/package.json').version + ' ' + require('is-number')(5)"`;

const fixtures = [
  { name: 'npm', exec: 'npx', with: `node ${ask}` },
  { name: 'pnpm', exec: 'pnpm exec', with: `pnpm exec node ${ask}` },
  // Distinguishes Yarn 1 from the newest Yarn 4 where both are called yarn.
  { name: 'yarn-classic', exec: 'yarn', with: `yarn -s node ${ask}`, version: /^1\.22\./ },
  { name: 'yarn-pnp', exec: 'yarn', with: `yarn node ${ask}` },
  { name: 'yarn-modules', exec: 'yarn', with: `yarn node ${ask}`, version: /^4\./ },
  { name: 'bun', exec: 'bunx', with: `node ${ask}` },
];

describe.runIf(runs)('a project installs by its lock file, and from the cache', () => {
  test.each(fixtures)(
    '$name',
    async (fixture) => {
      const { cache, said } = cacheIn(join(dataFolder, 'dependencies'));
      const from = join(managersFolder, fixture.name);
      const first = runOf({ place: placeOf(from), cache, env: { NODE_ENV: 'production' } });
      expect(first.manager.exec).toBe(fixture.exec);
      const installed = await first.install().catch((error: unknown) => {
        throw new Error(first.log.map(({ msg }) => msg).join('\n'), { cause: error });
      });
      expect(installed.dependencyCache).toBe('miss');
      expect(await first.say(fixture.with)).toBe('7.0.0 true');
      if (fixture.version !== undefined) expect(await first.say('yarn --version')).toMatch(fixture.version);
      await installed.keep();
      expect(said).toEqual(['Dependencies are cached for the next runs']);

      const second = runOf({ place: placeOf(from), cache });
      const again = await second.install();
      expect([again.dependencyCache, ...said.slice(1)]).toEqual(['hit']);
      expect(await second.say(fixture.with)).toBe('7.0.0 true');
    },
    120_000,
  );
});

describe.runIf(runs)('a project that needs another version of its manager', () => {
  test('installs with it and runs its tests with it, from the cache as well', async () => {
    const { cache, said } = cacheIn(join(dataFolder, 'dependencies-pinned'));
    // Its lock file is of Yarn 3.1, which no other Yarn takes as it is.
    const from = join(managersFolder, 'yarn-older');
    const first = runOf({ place: placeOf(from), cache });
    expect(first.manager.fetch).toBe('@yarnpkg/cli-dist@3.1.1');
    const installed = await first.install();
    expect(await first.say('yarn --version')).toBe('3.1.1');
    await installed.keep();
    expect(said).toEqual(['Dependencies are cached for the next runs']);

    // An unreachable registry: nothing may be fetched.
    const second = runOf({
      place: placeOf(from),
      cache,
      beneath: { npm_config_registry: 'http://127.0.0.1:9/' },
    });
    expect((await second.install()).dependencyCache).toBe('hit');
    expect(await second.say(`yarn --version; yarn node ${ask}`)).toBe('3.1.1\n7.0.0 true');
  }, 120_000);

  test('pnpm 12, which locks its store outside of the run', async () => {
    const { cache } = cacheIn(join(dataFolder, 'dependencies-pnpm'));
    const place = (): SuitePlace => {
      const made = placeOf(join(managersFolder, 'pnpm'));
      const file = join(made.project, 'package.json');
      const list = JSON.parse(readFileSync(file, 'utf8')) as object;
      writeFileSync(file, JSON.stringify({ ...list, packageManager: 'pnpm@12.21.0' }));
      return made;
    };
    for (const expected of ['miss', 'hit']) {
      const run = runOf({ place: place(), cache });
      const installed = await run.install();
      expect(installed.dependencyCache).toBe(expected);
      expect(await run.say(`pnpm --version; pnpm exec node ${ask}`)).toBe('12.21.0\n7.0.0 true');
      await installed.keep();
    }
  }, 120_000);
});

describe.runIf(runs)('the cache', () => {
  test('is not read for a fresh install, which replaces its entry', async () => {
    const { cache, said } = cacheIn(join(dataFolder, 'dependencies-refresh'));
    const from = join(managersFolder, 'bun');
    const suite = { installCommand: 'bun install --frozen-lockfile && date +%s%N > node_modules/made' };
    const run = (refreshCache: boolean) =>
      runOf({ place: placeOf(from), cache, suite: { ...suite, refreshCache } });
    const made: string[] = [];
    const came: string[] = [];
    for (const refresh of [false, false, true, false]) {
      const one = run(refresh);
      const installed = await one.install();
      came.push(installed.dependencyCache);
      made.push(await one.say('cat node_modules/made'));
      await installed.keep();
    }
    expect(came).toEqual(['miss', 'hit', 'refreshed', 'hit']);
    expect(made[1]).toBe(made[0]);
    expect(made[3]).toBe(made[2]);
    expect(made[2]).not.toBe(made[0]);
    expect(said).toHaveLength(2);
  }, 120_000);

  test('can be switched off', async () => {
    const run = runOf({ place: placeOf(join(managersFolder, 'bun')), cache: null });
    expect((await run.install()).dependencyCache).toBe('off');
  });
});
