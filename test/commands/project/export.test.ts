import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Compile, type XSchema } from 'typebox/schema';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Command } from '../../../src/commands/command.ts';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { exportProject } from '../../../src/commands/project/export.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground, makeOneOfEverything } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** `export`: from an account to files, and from these to another account or back to the same one. */

let api: TestService;
let stored: string;
let folders: string[] = [];

beforeAll(async () => {
  stored = mkdtempSync(join(tmpdir(), 'export-'));
  const db = await anyDatabase.open();
  const bundles = createArtifactFiles(stored, { reserveBytes: 0 });
  api = await startTestService(db, { bundles, background: await idleBackground(db) });
});
beforeEach(async () => {
  // Addresses of status pages are unique for all accounts.
  await api.db.query('delete from status_pages');
  await api.renewAccounts();
});
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
  for (const folder of [stored, ...folders]) rmSync(folder, { recursive: true, force: true });
});

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'export-'));
  folders = [...folders, folder];
  return folder;
}

function filesIn(folder: string): { [path: string]: string } {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}

const secrets = {
  TOKEN: 'the-token-of-the-shop',
  WEBHOOK_HOOK_WEBHOOKSECRET: 'a-secret-of-the-hook',
  EVERY_FIELD_AUTHORIZATION: 'Bearer of-every-field',
  EVERY_FIELD_PASSWORD: 'of-basic-auth',
  EVERY_FIELD_SECRET: 'of-the-check',
};

async function run(command: Command, args: readonly string[], { key = api.account.key } = {}) {
  let [stdout, stderr] = ['', ''];
  const code = await command(args, {
    env: { SERVICE_URL: api.url, SERVICE_API_KEY: key, ...secrets },
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  });
  return { code, stdout, stderr };
}

/** Resources that a person made, with fields that files must carry over. */
async function fillAccount(): Promise<void> {
  const { ids } = await makeOneOfEverything(api);
  const make = async (path: string, body: Fields) => {
    const answer = await api.call('POST', path, { body });
    expect([answer.status, answer.status < 300 ? null : answer.body]).toEqual([201, null]);
    return answer.body;
  };
  const hook = await make('/v1/alert-channels', {
    type: 'WEBHOOK',
    config: {
      name: 'hook',
      url: 'https://hooks.example/',
      webhookSecret: secrets.WEBHOOK_HOOK_WEBHOOKSECRET,
    },
    sendDegraded: true,
  });
  await make('/v1/alert-channels', {
    type: 'SMS',
    config: { number: '+31612345678', name: 'Duty' },
    autoSubscribe: true,
  });
  const group = await make('/v2/check-groups', {
    name: 'Scripts!',
    localSetupScript: 'console.log("group")\n',
    alertChannelSubscriptions: [{ alertChannelId: hook['id'], activated: true }],
    apiCheckDefaults: { url: 'https://shop.example', headers: [{ key: 'x', value: 'y' }] },
  });
  const every = await make('/v1/checks/api', {
    name: 'Every field',
    activated: false,
    muted: true,
    locations: ['eu-central-1', 'eu-west-1'],
    tags: ['b', 'a'],
    groupId: group['id'],
    groupOrder: 2,
    description: 'Words: "quoted"\nand a second line',
    frequency: 0,
    frequencyOffset: 30,
    retryStrategy: { type: 'LINEAR', maxRetries: 4, baseBackoffSeconds: 5 },
    setupSnippetId: Number(ids['snippet']),
    localTearDownScript: "console.log('done')\n",
    environmentVariables: [
      { key: 'PLAIN', value: '1' },
      { key: 'SECRET', value: secrets.EVERY_FIELD_SECRET, secret: true },
    ],
    alertChannelSubscriptions: [{ alertChannelId: hook['id'], activated: false }],
    useGlobalAlertSettings: false,
    alertSettings: { escalationType: 'RUN_BASED', runBasedEscalation: { failedRunThreshold: 3 } },
    triggerIncident: { serviceId: ids['service'], name: 'Down', severity: 'CRITICAL' },
    request: {
      method: 'POST',
      url: 'https://shop.example/api',
      headers: [{ key: 'authorization', value: secrets.EVERY_FIELD_AUTHORIZATION, locked: true }],
      basicAuth: { username: 'ann', password: secrets.EVERY_FIELD_PASSWORD },
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '201' }],
    },
  });
  await make('/v1/checks/browser', { name: 'Every field', locations: ['eu-west-1'], script: 'await 1;\n' });
  const { body: service } = await api.call('PUT', `/v1/status-pages/services/${ids['service'] ?? ''}`, {
    body: { name: 'Checkout', checkIds: [every['id'], ids['check/url']] },
  });
  expect(service['checkIds']).toHaveLength(2);
}

