import type { Browser, BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { startServiceWithEverything } from '../../helpers/service/one-of-everything.ts';
import { openScene, type SceneIds } from '../../helpers/service/page-scenes.ts';
import { showEverything } from '../../helpers/service/shown-account.ts';
import type { TestService } from '../../helpers/service/service.ts';

/**
 * What a screen reader gets of the main pages: Chromium's accessibility tree. The landmarks, headings and controls of each
 * page are a file in screen-reader/. `npx vitest run -u` writes them again: read the difference.
 */

let browser: Browser;
let context: BrowserContext;
let service: TestService;
let close: () => Promise<void>;
let all: SceneIds;

beforeAll(async () => {
  if (!hasChromium) return;
  const started = await startServiceWithEverything();
  ({ service, close } = started);
  all = { ids: started.everything.ids, shown: await showEverything(service, started.everything) };
  browser = await startChromium();
  context = await browser.newContext({ viewport: { width: 1280, height: 2400 }, locale: 'en-GB' });
  await context.request.post(`${service.url}/v1/sign-in`, { data: { apiKey: service.account.key } });
}, 120_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await close();
});

type Value = { value?: unknown };
type AxNode = {
  nodeId: string;
  ignored: boolean;
  role?: Value;
  name?: Value;
  childIds?: string[];
  properties?: { name: string; value: Value }[];
};
type Line = { role: string; name: string; level: number; depth: number };

const landmarks = ['banner', 'navigation', 'main', 'region', 'search', 'form', 'dialog', 'complementary'];
const controls = [
  'button',
  'link',
  'textbox',
  'searchbox',
  'combobox',
  'checkbox',
  'radio',
  'switch',
  'listbox',
  'DisclosureTriangle',
];
const shown = [...landmarks, ...controls, 'heading', 'group', 'table', 'list', 'status', 'columnheader'];

/** The tree in reading order, without what a screen reader skips. */
async function linesOf(page: Page): Promise<Line[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as { nodes: AxNode[] };
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const lines: Line[] = [];
  const walk = (id: string, depth: number) => {
    const node = byId.get(id);
    if (node === undefined) return;
    const role = String(node.role?.value ?? '');
    const isShown = !node.ignored && shown.includes(role);
    const property = (name: string) => node.properties?.find((one) => one.name === name)?.value.value;
    if (isShown)
      lines.push({
        role,
        name: String(node.name?.value ?? '').trim(),
        level: Number(property('level') ?? 0),
        depth,
      });
    for (const child of node.childIds ?? []) walk(child, isShown ? depth + 1 : depth);
  };
  walk(nodes[0]?.nodeId ?? '', 0);
  return lines;
}

const months = Array.from({ length: 12 }, (_, at) =>
  new Intl.DateTimeFormat('en-GB', { month: 'long' }).format(new Date(2026, at)),
);
/** Without ids and times, which differ from run to run. */
const steady = (text: string) =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/\.\.\.[0-9a-f]{4}\b/g, '...KEY')
    .replaceAll(/\b\d{1,2} [A-Z][a-z]{2,8} \d{4}, \d\d:\d\d:\d\d\b/g, 'MOMENT')
    .replaceAll(/\b\d+ (s|min|h|d) ago\b|\bin \d+ (s|min|h|d)\b|\bjust now\b/g, 'TIME')
    .replace(new RegExp(`^(${months.join('|')}) \\d{4}$`), 'MONTH');
/** The headings and buttons of single days; the days that are shown differ from day to day. */
const ofDay = new RegExp(
  `^(\\w+day )?\\d{1,2} (${months.map((month) => `${month}|${month.slice(0, 3)}`).join('|')})`,
);

const pages: readonly (readonly [string, (of: SceneIds) => string])[] = [
  ['home', () => '/'],
  ['home-by-group', () => '/?view=groups'],
  ['lists/groups', () => '/groups'],
  ['group', ({ ids }) => `/groups/${ids['group']}`],
  ['lists/projects', () => '/projects'],
  ['project', () => '/projects/shop'],
  ['lists/reports', () => '/reports?sort=name'],
  ['check', ({ ids }) => `/checks/${ids['check/url']}`],
  ['run', ({ ids, shown: { failed } }) => `/checks/${ids['check/url']}/runs/${failed}`],
  ['lists/runs', ({ ids }) => `/checks/${ids['check/url']}?tab=runs`],
  ['lists/check-alerts', ({ ids }) => `/checks/${ids['check/url']}?tab=alerts`],
  ['new-check', () => '/checks/new?type=URL'],
  ['locations', () => '/locations'],
  ['location', ({ ids }) => `/locations/${ids['privateLocation']}?tab=keys`],
  ['alerts', () => '/alerts'],
  ['lists/notifications', () => '/alerts?tab=notifications'],
  ['lists/channels', () => '/alerts?tab=channels'],
  ['incidents', () => '/incidents'],
  ['incident', ({ ids }) => `/incidents/${ids['statusPageIncident']}`],
  ['new-incident', () => '/incidents/new'],
  ['maintenance', () => '/maintenance'],
  ['maintenance-window', ({ ids }) => `/maintenance/${ids['maintenanceWindow']}`],
  ['lists/status-pages', () => '/status-pages'],
  ['lists/services', () => '/services'],
  ['agents', ({ ids }) => `/locations/${ids['privateLocation']}`],
  ['status-page-form', ({ ids }) => `/status-pages/${ids['statusPage']}`],
  ['status-page', () => '/status/shop'],
  ['settings', () => '/settings'],
  ['sign-in', () => '/sign-in'],
  ['reference', () => '/docs?search=createUrlCheck'],
];

const calendars = ['alerts', 'incidents', 'maintenance', 'lists/reports'];

describe.skipIf(!hasChromium)('the accessibility tree', { timeout: 60_000 }, () => {
  it.each(pages)('of the page %s names every part', async (name, path) => {
    const page = await context.newPage();
    await openScene(page, service.url, { scene: { name, path }, all, expect });
    const lines = await linesOf(page);
    const of = (role: string) => lines.filter((line) => line.role === role);
    expect(of('main')).toHaveLength(1);
    expect(of('heading').filter(({ level }) => level === 1)).toHaveLength(1);
    const levels = of('heading').map(({ level }) => level);
    expect(levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1)).toEqual([]);
    expect(lines.filter((line) => controls.includes(line.role) && line.name === '')).toEqual([]);
    const named = ['navigation', 'region', 'dialog', 'search', 'table'];
    expect(lines.filter(({ role, name: own }) => named.includes(role) && own === '')).toEqual([]);
    const days = lines.filter((line) => ofDay.test(line.name));
    if (calendars.includes(name)) expect(days.length).toBeGreaterThanOrEqual(30);
    const text = lines
      .filter((line) => !ofDay.test(line.name))
      .map((line) =>
        `${'  '.repeat(line.depth)}${line.role}${line.level > 0 ? ` ${line.level}` : ''} ${steady(line.name)}`.trimEnd(),
      )
      .join('\n');
    await expect(`${text}\n`).toMatchFileSnapshot(`screen-reader/${name}.txt`);
    await page.close();
  });
});
