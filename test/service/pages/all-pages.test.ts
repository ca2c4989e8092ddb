import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { startServiceWithEverything } from '../../helpers/service/one-of-everything.ts';
import { openScene, scenes, type SceneIds } from '../../helpers/service/page-scenes.ts';
import { showEverything } from '../../helpers/service/shown-account.ts';
import type { TestService } from '../../helpers/service/service.ts';

/** Every page in every state: axe finds nothing, in light and dark, and everything fits into 390 px. */

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
let service: TestService;
let close: () => Promise<void>;
let all: SceneIds;
const contexts: { [who: string]: BrowserContext } = {};

beforeAll(async () => {
  if (!hasChromium) return;
  const started = await startServiceWithEverything();
  ({ service, close } = started);
  all = { ids: started.everything.ids, shown: await showEverything(service, started.everything) };
  browser = await startChromium();
  for (const who of ['everything', 'empty', 'nobody']) {
    const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce' });
    // The policy of the pages forbids other scripts; this one comes from the test.
    await context.addInitScript(axe);
    contexts[who] = context;
  }
  const signIn = async (who: string, apiKey: string) =>
    contexts[who]?.request.post(`${service.url}/v1/sign-in`, { data: { apiKey } });
  await signIn('everything', service.account.key);
  await signIn('empty', service.foreign.key);
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await close();
});

type Found = {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
};

/** What axe finds, also what it only recommends. */
async function findings(page: Page, options: object): Promise<string[]> {
  const { violations } = await page.evaluate<Found>(
    `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...options })})`,
  );
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${impact}) ${html.slice(0, 200)}: ${failureSummary}`),
  );
}
const only = (...values: string[]) => ({ runOnly: { type: 'rule', values } });

/** Controls that are partly outside the window or whose text is cut off, where nobody could scroll to them. */
const cutOff = `[...document.querySelectorAll('a, button, input, select, textarea, summary')]
  .filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    if (width === 0 || one.closest('.hidden-text, .skip') !== null) return false;
    for (let up = one.parentElement; up !== null; up = up.parentElement)
      if (up !== document.body && /auto|scroll/.test(getComputedStyle(up).overflowX)) return false;
    const isText = one.matches('a, button, summary');
    return left < -1 || right > innerWidth + 1 || (isText && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0);
  })
  .map((one) => one.outerHTML.slice(0, 200))`;

describe.skipIf(!hasChromium)('every page', { timeout: 120_000, concurrent: true }, () => {
  it.for(scenes)('has no findings and fits a narrow screen: $name', async (scene, { expect }) => {
    const page = await contexts[scene.who ?? 'everything']?.newPage();
    if (page === undefined) throw new Error('no context');
    await page.setViewportSize({ width: scene.width ?? 1280, height: 900 });
    await openScene(page, service.url, { scene, all, expect });
    const found = {
      light: await findings(page, {}),
      dark: [] as string[],
      narrow: [] as string[],
      width: 0,
      cutOff: [] as string[],
    };
    await page.emulateMedia({ colorScheme: 'dark' });
    found.dark = await findings(page, only('color-contrast', 'link-in-text-block'));
    await page.setViewportSize({ width: 390, height: 800 });
    found.narrow = await findings(page, only('target-size', 'scrollable-region-focusable'));
    found.width = await page.evaluate<number>('document.documentElement.scrollWidth');
    found.cutOff = await page.evaluate<string[]>(cutOff);
    await page.close();
    expect(found).toEqual({
      light: [],
      dark: [],
      narrow: [],
      width: expect.toSatisfy((width: number) => width <= 390),
      cutOff: [],
    });
  });
});
