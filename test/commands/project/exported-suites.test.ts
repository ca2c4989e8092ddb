import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Command } from '../../../src/commands/command.ts';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { exportProject } from '../../../src/commands/project/export.ts';
import { validate } from '../../../src/commands/project/validate.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** `export` of PLAYWRIGHT checks: their Playwright projects are folders next to the files. */

let api: TestService;
let folders: string[] = [];

beforeAll(async () => {
  const db = await anyDatabase.open();
  const bundles = createArtifactFiles(emptyFolder(), { reserveBytes: 0 });
  api = await startTestService(db, { bundles, background: await idleBackground(db) });
});
beforeEach(() => api.renewAccounts());
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'suites-'));
  folders = [...folders, folder];
  return folder;
}

function write(folder: string, files: { [path: string]: string }): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Files and links of a folder, with their contents. */
function filesIn(folder: string): { [path: string]: string } {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    paths.flatMap((path) => {
      const full = join(folder, path);
      const stats = lstatSync(full);
      if (stats.isDirectory()) return [];
      const mode = (stats.mode & 0o100) === 0 ? '' : ' (executable)';
      return [
        stats.isSymbolicLink()
          ? [path, `→ ${readlinkSync(full)}`]
          : [`${path}${mode}`, readFileSync(full, 'latin1')],
      ];
    }),
  );
}

async function run(command: Command, args: readonly string[], { key = api.account.key } = {}) {
  let [stdout, stderr] = ['', ''];
  const code = await command(args, {
    env: { SERVICE_URL: api.url, SERVICE_API_KEY: key },
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  });
  return { code, stdout, stderr };
}

const lock = (name: string) => `{"name":"${name}","lockfileVersion":3,"packages":{}}`;

/** Two suites: a project by itself, and a package of a workspace. */
function writeProject(folder: string): void {
  write(folder, {
    'project.yaml': 'logicalId: shop\nprojectName: Shop\nchecks:\n  locations: [eu-west-1]\n',
    'checks.yaml':
      'kind: check\nlogicalId: shop\ncheckType: PLAYWRIGHT\nname: Shop\nsuite: ./e2e\n---\n' +
      'kind: check\nlogicalId: again\ncheckType: PLAYWRIGHT\nname: Again\nsuite: ./e2e\n---\n' +
      'kind: check\nlogicalId: admin\ncheckType: PLAYWRIGHT\nname: Admin\nsuite: ./work/packages/admin\n',
    'e2e/package.json': '{"name":"e2e"}',
    'e2e/package-lock.json': lock('e2e'),
    'e2e/playwright.config.ts': 'export default {};\n',
    'e2e/tests/shop.spec.ts': 'export {};\n',
    // Files of the tests, which are no resources.
    'e2e/tests/users.json': '[{"name":"ann"}]',
    'e2e/tests/broken.yaml': 'a: [b\n',
    'e2e/image.bin': '\u0000\u00ff\u0080',
    'e2e/run.sh': 'exit 0\n',
    'work/package.json': '{"name":"work","workspaces":["packages/*"]}',
    'work/package-lock.json': lock('work'),
    'work/packages/admin/package.json': '{"name":"admin"}',
    'work/packages/admin/playwright.config.ts': 'export default {};\n',
    'work/packages/lib/values.yml': 'a: 1\n',
  });
  chmodSync(join(folder, 'e2e/run.sh'), 0o755);
  symlinkSync('tests/users.json', join(folder, 'e2e/link.json'));
}

test('writes the folders, which another account can apply, and which export writes again', async () => {
  const original = emptyFolder();
  writeProject(original);
  expect(await run(validate, [original])).toMatchObject({ code: 0, stderr: '' });
  expect((await run(apply, [original])).code).toBe(0);

  const first = emptyFolder();
  const { code, stdout, stderr } = await run(exportProject, [first, '--project', 'shop']);
  expect([code, stdout, stderr]).toEqual([0, `4 files and 2 folders of suites in ${first}\n`, '']);
  const files = filesIn(first);
  const all = filesIn(original);
  const below = (from: { [path: string]: string }, prefix: string) =>
    Object.entries(from).flatMap(([path, text]) =>
      path.startsWith(prefix) ? [[path.slice(prefix.length), text]] : [],
    );
  expect(below(files, 'suites/again/')).toEqual(below(all, 'e2e/'));
  expect(below(files, 'suites/admin/')).toEqual(below(all, 'work/'));
  expect(files['checks/shop.yaml']).toMatch(/\nsuite: \.\.\/suites\/again\n$/);
  expect(files['checks/again.yaml']).toMatch(/\nsuite: \.\.\/suites\/again\n$/);
  expect(files['checks/admin.yaml']).toMatch(/\nsuite: \.\.\/suites\/admin\/packages\/admin\n$/);
  expect(Object.keys(files).filter((path) => !path.startsWith('suites/'))).toEqual([
    'checks/admin.yaml',
    'checks/again.yaml',
    'checks/shop.yaml',
    'project.yaml',
  ]);
  // The account of the export has nothing to change, and needs no new bundle.
  expect(await run(plan, [first])).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });

  const { key } = api.foreign;
  expect((await run(apply, [first], { key })).code).toBe(0);
  expect(await run(plan, [first], { key })).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
  const copy = emptyFolder();
  expect((await run(exportProject, [copy, '--project', 'shop'], { key })).code).toBe(0);
  expect(filesIn(copy)).toEqual(files);
}, 120_000);

