import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../../src/service/db/database.ts';
import { uuidv7 } from '../../../../src/service/engine/ids.ts';
import { appendRunLogs } from '../../../../src/service/results/log-statements.ts';
import { addCheck, addLocation, encryption } from '../../../helpers/service/agent-service.ts';
import { hasChromium, startChromium } from '../../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../../helpers/service/service.ts';
import { storeRuns } from '../../../helpers/service/stored-results.ts';
import { madeElements, payload, watchAttacks } from './hostile.ts';
import { openPage, textsOf } from './open-page.ts';

/**
 * Hostile texts in what is seen only while or after something happens: deployments, running jobs, pings, titles of tests,
 * missed runs, agents' own reports, updates of maintenance, questions and messages.
 */

let db: Db;
let api: TestService;
let browser: Browser;
let page: Page;
let attacks: string[];
const ids: { [name: string]: string } = {};
/** A hostile text whose place can be told. */
const at = (mark: string) => `${mark}:${payload}`;

const make = async (path: string, body: object): Promise<string> => {
  const answer = await api.call('POST', path, { body });
  expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return String(answer.body['id'] ?? '');
};

async function addProject(): Promise<void> {
  const project = { logicalId: 'shop', name: at('project'), repoUrl: 'https://code.example/shop' };
  const resources = [{ type: 'snippet', logicalId: 'logout', payload: { name: 'logout', script: '1' } }];
  const id = await make('/v1/projects/deploy', { project, resources });
  await api.call('GET', `/v1/projects/shop/deployments/${id}/completion`);
  await db.query(`update projects set repo_url = 'javascript:fired(11)//'`);
  await db.query('update project_resources set logical_id = $1, type = $2', [at('resource'), at('type')]);
  await db.query('update project_deployments set error = $1, result = $2', [
    { code: at('code'), message: at('deployment') },
    { diff: [{ type: at('diff'), logicalId: at('change'), action: at('action') }] },
  ]);
}

