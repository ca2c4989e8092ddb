import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packBundle } from '../../script/suite/bundle/pack.ts';
import type { TargetPorts } from '../../targets/targets.ts';
import type { ApiClient } from './api.ts';
import { sampleTag, type SampleCheck } from './sample-checks.ts';

/** The Playwright version of the newest runtime, so that one Chromium on this machine serves both. */
const playwrightVersion = '1.58.2';

/**
 * The sample suite of `dev`: a small Playwright project with a lock file, packed and uploaded like any project. The
 * shop's address is a variable of the check, so the bundle is the same at every start. Rejects with ServiceError or
 * FatalError.
 */
export async function sampleSuite(
  api: ApiClient,
  ports: TargetPorts,
  locationSlug: string,
): Promise<SampleCheck> {
  const folder = await mkdtemp(join(tmpdir(), 'sample-suite-'));
  try {
    const project = join(folder, 'project');
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(project, path)), { recursive: true });
      await writeFile(join(project, path), text.trimStart());
    }
    const archive = join(folder, 'bundle.tar.gz');
    await packBundle({ folder: project, to: archive });
    const { key } = (await api.upload('/v1/playwright-bundles', await readFile(archive))) as { key: string }; // the answer of our API
    const name = 'Sample: the shop, a whole suite';
    return {
      type: 'PLAYWRIGHT',
      name,
      body: {
        name,
        tags: [sampleTag],
        privateLocations: [locationSlug],
        frequency: 10,
        codeBundlePath: key,
        environmentVariables: [{ key: 'SHOP_URL', value: `http://127.0.0.1:${ports.http}` }],
      },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const config = `
import { env } from 'node:process';
import { defineConfig, devices } from '@playwright/test';

export default defineConfig({
  testDir: './tests',
  workers: 2,
  retries: 1,
  use: { baseURL: env.SHOP_URL },
  projects: [
    { name: 'greeting', testMatch: /.*\\.setup\\.ts/ },
    { name: 'desktop', use: { ...devices['Desktop Chrome'] }, dependencies: ['greeting'] },
  ],
});
`;

const setup = `
import { expect, test as setup } from '@playwright/test';

setup('the shop is open', async ({ request }) => {
  expect(await request.get('/shop')).toBeOK();
});
`;

const catalogue = `
import { expect, test } from '@playwright/test';

test('three products are shown', { tag: '@smoke' }, async ({ page }) => {
  await page.goto('/shop');
  await expect(page.getByRole('listitem')).toHaveCount(3);
});

test('the search finds the lamp', { tag: ['@smoke', '@search'] }, async ({ page }) => {
  await page.goto('/shop');
  await page.getByLabel('Search').fill('lamp');
  await expect(page.getByRole('listitem')).toHaveCount(1);
});

test('gift cards are not sold yet', { tag: '@search' }, async ({ page }) => {
  test.fail();
  await page.goto('/shop');
  await expect(page.getByRole('button', { name: 'Add gift card' })).toBeVisible({ timeout: 500 });
});
`;

const order = `
import { expect, test } from '@playwright/test';

test('a customer orders', { tag: ['@smoke', '@order'] }, async ({ page }) => {
  await page.goto('/shop');
  await test.step('fill the cart', async () => {
    await page.getByRole('button', { name: 'Add anvil' }).click();
    await page.getByRole('button', { name: 'Add lamp' }).click();
  });
  await test.step('order', async () => {
    await page.getByLabel('Email').fill('someone@example.com');
    await page.getByRole('button', { name: 'Order' }).click();
  });
  await expect(page.getByRole('status')).toHaveText('Ordered 2 items');
});
`;

const manifest = {
  name: 'sample-suite',
  version: '1.0.0',
  private: true,
  devDependencies: { '@playwright/test': playwrightVersion },
};

/** Made by `npm install`, without addresses: packages are fetched from whichever registry npm is configured to use. */
const lock = {
  name: manifest.name,
  version: manifest.version,
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': { ...manifest, private: undefined },
    'node_modules/@playwright/test': {
      version: playwrightVersion,
      integrity:
        'sha512-akea+6bHYBBfA9uQqSYmlJXn61cTa+jbO87xVLCWbTqbWadRVmhxlXATaOjOgcBaWU4ePo0wB41KMFv3o35IXA==',
      dev: true,
      dependencies: { playwright: playwrightVersion },
      bin: { playwright: 'cli.js' },
      engines: { node: '>=18' },
    },
    'node_modules/fsevents': {
      version: '2.3.2',
      integrity:
        'sha512-xiqMQR4xAeHTuB9uWm+fFRcIOgKBMiOBP+eXiyT7jsgVCq1bkVygt00oASowB7EdtpOHaaPgKt812P9ab+DDKA==',
      dev: true,
      optional: true,
      os: ['darwin'],
    },
    'node_modules/playwright': {
      version: playwrightVersion,
      integrity:
        'sha512-vA30H8Nvkq/cPBnNw4Q8TWz1EJyqgpuinBcHET0YVJVFldr8JDNiU9LaWAE1KqSkRYazuaBhTpB5ZzShOezQ6A==',
      dev: true,
      dependencies: { 'playwright-core': playwrightVersion },
      bin: { playwright: 'cli.js' },
      engines: { node: '>=18' },
      optionalDependencies: { fsevents: '2.3.2' },
    },
    'node_modules/playwright-core': {
      version: playwrightVersion,
      integrity:
        'sha512-yZkEtftgwS8CsfYo7nm0KE8jsvm6i/PTgVtB8DL726wNf6H2IMsDuxCpJj59KDaxCtSnrWan2AeDqM7JBaultg==',
      dev: true,
      bin: { 'playwright-core': 'cli.js' },
      engines: { node: '>=18' },
    },
  },
};

const files: { readonly [path: string]: string } = {
  'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
  'package-lock.json': `${JSON.stringify(lock, null, 2)}\n`,
  'playwright.config.ts': config,
  'tests/open.setup.ts': setup,
  'tests/catalogue.spec.ts': catalogue,
  'tests/order.spec.ts': order,
};
