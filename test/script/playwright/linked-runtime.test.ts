import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createScripts } from '../../../src/script/create-scripts.ts';
import type { Scripts } from '../../../src/script/interface/scripts.ts';
import { builtProgram } from '../../helpers/build.ts';
import { hasPlaywright, runtime } from '../../helpers/scripts/playwright.ts';

/** Runtimes and data behind links and in folders with blanks, as volumes and package managers create them. */

describe.runIf(hasPlaywright)('a runtime behind links', { timeout: 60_000 }, () => {
  let folder: string;
  let scripts: Scripts;
  beforeEach(async () => {
    await builtProgram();
    folder = mkdtempSync(join(tmpdir(), 'linked runtime '));
  }, 120_000);
  afterEach(async () => {
    await scripts.close();
    rmSync(folder, { recursive: true });
  });

  /** `whole`: the runtime's folder is the link; else its packages are. */
  const open = (whole: boolean): string => {
    const { name, folder: real } = runtime!;
    const runtimesFolder = join(folder, 'my runtimes');
    mkdirSync(runtimesFolder);
    if (whole) symlinkSync(real, join(runtimesFolder, name));
    else {
      mkdirSync(join(runtimesFolder, name));
      for (const file of ['package.json', 'runtime.json'])
        cpSync(join(real, file), join(runtimesFolder, name, file));
      symlinkSync(join(real, 'node_modules'), join(runtimesFolder, name, 'node_modules'));
    }
    mkdirSync(join(folder, 'real data'));
    symlinkSync('real data', join(folder, 'data'));
    const dataFolder = join(folder, 'data');
    scripts = createScripts({
      runtimesFolder,
      dataFolder,
      slots: 1,
      network: () => 'unlimited',
      warn: () => undefined,
    });
    return mkdtempSync(join(dataFolder, 'work-'));
  };
  const common = () => ({
    env: { PATH: '/usr/bin:/bin' },
    signal: new AbortController().signal,
    log: () => undefined,
    addSecret: () => undefined,
    withhold: () => undefined,
  });

  test.each([
    ['as a whole', true],
    ['its packages', false],
  ])('runs setup scripts with packages: %s', async (_, whole) => {
    open(whole);
    const session = await scripts.openApiScripts({
      ...common(),
      scripts: {
        runtimeId: runtime!.name,
        setup: [
          {
            origin: 'check',
            content: `request.url = require('lodash').join(['a', 'b'], '-') + typeof require('axios').get;`,
          },
        ],
        teardown: [],
        files: [],
      },
    });
    const request = { method: 'GET', url: 'x', body: '', headers: {}, queryParameters: {} };
    const { request: after, failure } = await session.setup(request);
    await session.close();
    expect(failure).toBeNull();
    expect(after.url).toBe('a-bfunction');
  });

  test.each([
    ['as a whole', true],
    ['its packages', false],
  ])('runs Playwright scripts with packages: %s', async (_, whole) => {
    const workDir = open(whole);
    const { failure } = await scripts.runPlaywright({
      ...common(),
      workDir,
      checkType: 'BROWSER',
      keepAll: false,
      timeoutMs: 40_000,
      script: {
        runtimeId: runtime!.name,
        // One browser is enough: what it needs is found from the data's folder.
        content: whole
          ? `import { test, expect } from '@playwright/test';
          import lodash from 'lodash';
          test('one', async ({ page }) => {
            await page.setContent('<p>' + lodash.join(['a', 'b'], '-') + '</p>');
            await expect(page.locator('p')).toHaveText('a-b');
          });`
          : `import { test, expect } from '@playwright/test';
          import lodash from 'lodash';
          test('one', () => expect(lodash.join(['a', 'b'], '-')).toBe('a-b'));`,
        path: null,
        files: [],
        playwrightConfig: null,
      },
    });
    expect(failure).toBeNull();
  });
});