async function addChecks(slug: string): Promise<void> {
  const urlCheck = { name: at('check'), privateLocations: [slug], request: { url: 'https://shop.example/' } };
  ids['url'] = await make('/v1/checks/url', urlCheck);
  ids['heartbeat'] = await make('/v1/checks/heartbeat', {
    name: 'Backup',
    heartbeat: { period: 1, periodUnit: 'hours', grace: 5, graceUnit: 'minutes' },
  });
  const accountId = api.account.id;
  ids['suite'] = await addCheck(db, {
    accountId,
    checkType: 'PLAYWRIGHT',
    privateLocations: [slug],
    now: Date.now(),
  });
  const tests = [{ title: at('test'), status: 'failed', durationMs: 5, retries: 1, errors: [at('error')] }];
  const details = { tests, totals: { tests: 1, failed: 1 } };
  await storeRuns(db, { accountId, checkId: ids['suite'] }, [
    { at: Date.now() - 60_000, checkType: 'PLAYWRIGHT', status: 'failed', details },
    { at: Date.now() - 30_000, checkType: 'PLAYWRIGHT', details },
  ]);
  await storeRuns(db, { accountId, checkId: ids['url'] }, [
    { at: Date.now() - 60_000, status: 'missed', runLocation: slug, details: { count: 3 } },
    { at: Date.now() - 50_000, status: 'failed', runLocation: at('place') },
  ]);
  await db.query(
    `insert into heartbeat_events (id, check_id, account_id, state, happened_at, source, user_agent)
     values ($1, $2, $3, 'RECEIVED', now(), $4, $5)`,
    [uuidv7(), ids['heartbeat'], accountId, at('source'), at('program')],
  );
  await db.query(
    `insert into alerts (id, account_id, check_id, check_name, check_type, tags, alert_type, error, started_at, created_at)
     values ($1, $2, $3, 'x', 'URL', '{}', 'ALERT_FAILURE', $4, now(), now())`,
    [uuidv7(), accountId, ids['url'], at('alert')],
  );
  await api.call('POST', '/v2/check-sessions/trigger', { body: { target: { checkId: [ids['url']] } } });
  const [job] = await db.query<{ id: string }>(
    `update jobs set state = 'leased', stage = $2, leased_at = now(), lease_token = gen_random_uuid(),
       lease_expires_at = now() + interval '1 hour' where check_id = $1 returning id`,
    [ids['url'], at('stage')],
  );
  await appendRunLogs(db, [{ jobId: job?.id ?? '', lines: [at('line'), `\u001b[31m${payload}\u001b[0m`] }]);
}

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const location = await addLocation(db, { accountId: api.account.id, slug: 'office' });
  ids['location'] = location.id;
  await addChecks('office');
  await addProject();
  const guard = { name: at('guard'), message: at('report'), stopsJobs: true };
  await db.query(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, last_seen_at, condition,
       condition_at) values ($1, $2, 'x', $3, '{}', $4, '{}', $5, now() + interval '1 hour', $6, now())`,
    [
      uuidv7(),
      location.id,
      at('version'),
      [at('kind')],
      { [at('lane')]: 5 },
      { guards: [guard], outbox: { results: 1, bytes: 5, oldestSeconds: 7 } },
    ],
  );
  const from = Date.now() - 3_600_000;
  ids['window'] = await make('/v1/maintenance-windows', {
    name: 'Patches',
    startsAt: new Date(from).toISOString(),
    endsAt: new Date(from + 7_200_000).toISOString(),
  });
  const base = `/v1/maintenance-windows/${ids['window']}/occurrences`;
  const [occurrence] = (await api.call<{ id: string }[]>('GET', base)).body;
  await make(`${base}/${occurrence?.id}/updates`, { status: 'IN_PROGRESS', description: at('update') });
  page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(20_000);
  attacks = await watchAttacks(page);
  await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
}, 120_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await anyDatabase.close();
});

describe.skipIf(!hasChromium)('hostile texts of what happens', { timeout: 120_000 }, () => {
  it.each([
    ['projects', () => '/projects', ['project']],
    ['deployments', () => '/projects/shop', ['project', 'deployment', 'diff', 'change', 'action']],
    ['resources of a project', () => '/projects/shop?tab=resources', ['resource', 'type']],
    ['tests over time', () => `/checks/${ids['suite']}`, ['test']],
    [
      'the history of a test',
      () => `/checks/${ids['suite']}?history=${encodeURIComponent(at('test'))}`,
      ['test'],
    ],
    ['pings', () => `/checks/${ids['heartbeat']}`, ['source']],
    ['marks of a chart', () => `/checks/${ids['url']}`, ['alert']],
    ['places of a chart', () => `/checks/${ids['url']}?chart=locations`, ['place']],
    ['running jobs', () => `/checks/${ids['url']}?tab=runs`, ['stage', 'line', 'place']],
    ['missed runs', () => `/locations/${ids['location']}`, ['check']],
    [
      'reports of agents',
      () => `/locations/${ids['location']}`,
      ['guard', 'report', 'version', 'lane', 'kind'],
    ],
    ['updates of maintenance', () => `/maintenance/${ids['window']}`, ['update']],
  ])('stay text: %s', async (_name, path, marks) => {
    await openPage(page, api.url + path());
    const missing = async () => {
      const text = await textsOf(page);
      return marks.filter((mark) => !text.includes(`${mark}:"'`));
    };
    // Some parts are read after others.
    await expect.poll(missing, { timeout: 20_000 }).toEqual([]);
    expect(await madeElements(page)).toEqual([]);
    expect(attacks).toEqual([]);
  });

  it('stay text in suggestions, questions and messages', async () => {
    await openPage(page, `${api.url}/services/new`);
    await page.getByRole('combobox', { name: /check/i }).fill('check:');
    await page.getByRole('listbox', { name: 'Checks found' }).getByRole('option').first().waitFor();
    expect(await textsOf(page)).toContain('<script>fired(1)</script>');
    expect(await madeElements(page)).toEqual([]);

    await openPage(page, `${api.url}/checks/${ids['url']}`);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.innerText()).toContain('<script>fired(1)</script>');
    expect(await madeElements(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText(/^Deleted: check:/).waitFor();
    expect(await page.locator('.messages').innerText()).toContain('<script>fired(1)</script>');
    expect(await madeElements(page)).toEqual([]);
    expect(attacks).toEqual([]);
  });

  it('stay text in variables, and in answers that the reference of the API shows', async () => {
    await make('/v1/variables', { key: 'HOSTILE', value: at('value') });
    await openPage(page, `${api.url}/docs?search=${encodeURIComponent('/v1/variables')}`);
    await page.goto(`${api.url}/docs#listVariables`);
    await page.getByText('Try it').first().click();
    await page.getByRole('button', { name: 'Send the request' }).first().click();
    await expect.poll(() => textsOf(page)).toContain(`value:`);
    expect(await madeElements(page)).toEqual([]);
    expect(await openPage(page, `${api.url}/settings?tab=variables`)).toContain(`value:"'`);
    expect(await madeElements(page)).toEqual([]);
    expect(attacks).toEqual([]);
  });
});
