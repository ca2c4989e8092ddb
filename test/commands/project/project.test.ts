import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { validate } from '../../../src/commands/project/validate.ts';
import type { Command } from '../../../src/commands/command.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** `plan`, `apply` and `validate` on a folder of files, against a real service. */

let api: TestService;
let folder: string;

beforeAll(async () => {
  const db = await anyDatabase.open();
  api = await startTestService(db, { background: await idleBackground(db) });
});
beforeEach(async () => {
  await api.renewAccounts();
  folder = await mkdtemp(join(tmpdir(), 'project-'));
  await write({
    'project.yaml': 'logicalId: shop\nprojectName: Shop\nchecks:\n  locations: [eu-west-1]\n',
    'mail.yaml': 'kind: alert-channel\nlogicalId: mail\ntype: EMAIL\nconfig:\n  address: ops@shop.example\n',
    'checks/home.yaml': home,
    'checks/more.json': JSON.stringify([
      { kind: 'snippet', logicalId: 'login', name: 'login', scriptFile: './login.js' },
      { kind: 'variable', logicalId: 'token', key: 'TOKEN', value: { env: 'SHOP_TOKEN' }, secret: true },
    ]),
    'checks/login.js': 'console.log(1)\n',
  });
});
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
});

const home = `kind: check
logicalId: home
checkType: URL
name: Home page
tags: [shop]
request:
  url: https://shop.example/
alertChannelSubscriptions:
  - alertChannelId: { ref: mail }
    activated: true
`;

async function write(files: { [name: string]: string }): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

async function run(command: Command, args: readonly string[], env: { [name: string]: string } = {}) {
  let [stdout, stderr] = ['', ''];
  const code = await command([folder, ...args], {
    env: { SERVICE_URL: api.url, SERVICE_API_KEY: api.account.key, SHOP_TOKEN: 'a-secret-value', ...env },
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  });
  return { code, stdout, stderr };
}

const unserved = 'warning: No agent serves eu-west-1: runs there are missed until one connects.\n';

test('shows a plan, applies it, and then has nothing to do', async () => {
  const first = await run(plan, []);
  expect([first.code, first.stdout]).toEqual([
    2,
    '+ create  alert-channel/mail\n+ create  check/home\n+ create  snippet/login\n+ create  variable/token\n' +
      `4 to create, 0 to update, 0 to delete, 0 to detach\n${unserved}`,
  ]);
  const applied = await run(apply, []);
  expect([applied.code, applied.stderr.replaceAll(/\d+ %\n/g, '')]).toEqual([0, '']);
  expect(await run(plan, [])).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
  const { body } = await api.call<Fields[]>('GET', '/v1/snippets');
  expect(body).toMatchObject([{ name: 'login', script: 'console.log(1)\n' }]);
});

test('shows differences of each property, and names secrets', async () => {
  await run(apply, []);
  await write({ 'checks/home.yaml': home.replace('tags: [shop]\n', 'muted: true\n') });
  const { stdout } = await run(plan, [], { SHOP_TOKEN: 'another-secret-value' });
  expect(stdout).toBe(
    '~ update  check/home\n    muted: false → true\n    tags: ["shop"] → []\n' +
      '~ update  variable/token\n    value: (secret value)\n0 to create, 2 to update, 0 to delete, 0 to detach\n' +
      unserved,
  );
});

test('deletes only when it is confirmed, and keeps on request', async () => {
  await run(apply, []);
  await rm(join(folder, 'checks/more.json'));
  const refused = await run(apply, []);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('give --yes to delete them')]);
  expect((await run(plan, ['--keep'])).stdout).toContain('= detach  snippet/login\n');
  expect((await run(apply, ['--yes'])).code).toBe(0);
  expect((await api.call('GET', '/v1/snippets')).body).toEqual([]);
});

test('names file, line, field and remedy without a service', async () => {
  expect(await run(validate, [], { SERVICE_URL: 'http://127.0.0.1:1' })).toMatchObject({
    code: 0,
    stderr: '',
  });
  await write({
    'checks/home.yaml': home.replace('name: Home page', 'frequency: often').replace('ref: mail', 'ref: sms'),
    'checks/wrong.yaml': 'kind: alert\nlogicalId: a\n',
    'checks/twice.yaml': 'kind: snippet\nlogicalId: login\nname: two\nscriptFile: ./none.js\n',
    'checks/broken.yaml': 'kind: [check\n',
  });
  const { code, stderr } = await run(validate, []);
  expect(code).toBe(1);
  expect(stderr.split('\n').map((line) => line.replace(/(: \S+ \S+ \S+ \S+).*/, '$1'))).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^checks\/broken\.yaml:\d: /),
      expect.stringMatching(/^checks\/home\.yaml:1: name is required/),
      expect.stringMatching(/^checks\/home\.yaml:4: frequency must be/),
      expect.stringMatching(/^checks\/home\.yaml:9: alertChannelSubscriptions\.0\.alertChannelId names no/),
      expect.stringMatching(/^checks\/wrong\.yaml:1: kind must be/),
      expect.stringMatching(/^checks\/twice\.yaml:4: scriptFile names no/),
      expect.stringMatching(/^checks\/twice\.yaml:2: logicalId login is/),
    ]),
  );
});

test.each([
  { what: 'an alias without an anchor', text: 'kind: check\nlogicalId: a\ntags: *none\n', line: 1 },
  { what: 'an alias inside of what it names', text: 'logicalId: a\n---\nkind: &k [*k]\n', line: 3 },
  {
    what: 'aliases that become billions of texts',
    text: `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from('bcdefghi', (name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join()}]`).join('\n')}\n`,
    line: 1,
  },
])('names the file of $what, and ends', async ({ text, line }) => {
  await write({ 'checks/odd.yaml': text });
  const { code, stderr } = await run(validate, []);
  expect(code).toBe(1);
  expect(stderr).toContain(`checks/odd.yaml:${line}: `);
  expect(stderr).toContain('Correct the aliases and the nesting.');
});

test("names what is wrong with the project's own file", async () => {
  await write({ 'project.yaml': 'logicalId: shop\nprojectName: [Shop\n' });
  await expect(run(validate, [])).rejects.toThrow(/^project\.yaml:\d+: /);
});

test('names file and line of what only the service can refuse, and a missing variable', async () => {
  await write({ 'checks/home.yaml': home.replace('https://shop.example/', 'ftp://shop.example/') });
  const refused = await run(plan, []);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('checks/home.yaml:7: check/home: request.url must begin with http'),
  ]);
  expect((await run(plan, [], { SHOP_TOKEN: '' })).stderr).toContain(
    'needs the environment variable SHOP_TOKEN',
  );
});
