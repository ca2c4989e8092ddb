import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killAll, readyLine, startProgram, type Program } from '../../../e2e/program.ts';
import { builtProgram } from '../../../helpers/build.ts';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { fits, keyboardOf, newVisitor } from './journey.ts';

/** A newcomer with the program that `npm start` runs: a failing sample is explained, and an own check is created. */

let browser: Browser;
let folder = '';
let program: Program;
let signInUrl = '';
beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  folder = mkdtempSync(join(tmpdir(), 'newcomer-'));
  program = startProgram(await builtProgram(), ['dev'], {
    SERVICE_PORT: '0',
    AGENT_HEALTH_PORT: '0',
    SERVICE_DATA_DIR: folder,
    AGENT_DATA_DIR: join(folder, 'agent'),
    // The end waits for running checks, and the sample suite may install its packages for minutes.
    SUITE_CONCURRENCY: '0',
  });
  signInUrl = (await readyLine(program, 240_000)).signInUrl ?? '';
}, 480_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  program.kill('SIGTERM');
  const code = await Promise.race([
    program.exited,
    new Promise<'still running'>((resolve) => setTimeout(() => resolve('still running'), 60_000)),
  ]);
  killAll();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  expect(code).toBe(0);
}, 120_000);

describe.skipIf(!hasChromium)('npm start', { timeout: 300_000 }, () => {
  it('leads with the keyboard from its address to a failing sample and to an own check', async () => {
    const { context, page, faults } = await newVisitor(browser, 390);
    page.setDefaultTimeout(120_000);
    const { press, type } = keyboardOf(page);
    await page.goto(signInUrl);
    // Failing checks come first. The page of the check leads to the run, which names the reason.
    const failing = page.getByRole('row').filter({ hasText: 'failing' }).first();
    await press(failing.getByRole('link').first());
    await press(
      page.getByRole('navigation', { name: 'Parts of the check' }).getByRole('link', { name: 'Runs' }),
    );
    await press(page.locator('main a[href*="/runs/"]').first());
    await page.locator('.verdict.failed').first().waitFor();
    expect(await page.locator('.verdict.failed code').first().innerText()).toMatch(/^[A-Z_]+$/);
    await fits(page);

    await press(page.getByRole('link', { name: 'Checks' }).last());
    await press(page.getByRole('link', { name: 'New check' }));
    await press(page.getByRole('link', { name: /^URL check/ }));
    await type(page.getByLabel('Name (required)', { exact: true }), 'My first check');
    await type(page.getByLabel('URL (required)', { exact: true }), `${new URL(signInUrl).origin}/health`);
    await press(page.getByRole('button', { name: 'Run now' }));
    await page.getByRole('article').getByText('passed').waitFor();
    await fits(page);
    await press(page.getByRole('button', { name: 'Create the check' }));
    await page.getByRole('heading', { name: 'My first check', level: 1 }).waitFor();
    await fits(page);
    expect(faults).toEqual([]);
    await context.close();
  });
});