test('keeps a suite that differs unless it may overwrite it', async () => {
  const original = emptyFolder();
  writeProject(original);
  await run(apply, [original]);
  const target = emptyFolder();
  await run(exportProject, [target, '--project', 'shop']);
  const files = filesIn(target);
  // Installed packages are no part of a suite.
  write(target, { 'suites/again/node_modules/x/index.js': '' });
  expect((await run(exportProject, [target, '--project', 'shop'])).code).toBe(0);
  write(target, { 'suites/again/tests/shop.spec.ts': 'export const mine = 1;\n' });
  await expect(run(exportProject, [target, '--project', 'shop'])).rejects.toMatchObject({
    message: expect.stringContaining('suites/again would be overwritten'),
    exitCode: 2,
  });
  expect(readFileSync(join(target, 'suites/again/tests/shop.spec.ts'), 'utf8')).toContain('mine');
  write(target, { 'suites/again/tests/other.spec.ts': '' });
  expect((await run(exportProject, [target, '--project', 'shop', '--overwrite'])).code).toBe(0);
  expect(filesIn(target)).toEqual(files);
}, 120_000);

test('a bundle that cannot be packed again keeps its key, and is named', async () => {
  const bundle = await api.call('POST', '/v1/playwright-bundles', {
    body: gzipSync('not an archive'),
    headers: { 'content-type': 'application/octet-stream' },
  });
  const made = await api.call('POST', '/v1/checks/playwright', {
    body: { name: 'Odd', locations: ['eu-west-1'], codeBundlePath: bundle.body['key'] },
  });
  expect(made.status).toBe(201);
  const folder = emptyFolder();
  const { code, stderr } = await run(exportProject, [folder]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('check/odd keeps its codeBundlePath: its code bundle cannot be unpacked'),
  ]);
  expect(filesIn(folder)['checks/odd.yaml']).toContain(`codeBundlePath: ${String(bundle.body['key'])}\n`);
}, 60_000);

test('a bundle with a file that plan would run keeps its key, and the file is named', async () => {
  const suite = emptyFolder();
  write(suite, {
    'package.json': '{"name":"e2e"}',
    'package-lock.json': lock('e2e'),
    'tests/evil.check.ts': "throw new Error('was run');\n",
  });
  const folder = emptyFolder();
  write(folder, {
    'project.yaml': 'logicalId: shop\nchecks:\n  locations: [eu-west-1]\n',
    'shop.yaml': `kind: check\nlogicalId: shop\ncheckType: PLAYWRIGHT\nname: Shop\nsuite: ${suite}\n`,
  });
  expect((await run(apply, [folder])).code).toBe(0);
  const copy = emptyFolder();
  const { code, stderr } = await run(exportProject, [copy, '--project', 'shop']);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining(
      'keeps its codeBundlePath: plan would run tests/evil.check.ts of its code bundle',
    ),
  ]);
  expect(Object.keys(filesIn(copy))).toEqual(['checks/shop.yaml', 'project.yaml']);
}, 60_000);

test('a resource in the folder of a suite is still one', async () => {
  const folder = emptyFolder();
  writeProject(folder);
  write(folder, { 'e2e/mail.yaml': 'kind: alert-channel\nlogicalId: mail\ntype: EMAIL\nconfig: {}\n' });
  const { code, stderr } = await run(validate, [folder]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('e2e/mail.yaml:4: config.address')]);
});

test('the service sends the bytes of a bundle, and not to keys that may only read', async () => {
  const folder = emptyFolder();
  writeProject(folder);
  await run(apply, [folder]);
  const { body: bundles } = await api.call<{ key: string; digest: string; size: number }[]>(
    'GET',
    '/v1/playwright-bundles',
  );
  const path = `/v1/playwright-bundles/${bundles[0]?.key ?? ''}/content`;
  const get = (key: string, headers = {}) =>
    fetch(api.url + path, { headers: { authorization: `Bearer ${key}`, ...headers } });
  const whole = await get(api.account.key);
  const bytes = Buffer.from(await whole.arrayBuffer());
  expect([whole.status, bytes.length]).toEqual([200, bundles[0]?.size]);
  const part = await get(api.account.key, { range: 'bytes=3-6' });
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, bytes.subarray(3, 7)]);
  expect((await get(api.foreign.key)).status).toBe(404);
  const reader = await api.call('POST', '/v1/api-keys', { body: { name: 'r', role: 'READ_ONLY' } });
  expect((await get(String(reader.body['rawKey']))).status).toBe(403);
}, 60_000);
