import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runtimesHere } from '../helpers/scripts/runtimes.ts';

/**
 * Names inside Playwright that files of src/script/child reach for. A runtime that lacks one loses what that file adds; the
 * run itself goes on. So a new runtime fails here first.
 */
const probe = `
const { createRequire } = require('node:module');
const { join } = require('node:path');
const load = createRequire(join(process.argv[1], 'node_modules', 'playwright', 'package.json'));
const folderOf = (name) => load.resolve(name + '/package.json').slice(0, -'/package.json'.length);
const typeOf = (find) => { try { return typeof find(); } catch (error) { return error.code ?? error.message; } };
const inside = (name, file) => load(join(folderOf(name), file));
const { chromium } = load('playwright-core');
console.log(JSON.stringify({
  softFailures: typeOf(() => inside('playwright', 'lib/worker/testInfo.js').TestInfoImpl.prototype._failWithError),
  step: typeOf(() => chromium._wrapApiCall),
  frames: typeOf(() => load('playwright-core/lib/utils').setBoxedStackPrefixes),
  reporters: typeOf(() => inside('playwright', 'lib/runner/reporters.js').createReporters),
  core: folderOf('playwright-core'),
}));
process.exit(0);`;

describe.runIf(runtimesHere.length > 0)('Playwright of each runtime', () => {
  test.each(runtimesHere.map((runtime) => [runtime.name, runtime] as const))(
    '%s has the internals that the child programs use',
    (_name, { node, folder }) => {
      const found = JSON.parse(execFileSync(node, ['-e', probe, folder], { encoding: 'utf8' })) as {
        core: string;
      };
      expect(found).toMatchObject({
        softFailures: 'function',
        step: 'function',
        frames: 'function',
        reporters: 'function',
      });
      const text = (file: string) => readFileSync(join(found.core, 'lib', file), 'utf8');
      // As a property of the module, which browser-process.ts replaces.
      expect(text('server/utils/processLauncher.js')).toMatch(/\b\w*[cC]hild_?[pP]rocess\w*\.spawn\(/);
      expect(text('client/browserType.js')).toContain('_defaultLaunchOptions');
    },
  );
});
