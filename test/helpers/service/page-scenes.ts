import type { Page, Request } from 'playwright';
import type { ExpectStatic } from 'vitest';
import type { Everything } from './one-of-everything.ts';
import type { ShownAccount } from './shown-account.ts';

/** Every page in every state that tests of all pages visit: tabs, forms by type, open dialogs and menus, errors. */

export type SceneIds = { readonly ids: Everything['ids']; readonly shown: ShownAccount };
export type Scene = {
  readonly name: string;
  readonly path: (of: SceneIds) => string;
  /** Default: the account that has one of everything. */
  readonly who?: 'nobody' | 'empty';
  /** Of the window while it is opened; default: 1280. */
  readonly width?: number;
  /** Opens a dialog or a menu. */
  readonly open?: (page: Page) => Promise<unknown>;
};

const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
const at = (path: string, more: Partial<Omit<Scene, 'path'>> = {}): Scene => ({
  name: `${path}${more.who === undefined ? '' : ` of ${more.who}`}`,
  path: () => path,
  ...more,
});
const of = (name: string, path: Scene['path'], open?: Scene['open']): Scene => ({
  name,
  path,
  ...(open === undefined ? {} : { open }),
});

const types =
  'URL API BROWSER MULTI_STEP PLAYWRIGHT AGENTIC DNS TCP ICMP SSL GRPC TRACEROUTE HEARTBEAT'.split(' ');
const slug = (type: string) => type.toLowerCase().replace('_', '');
const channelTypes = 'EMAIL WEBHOOK CHAT_A CHAT_A_APP SMS CALL PAGING_A PAGING_B'.split(' ');
const check = ({ ids }: SceneIds, type = 'url') => `/checks/${ids[`check/${type}`]}`;
const lists = [
  '/',
  '/groups',
  '/projects',
  '/alerts',
  '/incidents',
  '/maintenance',
  '/status-pages',
  '/services',
];
const others = ['/locations', '/reports', '/settings'];
const tabs = {
  '/alerts': ['notifications', 'channels'],
  '/settings': ['variables', 'snippets', 'certificates', 'account'],
};

export const scenes: readonly Scene[] = [
  at('/', { who: 'nobody' }),
  at('/docs', { who: 'nobody' }),
  ...['createUrlCheck', 'listChecks', 'uploadPlaywrightBundle'].map((operation) => at(`/docs#${operation}`)),
  at('/docs?search=nothing-has-this-name', { who: 'nobody' }),
  at('/status/shop', { who: 'nobody' }),
  at('/status/unknown', { who: 'nobody' }),
  at('/checks/00000000-0000-7000-8000-000000000000'),
  ...[...lists, ...others].flatMap((path) => [at(path), at(path, { who: 'empty' })]),
  at('/?view=groups'),
  at('/?search=nothing-has-this-name'),
  ...Object.entries(tabs).flatMap(([path, names]) =>
    names.flatMap((tab) => [at(`${path}?tab=${tab}`), at(`${path}?tab=${tab}`, { who: 'empty' })]),
  ),
  ...['groups', 'incidents', 'maintenance', 'status-pages', 'services', 'checks', 'locations'].map((area) =>
    at(`/${area}/new`),
  ),
  ...types.map((type) => at(`/checks/new?type=${type}`)),
  ...types.map((type) => of(`a check of the type ${type}`, (all) => check(all, slug(type)))),
  ...types
    .filter((type) => type !== 'HEARTBEAT')
    .map((type) =>
      of(`a run of the type ${type}`, (all) => `${check(all, slug(type))}/runs/${all.shown.runs[type]}`),
    ),
  of(
    'a run of an SSL check whose name was not resolved',
    (all) => `${check(all, 'ssl')}/runs/${all.shown.unresolved}`,
  ),
  ...['phases', 'expiry', 'loss', 'shift'].map((view) =>
    of(
      `the chart ${view} of a check`,
      (all) =>
        `${check(all, { phases: 'dns', expiry: 'ssl', loss: 'icmp', shift: 'browser' }[view])}?chart=${view}`,
    ),
  ),
  of('a run that failed', (all) => `${check(all)}/runs/${all.shown.failed}`),
  ...['runs', 'errors', 'alerts', 'settings'].map((tab) =>
    of(`the tab ${tab} of a check`, (all) => `${check(all)}?tab=${tab}`),
  ),
  of('the form of a check', (all) => `${check(all)}/edit`),
  of('the form of a check with errors', () => '/checks/new?type=URL', press('Create the check')),
  of('a group', ({ ids }) => `/groups/${ids['group']}`),
  of('the form of a group', ({ ids }) => `/groups/${ids['group']}/edit`),
  ...['deployments', 'resources'].map((tab) =>
    of(`the tab ${tab} of a project`, () => `/projects/shop?tab=${tab}`),
  ),
  of(
    'the history of a test',
    (all) =>
      `${check(all, 'playwright')}?history=${encodeURIComponent('[chromium] shop.spec.ts › searches')}`,
  ),
  of('an incident', ({ ids }) => `/incidents/${ids['statusPageIncident']}`),
  of('a maintenance window', ({ ids }) => `/maintenance/${ids['maintenanceWindow']}`),
  of('a status page', ({ ids }) => `/status-pages/${ids['statusPage']}`),
  of('a service', ({ ids }) => `/services/${ids['service']}`),
  ...['agents', 'keys', 'settings'].map((tab) =>
    of(`the tab ${tab} of a location`, ({ ids }) => `/locations/${ids['privateLocation']}?tab=${tab}`),
  ),
  of(
    'a new key of a location',
    ({ ids }) => `/locations/${ids['privateLocation']}?tab=keys`,
    press(/new key/),
  ),
  ...channelTypes.map((type) =>
    of(
      `a new channel of the type ${type}`,
      () => '/alerts?tab=channels',
      async (page) => {
        await press('New channel')(page);
        await page.getByLabel('Type').selectOption(type);
      },
    ),
  ),
  at('/', { name: 'the open menu of a phone', width: 390, open: press('Menu') }),
  of('the dialog of a deletion', check, press('Delete')),
  of('the dialog of an API key', () => '/settings?tab=keys', press('New API key')),
  of('the dialog of a variable', () => '/settings?tab=variables', press('New variable')),
  of('the dialog of a certificate', () => '/settings?tab=certificates', press(/New .*certificate/)),
  of('the form of a snippet', () => '/settings?tab=snippets', press('New snippet')),
];

/** Opens a scene, with every part that folds. */
export async function openScene(
  page: Page,
  base: string,
  { scene, all, expect }: { scene: Scene; all: SceneIds; expect: ExpectStatic },
): Promise<void> {
  const settled = watchLoading(page, expect);
  await page.goto(`${base}${scene.path(all)}`);
  await page.locator('h1').first().waitFor();
  await settled();
  await scene.open?.(page);
  await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
  await settled();
}

/** Waits until nothing on the page is loading. The stream of live events stays open. */
export function watchLoading(page: Page, expect: ExpectStatic): () => Promise<void> {
  const open = new Set<Request>();
  page.on('request', (request) => !request.url().endsWith('/v1/events') && open.add(request));
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  return async () => {
    await expect.poll(() => open.size, { timeout: 30_000 }).toBe(0);
    // Not waitForFunction: the policy of the pages blocks what it evaluates.
    const loading = page.locator('.loading, [aria-busy="true"]');
    await expect.poll(() => loading.count(), { timeout: 30_000 }).toBe(0);
  };
}
