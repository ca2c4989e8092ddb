/**
 * `node scripts/screenshots.mjs [NAME …]` makes docs/screenshots: each page of the service, light and dark, with the samples of
 * `npm start`. It needs `npm run build` and a Chromium. Pages whose samples have not run yet are waited for.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'docs', 'screenshots');
const wanted = process.argv.slice(2);
const size = { width: 1280, height: 860 };
/** A page may take as long on a busy machine. */
const patientMs = 120_000;
/** Until then, the samples have run a few times; browser checks take longest. */
const samplesMs = 90_000;

const data = mkdtempSync(join(tmpdir(), 'screenshots-'));
const service = spawn(process.execPath, [join(root, 'dist', 'main.js'), 'dev'], {
  env: {
    ...process.env,
    SERVICE_PORT: '0',
    AGENT_HEALTH_PORT: '0',
    SERVICE_DATA_DIR: data,
    AGENT_DATA_DIR: join(data, 'agent'),
  },
  stdio: ['ignore', 'pipe', 'ignore'],
});
process.once('exit', () => {
  service.kill('SIGTERM');
  rmSync(data, { recursive: true, force: true, maxRetries: 5 });
});

const ready = await new Promise((resolve, reject) => {
  createInterface({ input: service.stdout }).once('line', (line) => resolve(JSON.parse(line)));
  service.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
});
process.stderr.write('waiting for the samples\n');
await new Promise((resolve) => setTimeout(resolve, samplesMs));

const headers = { authorization: `Bearer ${ready.apiKey}` };
const read = async (path) => (await fetch(new URL(path, ready.serviceUrl), { headers })).json();
const { entries } = await read('/v1/checks-overview?limit=100');
const idOf = (name) => entries.find((entry) => entry.name.includes(name))?.id ?? entries[0].id;
const newestRun = async (id) => (await read(`/v2/check-results/${id}?limit=1`)).entries?.[0]?.id;
const [location] = await read('/v1/private-locations');
const failing = idOf('gift card');
const url = idOf('page answers');

const pages = {
  home: '/',
  groups: '/groups',
  check: `/checks/${url}`,
  'check-runs': `/checks/${url}?tab=runs`,
  run: `/checks/${url}/runs/${await newestRun(url)}`,
  'run-failed': `/checks/${failing}/runs/${await newestRun(failing)}`,
  'new-check': '/checks/new?type=URL',
  alerts: '/alerts',
  incidents: '/incidents',
  maintenance: '/maintenance',
  'status-pages': '/status-pages',
  'status-page': '/status/samples',
  channels: '/alerts?tab=channels',
  notifications: '/alerts?tab=notifications',
  projects: '/projects',
  services: '/services',
  'new-window': '/maintenance/new',
  keys: `/locations/${location?.id}?tab=keys`,
  api: '/docs',
  locations: '/locations',
  location: `/locations/${location?.id}`,
  reports: '/reports',
  settings: '/settings',
};

const make = async (path, body) => {
  const answer = await fetch(new URL(path, ready.serviceUrl), {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return answer.json();
};
// What people make themselves, so that no page of it is empty.
const hourMs = 3_600_000;
const inHours = (hours) => new Date(Date.now() + hours * hourMs).toISOString();
const service1 = await make('/v1/status-pages/services', { name: 'Checkout' });
const service2 = await make('/v1/status-pages/services', { name: 'Search' });
const cards = [{ name: 'Shop', services: [{ serviceId: service1.id }, { serviceId: service2.id }] }];
await make('/v1/status-pages', { name: 'Shop', url: 'samples', cards });
await make('/v1/status-pages/incidents', {
  name: 'Payments are slow',
  severity: 'MINOR',
  services: [{ id: service1.id }],
  incidentUpdates: [{ status: 'INVESTIGATING', description: 'Some payments take more than ten seconds.' }],
});
await make('/v1/maintenance-windows', {
  name: 'Weekly database update',
  startsAt: inHours(30),
  endsAt: inHours(32),
  repeatInterval: 1,
  repeatUnit: 'WEEK',
});
const receiver = createServer((_request, answer) => answer.end('thanks')).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const { id: channelId } = await make('/v1/alert-channels', {
  type: 'WEBHOOK',
  config: { name: 'Operations', method: 'POST', url: `http://127.0.0.1:${receiver.address().port}/alerts` },
});
await make(`/v1/alert-channels/${channelId}/test`, {});
await make('/v1/projects/deploy', {
  project: { logicalId: 'shop', name: 'Shop', repoUrl: 'https://git.example.com/shop/monitoring' },
  resources: [
    { type: 'snippet', logicalId: 'log-out', payload: { name: 'log out', script: 'await page.close();' } },
    {
      type: 'variable',
      logicalId: 'shop-url',
      payload: { key: 'SHOP_URL', value: 'https://shop.example.com' },
    },
  ],
});

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium' });
try {
  const state = await signedIn();
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({
      storageState: state,
      viewport: size,
      colorScheme,
      locale: 'en-GB',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(patientMs);
    for (const [name, path] of Object.entries(pages)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      await page.goto(new URL(path, ready.serviceUrl).href);
      await page.locator('h1').first().waitFor();
      await page.waitForFunction(() => document.querySelector('.loading') === null);
      await page.waitForTimeout(1000); // charts and live rows
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
      process.stderr.write(`${name}-${colorScheme}.png\n`);
    }
    await context.close();
  }
} finally {
  await browser.close();
}
// It writes to its folder until then.
service.kill('SIGTERM');
await once(service, 'exit');
process.exit(0);

async function signedIn() {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(patientMs);
  await page.goto(ready.signInUrl);
  await page.locator('h1').first().waitFor();
  const kept = await context.storageState();
  await context.close();
  return kept;
}
