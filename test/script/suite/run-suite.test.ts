import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../../helpers/build.ts';
import { hasSuites, makeProject, startSuites, type SuiteBench } from '../../helpers/suites.ts';

const config = `
import { defineConfig, devices } from '@playwright/test';
export default defineConfig({
  testDir: './tests',
  workers: 2,
  retries: 0,
  projects: [{ name: 'desktop', use: { ...devices['Desktop Chrome'] } }],
});`;

describe.runIf(hasSuites)('suites', { timeout: 120_000 }, () => {
  let bench: SuiteBench;
  let last = 0;
  const project = (files: { [path: string]: string }) =>
    makeProject(join(bench.folder, `project-${(last += 1)}`), { 'playwright.config.ts': config, ...files });

  beforeAll(async () => {
    await builtProgram();
    bench = startSuites();
  }, 120_000);
  afterAll(() => bench.close());

  test('a suite runs through its stages, and the next finds its packages in the cache', async () => {
    const folder = project({
      'tests/page.spec.ts': `
        import { test, expect } from '@playwright/test';
        test('shows a page', async ({ page }) => {
          await page.setContent('<h1>hello</h1>');
          await expect(page.locator('h1')).toHaveText('hello');
          console.log('home', process.env.HOME, process.env.SERVICE_RUN, process.env.API_KEY);
        });`,
    });
    const first = await bench.start(folder);
    const run = await first.run;
    process.stderr.write(first.log.join('\n') + '\n');
    expect(run.failure).toBeNull();
    const began = performance.now();
    const second = await bench.start(folder);
    const cached = await second.run;
    process.stderr.write(second.log.join('\n') + `\n${performance.now() - began}\n`);
    console.log(JSON.stringify(cached, null, 1));
    expect(readFileSync(cached.files[0]?.path ?? '', 'utf8')).toContain('hello');
  });
});
