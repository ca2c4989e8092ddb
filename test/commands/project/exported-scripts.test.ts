import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Compile, type XSchema } from 'typebox/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Command } from '../../../src/commands/command.ts';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { exportProject } from '../../../src/commands/project/export.ts';
import { readProject } from '../../../src/commands/project/files.ts';
import { ofProject } from '../../../src/commands/run/project-file.ts';
import { fileSchema } from '../../../src/service/projects/files/file-schema.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Scripts and the files that they load: as files of an export, and as files that `plan`, `apply` and `run` read. */

let api: TestService;
let folders: string[] = [];

beforeAll(async () => {
  const db = await anyDatabase.open();
  api = await startTestService(db, { background: await idleBackground(db) });
}, 60_000);
beforeEach(() => api.renewAccounts());
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folderOf(files: { readonly [path: string]: string } = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'scripts-'));
  folders = [...folders, folder];
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function filesIn(folder: string): { [path: string]: string } {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
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

async function create(type: string, body: Fields): Promise<void> {
  const answer = await api.call('POST', `/v1/checks/${type}`, {
    body: { locations: ['eu-west-1'], ...body },
  });
  expect([answer.status, answer.status < 300 ? null : answer.body]).toEqual([201, null]);
}

/** The dependencies of an account's checks, by name. */
async function dependenciesOf(key: string): Promise<{ [name: string]: unknown }> {
  const { body } = await api.call<Fields[]>('GET', '/v1/checks?limit=100', { key });
  const found = body.map(async ({ id, name }) => {
    const one = await api.call('GET', `/v1/checks/${String(id)}?includeDependencies=true`, { key });
    return [String(name), one.body['dependencies']] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

/** Exports the account, applies the files to another one and exports that. Returns the files without `adopt.yaml`. */
async function exported(): Promise<{ [path: string]: string }> {
  const first = folderOf();
  expect((await run(exportProject, [first])).code).toBe(0);
  const { 'adopt.yaml': _, ...files } = filesIn(first);
  const { key } = api.foreign;
  expect((await run(apply, [first, '--yes'], { key })).code).toBe(0);
  expect((await run(plan, [first], { key })).stdout).toBe('no changes\n');
  const again = folderOf();
  expect((await run(exportProject, [again], { key })).code).toBe(0);
  expect(filesIn(again)).toEqual(files);
  expect(await dependenciesOf(key)).toEqual(await dependenciesOf(api.account.key));
  return files;
}

const documentOf = (text: string | undefined) => parse(text ?? '') as Fields;

describe('an export', () => {
  test('has a folder with a script and the files that it loads, whose imports lead there', async () => {
    const login = "export const login = '/************ login ************/';\n";
    await create('browser', {
      name: 'Shop',
      script: "import { login } from './lib/login';\nimport data from './data.json';\n",
      dependencies: [
        { path: 'lib/login.ts', content: login },
        { path: './data.json', content: '{ "kind": "check", "logicalId": "data" }\n' },
        { path: 'empty.txt', content: '' },
      ],
    });
    const files = await exported();
    expect(Object.keys(files)).toEqual([
      'checks/shop.yaml',
      'checks/shop/data.json',
      'checks/shop/empty.txt',
      'checks/shop/lib/login.ts',
      'checks/shop/shop.spec.ts',
      'project.yaml',
    ]);
    expect(files['checks/shop/lib/login.ts']).toBe(login);
    const document = documentOf(files['checks/shop.yaml']);
    expect(document).toMatchObject({
      scriptFile: './shop/shop.spec.ts',
      dependencies: [
        { path: 'lib/login.ts', contentFile: './shop/lib/login.ts' },
        { path: './data.json', contentFile: './shop/data.json' },
        { path: 'empty.txt', contentFile: './shop/empty.txt' },
      ],
    });
    const schema = Compile(JSON.parse(JSON.stringify(fileSchema())) as XSchema);
    expect(schema.Errors(document)[1]).toEqual([]);
  }, 120_000);

  test('keeps the place of a script, and has the scripts of an API check next to their files', async () => {
    const spec = "import '../lib/a';\n";
    await create('multistep', {
      name: 'Steps',
      script: spec,
      scriptPath: 'tests/steps.spec.ts',
      dependencies: [{ path: 'lib/a.ts', content: 'export {};\n' }],
    });
    await create('browser', {
      name: 'Entry',
      script: null,
      scriptPath: 'tests/entry.spec.ts',
      dependencies: [{ path: 'tests/entry.spec.ts', content: spec }],
    });
    await create('api', {
      name: 'Orders',
      request: { method: 'GET', url: 'https://shop.example/' },
      localSetupScript: "require('./lib/sign')\n",
      dependencies: [{ path: 'lib/sign.js', content: 'exports.sign = 1;\n' }],
    });
    const files = await exported();
    expect(files['checks/steps/tests/steps.spec.ts']).toBe(spec);
    expect(files['checks/entry/tests/entry.spec.ts']).toBe(spec);
    expect(Object.keys(files).filter((path) => path.startsWith('checks/orders/'))).toEqual([
      'checks/orders/lib/sign.js',
      'checks/orders/orders.setup.ts',
    ]);
  }, 120_000);

  test('keeps content in the file of the check that is not to be written to a path of its own', async () => {
    const inline = [
      '.git/config',
      'lib/.hidden.js',
      'node_modules/left/index.js',
      'evil.check.ts',
      'A.ts',
      'a.ts/b.ts',
      'shop.spec.ts',
    ].map((path) => ({ path, content: 'inline;\n' }));
    await create('browser', {
      name: 'Shop',
      script: 'await 1;\n',
      dependencies: [{ path: 'a.ts', content: 'in a file;\n' }, ...inline],
    });
    const first = folderOf();
    expect((await run(exportProject, [first])).code).toBe(0);
    const files = filesIn(first);
    expect(Object.keys(files).filter((path) => path.startsWith('checks/shop/'))).toEqual([
      'checks/shop/a.ts',
      'checks/shop/shop.spec.ts',
    ]);
    const { dependencies } = documentOf(files['checks/shop.yaml']);
    expect(dependencies).toMatchObject([{ path: 'a.ts', contentFile: './shop/a.ts' }, ...inline]);
  }, 120_000);

  test('names no script so that plan would run it', async () => {
    const text = "throw new Error('was run');\n";
    const folder = folderOf({
      'project.yaml': 'logicalId: shop\n',
      'a.yaml': 'kind: snippet\nlogicalId: evil.check\nname: evil\nscriptFile: ./evil.js\n',
      'evil.js': text,
    });
    expect((await run(apply, [folder])).code).toBe(0);
    const copy = folderOf();
    expect((await run(exportProject, [copy, '--project', 'shop'])).code).toBe(0);
    expect(filesIn(copy)['snippets/evil-check.ts']).toBe(text);
    expect((await run(plan, [copy])).stdout).toBe('no changes\n');
  }, 120_000);
});

describe('files of a project', () => {
  const check = `kind: check
logicalId: shop
checkType: BROWSER
name: Shop
locations: [eu-west-1]
scriptFile: ./home.check.ts
dependencies:
  - path: data.json
    contentFile: ./data.json
  - path: lib/a.ts
    contentFile: ../lib/a.check.ts
  - path: inline.js
    content: '1'
`;

  test('that a check names as texts are no resources and no code, and have their places in the script', async () => {
    const folder = folderOf({
      'project.yaml': 'logicalId: shop\n',
      'checks/shop.yaml': check,
      'checks/home.check.ts': "throw new Error('was run');\n",
      'checks/data.json': '[{ "no": "resource" }, ',
      'lib/a.check.ts': "throw new Error('was run, too');\n",
    });
    const { resources, problems } = await readProject(folder, {});
    expect(problems).toEqual([]);
    expect(resources.map(({ payload }) => payload)).toMatchObject([
      {
        script: "throw new Error('was run');\n",
        dependencies: [
          { path: 'data.json', content: '[{ "no": "resource" }, ' },
          { path: 'lib/a.ts', content: "throw new Error('was run, too');\n" },
          { path: 'inline.js', content: '1' },
        ],
      },
    ]);
    const path = join(folder, 'checks/shop.yaml');
    expect(await ofProject(parse(check), { path, env: {} })).toMatchObject({
      dependencies: resources[0]?.payload['dependencies'],
    });
  });

  test('that are missing, or outside of the folder, are problems with their lines', async () => {
    const outside = folderOf({ 'secret.txt': 'a secret' });
    const folder = folderOf({
      'project.yaml': 'logicalId: shop\n',
      'shop.yaml': check.replace('../lib/a.check.ts', join(outside, 'secret.txt')),
      'home.check.ts': 'await 1;\n',
    });
    const { problems } = await readProject(folder, {});
    expect(problems).toEqual([
      'shop.yaml:9: dependencies.0.contentFile names no file of the folder (./data.json): correct the path',
      `shop.yaml:11: dependencies.1.contentFile names no file of the folder (${outside}/secret.txt): correct the path`,
    ]);
    const path = join(folder, 'shop.yaml');
    await expect(ofProject(parse(check), { path, env: {} })).rejects.toThrow(
      'dependencies.0.contentFile names no file (./data.json): correct the path',
    );
  });
});
