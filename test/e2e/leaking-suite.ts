import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privatePackage, type PrivateRegistry } from '../helpers/suites/private-registry.ts';
import { makeProject } from '../helpers/suites/suites.ts';

/** Projects of Playwright that put secrets wherever a project can. */

export const suiteSecrets = {
  ofAccount: 'account/walnut+"5kq"<é>',
  ofCheck: 'check\\birch&tree=7741?',
  inSource: 'literal-in-the-source-8271',
  npmToken: 'npm_token-of-the-check-48213',
};

const quietConfig = `import { defineConfig } from '@playwright/test';
export default defineConfig({ workers: 1, retries: 0 });`;

/** Says which packages it has, and shows a secret on a page. */
export const quiet = {
  'playwright.config.ts': quietConfig,
  'a.spec.ts': `
import { test, expect } from '@playwright/test';
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
const { CI, SERVICE_RUN, API_KEY, TOKEN } = process.env;
test('is installed', { tag: ['@smoke', '@installed'] }, () => {
  const require = createRequire(process.cwd() + '/');
  console.log('has', require('${privatePackage.name}'), 'made', readFileSync('node_modules/made', 'utf8').trim());
  console.log('CI=' + CI, 'run', SERVICE_RUN, 'key', API_KEY);
});
test('a page', { tag: '@smoke' }, async ({ page }, info) => {
  console.log('token', TOKEN, encodeURIComponent(TOKEN));
  await page.setContent('<title>' + encodeURIComponent(TOKEN) + '</title><p></p>');
  await page.locator('p').evaluate((p, token) => { p.textContent = token; }, TOKEN);
  await expect(page.locator('p')).toHaveText(TOKEN);
  const file = info.outputPath('token.txt');
  writeFileSync(file, TOKEN);
  await info.attach('token', { path: file });
});
test('not asked for', () => expect(1).toBe(2));`,
};

export const endless = {
  'playwright.config.ts': quietConfig,
  'a.spec.ts': `
import { test } from '@playwright/test';
import { readFileSync } from 'node:fs';
test('quick', async ({}, info) => {
  await info.attach('note', { body: 'kept', contentType: 'text/plain' });
});
test('endless', async () => {
  test.setTimeout(0);
  console.log('it has begun with', process.env.TOKEN, 'made', readFileSync('node_modules/made', 'utf8').trim());
  await new Promise(() => setInterval(() => undefined, 1000));
});
test('never begun', () => {});`,
};

export const setupThrows = {
  'playwright.config.ts': quietConfig.replace('workers: 1', `workers: 1, globalSetup: './setup.ts'`),
  'setup.ts': `export default () => { throw new Error('no setup with ' + process.env.TOKEN + ' and ' + process.env.ACCOUNT); };`,
  'a.spec.ts': quiet['a.spec.ts'],
};

/** `url` is a page of the test's, `port` one for the project's own server. */
export function leaking(url: string, port: number): { [path: string]: string } {
  return {
    'playwright.config.ts': `import { defineConfig } from '@playwright/test';
console.log('config', process.env.TOKEN);
export default defineConfig({
  workers: 1, retries: 0, globalSetup: './setup.ts', reporter: [['list'], ['json', { outputFile: 'own.json' }]],
  metadata: { token: process.env.TOKEN },
  webServer: { command: 'node server.js', port: ${port}, stdout: 'pipe', stderr: 'pipe' },
});`,
    'setup.ts': `export default () => { console.log('setup', process.env.TOKEN, process.env.ACCOUNT); };`,
    'server.js': `
console.log('server', process.env.ACCOUNT, process.env.TOKEN);
console.error('server', JSON.stringify(process.env.TOKEN));
require('node:http').createServer((_, response) => response.end('yes')).listen(${port});`,
    'a.spec.ts': `
import { test, expect } from '@playwright/test';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
const { TOKEN, ACCOUNT, NPM_TOKEN } = process.env;
const all = [TOKEN, ACCOUNT, NPM_TOKEN, '${suiteSecrets.inSource}'];
test.describe('of ' + ACCOUNT, () => {
  test('named after ' + TOKEN, { annotation: { type: 'issue', description: 'see ' + TOKEN } }, async ({ page, request }, info) => {
    info.annotations.push({ type: ACCOUNT, description: all.join(' ') });
    console.log('stdout', ...all, Buffer.from(TOKEN).toString('base64'), encodeURIComponent(ACCOUNT), JSON.stringify({ TOKEN }));
    console.error('stderr', all);
    await test.step('a step with ' + TOKEN, async () => {
      await page.setExtraHTTPHeaders({ 'x-token': encodeURIComponent(TOKEN), authorization: 'Bearer ' + NPM_TOKEN });
      await page.goto('${url}/?account=' + encodeURIComponent(ACCOUNT));
      await page.evaluate((values) => {
        console.log('console', ...values);
        document.title = values.join(' ');
        return fetch('/posted', { method: 'POST', body: JSON.stringify(values) });
      }, all);
      await page.fill('input', ACCOUNT);
      await request.post('${url}/form', { form: { TOKEN, ACCOUNT }, headers: { 'x-key': NPM_TOKEN } });
    });
    const file = info.outputPath('of-${suiteSecrets.inSource}.txt');
    writeFileSync(file, all.join(' '));
    await info.attach('file ' + ACCOUNT, { path: file });
    await info.attach('body', { body: Buffer.from(all.join(' ')), contentType: 'text/plain' });
    await info.attach('packed', { body: gzipSync(all.join(' ')), contentType: 'application/gzip' });
    const html = '<script>const data = "data:application/gzip;base64,' + gzipSync(all.join(' ')).toString('base64') + '"</script>';
    await info.attach('report', { body: html, contentType: 'text/html' });
    expect.soft(all.join(' ')).toMatchSnapshot('kept.txt');
    expect.soft(await page.title(), 'the title of ' + TOKEN).toBe('not ' + ACCOUNT);
    throw new Error('ends with ' + TOKEN, { cause: new Error(ACCOUNT) });
  });
});`,
  };
}

type Manifest = { dependencies?: Record<string, string>; [field: string]: unknown };

/** A project that needs Playwright and the package of the private registry. */
export function makePrivateProject(
  folder: string,
  files: { [path: string]: string },
  registry: PrivateRegistry,
): string {
  const project = makeProject(folder, files);
  for (const file of ['package.json', 'package-lock.json']) {
    const path = join(project, file);
    const json = JSON.parse(readFileSync(path, 'utf8')) as Manifest & { packages?: Record<string, Manifest> };
    const root = json.packages?.[''] ?? json;
    root.dependencies = { ...root.dependencies, [privatePackage.name]: privatePackage.version };
    if (json.packages !== undefined)
      json.packages[`node_modules/${privatePackage.name}`] = {
        version: privatePackage.version,
        resolved: `${registry.url}${privatePackage.name}/-/widget-${privatePackage.version}.tgz`,
        integrity: registry.integrity,
      };
    writeFileSync(path, JSON.stringify(json));
  }
  writeFileSync(
    join(project, '.npmrc'),
    `@acme:registry=${registry.url}\n//${registry.host}/:_authToken=\${NPM_TOKEN}\n`,
  );
  return project;
}
