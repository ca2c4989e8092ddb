import type { Browser, Locator, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../../src/service/db/database.ts';
import { uuidv7 } from '../../../../src/service/engine/ids.ts';
import { addCheck, addLocation, encryption } from '../../../helpers/service/agent-service.ts';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../../helpers/service/service.ts';
import { storeRuns, type Run } from '../../../helpers/service/stored-results.ts';

/** Lists and pages that the service keeps up to date: each shows a change by itself, and the focus stays where it is. */

let db: Db;
let api: TestService;
let browser: Browser;
const ids: { [name: string]: string } = {};

const suiteRun = (title: string): Run => ({
  at: Date.now(),
  checkType: 'PLAYWRIGHT',
  details: {
    tests: [{ title, status: 'passed', durationMs: 5, retries: 0 }],
    totals: { tests: 1, passed: 1 },
  },
});
const store = (name: string, ...runs: Run[]) =>
  storeRuns(db, { accountId: api.account.id, checkId: ids[name] ?? '' }, runs);
const make = async (path: string, body: object) =>
  String((await api.call<{ id: string | number }>('POST', path, { body })).body.id);

async function raiseAlert(error: string): Promise<void> {
  await db.query(
    `insert into alerts (id, account_id, check_id, check_name, check_type, tags, alert_type, error, started_at, created_at)
     values ($1, $2, $3, 'Cart', 'URL', '{}', 'ALERT_FAILURE', $4, now(), now())`,
    [uuidv7(), api.account.id, ids['url'], error],
  );
}
async function notify(result: string): Promise<void> {
  await db.query(
    `insert into alert_notifications (id, account_id, channel_id, channel_type, alert_type, check_id, alert_config, created_at,
       status, result) values ($1, $2, 1, 'WEBHOOK', 'ALERT_FAILURE', $3, '{}', now(), 'SUCCESS', $4)`,
    [uuidv7(), api.account.id, ids['url'], result],
  );
}
async function joinAgent(hostname: string): Promise<void> {
  const host = { hostname, platform: 'linux', arch: 'x64', cores: 2, memoryBytes: 1e9 };
  await db.query(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, created_at, last_seen_at)
     values ($1, $2, $3, '1.2.3', $4::jsonb, '{URL}', '{}', '{"uptime": 4}', now(), now() + interval '1 hour')`,
    [uuidv7(), ids['location'], hostname, JSON.stringify(host)],
  );
}
const window = (name: string) => ({
  name,
  startsAt: new Date(Date.now() + 3_600_000).toISOString(),
  endsAt: new Date(Date.now() + 7_200_000).toISOString(),
});
const incident = (name: string) => ({
  name,
  severity: 'MAJOR',
  services: [{ id: ids['service'] }],
  incidentUpdates: [{ status: 'INVESTIGATING', description: `About ${name}` }],
});

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const { id: accountId } = api.account;
  const office = await addLocation(db, { accountId, slug: 'office' });
  ids['location'] = office.id;
  ids['group'] = await make('/v2/check-groups', { name: 'Shop' });
  const now = Date.now();
  for (const [name, checkType] of [
    ['url', 'URL'],
    ['suite', 'PLAYWRIGHT'],
    ['heartbeat', 'HEARTBEAT'],
  ] as const)
    ids[name] = await addCheck(db, { accountId, checkType, privateLocations: ['office'], now });
  await store('url', { at: now - 60_000 });
  await store('suite', { ...suiteRun('buys a lamp'), at: now - 60_000 });
  ids['service'] = await make('/v1/status-pages/services', { name: 'Cart' });
  ids['incident'] = await make('/v1/status-pages/incidents', incident('Slow cart'));
  ids['window'] = await make('/v1/maintenance-windows', window('Patches'));
  await raiseAlert('the first error');
}, 60_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

type Case = {
  readonly name: string;
  readonly path: () => string;
  readonly focus: (page: Page) => Locator;
  /** What someone else does meanwhile. */
  readonly change: () => Promise<unknown>;
  /** What appears because of it. */
  readonly shown: (page: Page) => Locator;
};
const text = (what: string) => (page: Page) => page.getByText(what).first();
const choice = (name: string) => (page: Page) => page.getByRole('combobox', { name, exact: true });
const field = (name: string) => (page: Page) => page.getByRole('searchbox', { name });

const cases: readonly Case[] = [
  {
    name: 'the runs of a check',
    path: () => `/checks/${ids['url']}?tab=runs`,
    focus: choice('Status'),
    change: () => store('url', { at: Date.now() }),
    shown: (page) => page.getByRole('button', { name: '1 new run' }),
  },
  {
    name: 'the alerts of a check',
    path: () => `/checks/${ids['url']}?tab=alerts`,
    focus: choice('Type'),
    change: () => raiseAlert('an error on the tab'),
    shown: text('an error on the tab'),
  },
  {
    name: 'the list of alerts',
    path: () => '/alerts',
    focus: choice('Type'),
    change: () => raiseAlert('an error in the list'),
    shown: text('an error in the list'),
  },
  {
    name: 'the log of notifications',
    path: () => '/alerts?tab=notifications',
    focus: choice('State'),
    change: () => notify('answered with 204'),
    shown: text('answered with 204'),
  },
  {
    name: 'a location',
    path: () => `/locations/${ids['location']}`,
    focus: choice('Range of the queue'),
    change: () => joinAgent('host-one'),
    shown: text('host-one'),
  },
  {
    name: 'the list of locations',
    path: () => '/locations',
    focus: (page) => page.getByRole('link', { name: 'office', exact: true }),
    change: () => joinAgent('host-two'),
    shown: (page) => page.getByRole('cell', { name: /^2/ }),
  },
  {
    name: 'a group',
    path: () => `/groups/${ids['group']}`,
    focus: (page) => page.getByRole('button', { name: 'Pause' }),
    change: () => api.call('PUT', `/v2/check-groups/${ids['group']}`, { body: { tags: ['lamps'] } }),
    shown: text('lamps'),
  },
  {
    name: 'the list of groups',
    path: () => '/groups',
    focus: (page) => page.getByRole('link', { name: 'Shop', exact: true }),
    change: () => make('/v2/check-groups', { name: 'Warehouse' }),
    shown: (page) => page.getByRole('link', { name: 'Warehouse', exact: true }),
  },
  {
    name: 'a suite',
    path: () => `/checks/${ids['suite']}`,
    focus: field('Search tests'),
    change: () => store('suite', suiteRun('sells a lamp')),
    shown: text('sells a lamp'),
  },
  {
    name: 'a heartbeat',
    path: () => `/checks/${ids['heartbeat']}`,
    focus: (page) => page.getByRole('button', { name: '7 d' }),
    change: async () => {
      await db.query(
        `insert into heartbeat_events (id, check_id, account_id, state, happened_at, source, user_agent)
         values ($1, $2, $3, 'RECEIVED', now(), 'the nightly job', '')`,
        [uuidv7(), ids['heartbeat'], api.account.id],
      );
      await store('heartbeat', { at: Date.now(), checkType: 'HEARTBEAT' });
    },
    shown: text('the nightly job'),
  },
  {
    name: 'the list of incidents',
    path: () => '/incidents',
    focus: field('Search'),
    change: () => make('/v1/status-pages/incidents', incident('Lamps are dark')),
    shown: text('Lamps are dark'),
  },
  {
    name: 'the list of maintenance windows',
    path: () => '/maintenance',
    focus: field('Search'),
    change: () => make('/v1/maintenance-windows', window('Move to another rack')),
    shown: (page) => page.getByRole('link', { name: 'Move to another rack' }).last(),
  },
  {
    name: 'the list of services',
    path: () => '/services',
    focus: (page) => page.getByRole('link', { name: 'Cart', exact: true }),
    change: () => make('/v1/status-pages/services', { name: 'Payment' }),
    shown: (page) => page.getByRole('link', { name: 'Payment', exact: true }),
  },
  {
    name: 'the list of status pages',
    path: () => '/status-pages',
    focus: (page) => page.getByRole('main').getByRole('link', { name: 'Services', exact: true }).first(),
    change: () => make('/v1/status-pages', { name: 'For partners', url: 'partners', cards: [] }),
    shown: (page) => page.getByRole('link', { name: 'For partners' }),
  },
];

async function open(path: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
  const page = await context.newPage();
  page.setDefaultTimeout(25_000);
  await page.addInitScript(`
    window.isOpen = false;
    window.EventSource = class extends EventSource {
      constructor(...given) {
        super(...given);
        this.addEventListener('open', () => (window.isOpen = true));
      }
    };`);
  await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
  await page.goto(api.url + path);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await expect.poll(() => page.evaluate('isOpen'), { timeout: 20_000 }).toBe(true);
  return page;
}

describe.skipIf(!hasChromium)('a change appears, and the focus stays', { timeout: 90_000 }, () => {
  it.each(cases)('on $name', async ({ path, focus, change, shown }) => {
    const page = await open(path());
    await focus(page).focus();
    await page.evaluate('window.kept = document.activeElement');
    expect(await page.evaluate('kept === document.body')).toBe(false);
    expect(await shown(page).count()).toBe(0);
    await change();
    await shown(page).waitFor();
    expect(await page.evaluate('kept.isConnected && kept === document.activeElement')).toBe(true);
    await page.context().close();
  });

  it('in an update of an incident that someone writes while another one arrives', async () => {
    const page = await open(`/incidents/${ids['incident']}`);
    await page.getByLabel('Text (required)').fill('We found');
    await api.call('POST', `/v1/status-pages/incidents/${ids['incident']}/incident-updates`, {
      body: { status: 'IDENTIFIED', description: 'A cable was cut.' },
    });
    await page.getByText('A cable was cut.').waitFor();
    await page.keyboard.type(' it');
    expect(await page.evaluate('document.activeElement.value')).toBe('We found it');
    await page.getByRole('button', { name: 'Publish update' }).click();
    await page.getByRole('listitem').getByText('We found it').waitFor();
    expect(await page.getByLabel('Text (required)').inputValue()).toBe('');
    await page.context().close();
  });

  it('"no agent serves this location" disappears when an agent joins, and the first run counts down', async () => {
    const cellar = await addLocation(db, { accountId: api.account.id, slug: 'cellar' });
    const id = await addCheck(db, {
      accountId: api.account.id,
      privateLocations: ['cellar'],
      frequency: 60,
      now: Date.now(),
    });
    const page = await open(`/checks/${id}`);
    const note = page.locator('.note.warn[role="status"]');
    await expect.poll(() => note.innerText()).toBe('No agent serves the location cellar');
    await db.query(
      `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, created_at, last_seen_at)
       values ($1, $2, 'x', '1.2.3', '{}', '{URL}', '{}', '{"uptime": 4}', now(), now() + interval '1 hour')`,
      [uuidv7(), cellar.id],
    );
    await expect
      .poll(() => note.innerText(), { timeout: 30_000 })
      .toMatch(/^First run (in \d+ (s|min)|now)$/);
    await db.query(
      `update checks set next_due_at = now() + interval '40 seconds', updated_at = now() where id = $1`,
      [id],
    );
    await expect.poll(() => note.innerText(), { timeout: 20_000 }).toMatch(/^First run in [1-4]?\d s$/);
    const before = await note.innerText();
    await expect.poll(() => note.innerText(), { timeout: 10_000 }).not.toBe(before);
    await page.context().close();
  });
});