test('writes small files that another account can apply, and that export writes again', async () => {
  await fillAccount();
  const first = emptyFolder();
  const { code, stderr } = await run(exportProject, [first]);
  expect(code).toBe(0);
  expect(stderr).toContain(`set ${Object.keys(secrets).sort().join(', ')} for plan and apply`);
  const { 'adopt.yaml': adopt = '', ...files } = filesIn(first);
  expect(adopt).toContain(`account: ${api.account.id}\n`);
  expect(JSON.stringify(files)).not.toMatch(new RegExp(Object.values(secrets).join('|')));
  expect(files['checks/buy.yaml']).toBe(
    `# yaml-language-server: $schema=${api.url}/schemas/checks.schema.json\n` +
      'kind: check\nlogicalId: buy\ncheckType: AGENTIC\nname: Buy\nlocations:\n  - eu-west-1\n' +
      'alertChannelSubscriptions:\n  - alertChannelId:\n      ref: email-ops-shop-example\n' +
      '  - alertChannelId:\n      ref: sms-duty\n    activated: false\nprompt: Buy a book.\n',
  );
  expect(files['checks/every-field.teardown.ts']).toBe("console.log('done')\n");
  expect(files['checks/every-field-2.spec.ts']).toBe('await 1;\n');
  const again = emptyFolder();
  await run(exportProject, [again]);
  expect(filesIn(again)).toEqual({ 'adopt.yaml': adopt, ...files });

  await api.db.query('delete from status_pages');
  const { key } = api.foreign;
  await api.call('POST', '/v1/playwright-bundles', {
    key,
    body: gzipSync('a suite'),
    headers: { 'content-type': 'application/octet-stream' },
  });
  const applied = await run(apply, [first, '--yes'], { key });
  expect([applied.code, applied.stderr.replaceAll(/\d+ %\n/g, '')]).toEqual([
    0,
    'location-agent: adopt.yaml is of another account and has no effect here\n',
  ]);
  expect((await run(plan, [first], { key })).stdout).toBe('no changes\n');
  for (const choice of [[], ['--project', 'monitoring']]) {
    const copy = emptyFolder();
    expect((await run(exportProject, [copy, ...choice], { key })).code).toBe(0);
    expect(filesIn(copy)).toEqual(files);
  }
}, 60_000);

test('writes files that the schema for editors accepts', async () => {
  await fillAccount();
  const folder = emptyFolder();
  await run(exportProject, [folder]);
  const answer = await fetch(`${api.url}/schemas/checks.schema.json`);
  const text = await answer.text();
  expect(text).toBe(readFileSync(join(import.meta.dirname, '../../../schemas/checks.schema.json'), 'utf8'));
  const etag = answer.headers.get('etag') ?? '';
  const second = await fetch(answer.url, { headers: { 'if-none-match': etag } });
  expect([etag === '', second.status]).toEqual([false, 304]);
  const schema = Compile(JSON.parse(text) as XSchema);
  const problemsOf = (value: unknown) =>
    schema.Errors(value)[1].map(({ instancePath, message }) => [instancePath, message]);
  const texts = Object.entries(filesIn(folder)).filter(([path]) => path.endsWith('.yaml'));
  expect(texts.length).toBeGreaterThan(15);
  for (const [path, content] of texts) expect([path, problemsOf(parse(content))]).toEqual([path, []]);
  const check = { logicalId: 'a', checkType: 'URL', name: 'A', request: { url: { env: 'HOME_PAGE' } } };
  expect(problemsOf(check)).toEqual([]);
  expect(
    problemsOf({ kind: 'check', physicalId: 'x', member: false, logicalId: 'a', checkType: 'URL' }),
  ).toEqual([]);
  for (const wrong of [
    { ...check, frequency: 'often' },
    { ...check, groupId: { reference: 'a' } },
    { ...check, checkType: 'UR' },
    { ...check, name: undefined },
    { ...check, unknown: 1 },
    { kind: 'alert-channel', logicalId: 'a', type: 'EMAIL', config: {} },
    { projectName: 'A' },
  ])
    expect([wrong, schema.Check(JSON.parse(JSON.stringify(wrong)))]).toEqual([wrong, false]);
}, 60_000);

test('lets the same account take its resources over', async () => {
  await fillAccount();
  const before = await api.call<Fields[]>('GET', '/v1/checks?limit=100');
  const folder = emptyFolder();
  // The snippet of another project stays there.
  await run(exportProject, [folder, '--unowned']);
  expect(filesIn(folder)['snippets.yaml']).not.toContain('logout');
  const shown = await run(plan, [folder]);
  expect([shown.code, shown.stdout]).toEqual([
    2,
    expect.stringMatching(/^0 to create, \d+ to update, 0 to delete/m),
  ]);
  expect(shown.stdout).toContain(
    '= attach  check/every-field-2 (was made outside of the project, which takes it over)\n',
  );
  expect((await run(apply, [folder])).code).toBe(0);
  const after = await api.call<Fields[]>('GET', '/v1/checks?limit=100');
  const idsOf = ({ body }: typeof before) => body.map(({ id }) => id);
  expect(idsOf(after)).toEqual(idsOf(before));
  expect((await run(plan, [folder])).stdout).toBe('no changes\n');
}, 60_000);

test('keeps scripts with a row of asterisks', async () => {
  const script = '/************ signs in ************/\nconsole.log(1);\n';
  await api.call('POST', '/v1/snippets', { body: { name: 'stars', script } });
  const folder = emptyFolder();
  expect((await run(exportProject, [folder, '--unowned'])).code).toBe(0);
  expect(Object.values(filesIn(folder))).toContain(script);
}, 60_000);

test('does not write over files that differ, and names a project that does not exist', async () => {
  const folder = emptyFolder();
  expect((await run(exportProject, [folder])).code).toBe(0);
  expect((await run(exportProject, [folder])).code).toBe(0);
  writeFileSync(join(folder, 'project.yaml'), 'logicalId: mine\n');
  await expect(run(exportProject, [folder])).rejects.toMatchObject({
    message: expect.stringContaining('project.yaml would be overwritten'),
    exitCode: 2,
  });
  writeFileSync(join(folder, 'old.yaml'), '');
  const { stderr } = await run(exportProject, [folder, '--overwrite']);
  expect(stderr).toContain('old.yaml was there before');
  expect(filesIn(folder)['project.yaml']).toMatch(/^# .*\nlogicalId: monitoring\nprojectName: Monitoring\n$/);
  await expect(run(exportProject, [folder, '--project', 'none'])).rejects.toThrow('no such project');
});
