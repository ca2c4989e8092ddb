import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  cacheIn,
  dataFolder,
  enginesHere,
  managersFolder,
  placeOf,
  runOf,
} from '../../helpers/suite-install.ts';

/** Installs with the real managers, from the real registry: what is in the project then, with the cache and without. */

afterAll(() => rmSync(dataFolder, { recursive: true, force: true }));

/** Says 7.0.0 where the package can be loaded. */
const ask = `-p "require('is-number/package.json').version + ' ' + require('is-number')(5)"`;

const fixtures = [
  { name: 'npm', exec: 'npx', with: `node ${ask}` },
  { name: 'pnpm', exec: 'pnpm exec', with: `pnpm exec node ${ask}` },
  { name: 'yarn-classic', exec: 'yarn', with: `yarn -s node ${ask}` },
  { name: 'yarn-pnp', exec: 'yarn', with: `yarn node ${ask}` },
  { name: 'yarn-modules', exec: 'yarn', with: `yarn node ${ask}` },
  { name: 'bun', exec: 'bunx', with: `node ${ask}` },
];

describe.skipIf(enginesHere.length === 0)('a project installs by its lock file, and from the cache', () => {
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
      await installed.keep();
      expect(said).toEqual(['Dependencies are cached for the next runs']);

      const second = runOf({ place: placeOf(from), cache });
      const again = await second.install();
      expect([again.dependencyCache, ...said.slice(1)]).toEqual(['hit']);
      expect(await second.say(fixture.with)).toBe('7.0.0 true');
    },
    60_000,
  );
});
