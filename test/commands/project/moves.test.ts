import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Command } from '../../../src/commands/command.ts';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Resources that get another name, another logicalId or another project, through the commands. */

let api: TestService;
let root: string;

beforeAll(async () => {
  const db = await anyDatabase.open();
  api = await startTestService(db, { background: await idleBackground(db) });
});
beforeEach(async () => {
  await api.renewAccounts();
  root = mkdtempSync(join(tmpdir(), 'moves-'));
  for (const project of ['shop', 'bank']) {
    mkdirSync(join(root, project));
    write(project, 'project.yaml', `logicalId: ${project}\nchecks:\n  locations: [eu-west-1]\n`);
  }
  write('shop', 'home.yaml', check({ logicalId: 'home' }));
});
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
});

const write = (project: string, name: string, text: string) => writeFileSync(join(root, project, name), text);

const check = ({
  logicalId,
  name = 'Home',
  physicalId,
}: {
  logicalId: string;
  name?: string;
  physicalId?: string;
}) =>
  `kind: check\nlogicalId: ${logicalId}\n${physicalId === undefined ? '' : `physicalId: ${physicalId}\n`}` +
  `checkType: URL\nname: ${name}\nrequest: { url: https://shop.example/ }\n`;

async function run(command: Command, project: string, ...more: string[]) {
  let [stdout, stderr] = ['', ''];
  const code = await command([join(root, project), ...more], {
    env: { SERVICE_URL: api.url, SERVICE_API_KEY: api.account.key },
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  });
  const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('warning: '));
  return { code, lines, stderr: stderr.replaceAll(/\d+ %\n/g, '') };
}

const unchanged = { code: 0, lines: ['no changes'], stderr: '' };
async function checks(): Promise<Fields[]> {
  return (await api.call<Fields[]>('GET', '/v1/checks')).body;
}
async function onlyId(): Promise<string> {
  const [first, ...others] = await checks();
  expect(others).toEqual([]);
  return String(first?.['id']);
}

test('a new name is a change of the same check', async () => {
  await run(apply, 'shop');
  const id = await onlyId();
  write('shop', 'home.yaml', check({ logicalId: 'home', name: 'Start page' }));
  expect((await run(plan, 'shop')).lines).toEqual([
    '~ update  check/home',
    '    name: "Home" → "Start page"',
    '0 to create, 1 to update, 0 to delete, 0 to detach',
  ]);
  expect((await run(apply, 'shop')).code).toBe(0);
  expect([await onlyId(), (await checks())[0]?.['name']]).toEqual([id, 'Start page']);
  expect(await run(plan, 'shop')).toEqual(unchanged);
});

test('a new logicalId is another check, unless physicalId names the old one', async () => {
  await run(apply, 'shop');
  const id = await onlyId();
  write('shop', 'home.yaml', check({ logicalId: 'start' }));
  expect((await run(plan, 'shop')).lines).toEqual([
    '- delete  check/home',
    '+ create  check/start',
    '1 to create, 0 to update, 1 to delete, 0 to detach',
  ]);
  write('shop', 'home.yaml', check({ logicalId: 'start', physicalId: id }));
  expect((await run(plan, 'shop')).lines).toEqual([
    '= attach  check/start (had the logicalId home, and keeps its history)',
    '0 to create, 0 to update, 0 to delete, 0 to detach, 1 to attach',
  ]);
  // Nothing is deleted, so nobody has to confirm it.
  expect((await run(apply, 'shop')).code).toBe(0);
  expect(await onlyId()).toBe(id);
  expect(await run(plan, 'shop')).toEqual(unchanged);
  write('shop', 'home.yaml', check({ logicalId: 'start' }));
  expect(await run(plan, 'shop')).toEqual(unchanged);
  expect((await api.call('GET', '/v1/projects/shop')).body['resources']).toMatchObject([
    { logicalId: 'start', physicalId: id },
  ]);
});

test('an existing trigger is taken over with its URL', async () => {
  await run(apply, 'shop');
  const id = await onlyId();
  const made = await api.call('POST', `/v1/triggers/checks/${id}`);
  const trigger = `kind: check-trigger\nlogicalId: release\nphysicalId: ${id}\ncheckId: { ref: home }\n`;
  write('shop', 'trigger.yaml', trigger);
  expect((await run(apply, 'shop')).code).toBe(0);
  const after = await api.call('GET', `/v1/triggers/checks/${id}`);
  expect([after.status, after.body['token']]).toEqual([200, made.body['token']]);
  expect(await run(plan, 'shop')).toEqual(unchanged);
});

test('two resources of the files cannot be the same one', async () => {
  await run(apply, 'shop');
  const id = await onlyId();
  write('shop', 'start.yaml', check({ logicalId: 'start', physicalId: id }));
  const refused = await run(apply, 'shop');
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`physicalId also belongs to check/home (${id}): remove one of them`),
  ]);
  expect(await onlyId()).toBe(id);
});

test('a check moves to another project when the first one lets it go', async () => {
  await run(apply, 'shop');
  const id = await onlyId();
  write('bank', 'home.yaml', check({ logicalId: 'page', physicalId: id }));
  const early = await run(apply, 'bank');
  expect([early.code, early.stderr]).toEqual([
    1,
    expect.stringContaining('belongs to the project shop: remove it there first, and keep the resource'),
  ]);
  rmSync(join(root, 'shop/home.yaml'));
  expect((await run(plan, 'shop', '--keep')).lines).toEqual([
    '= detach  check/home',
    '0 to create, 0 to update, 0 to delete, 1 to detach',
  ]);
  expect((await run(apply, 'shop', '--keep')).code).toBe(0);
  const moved = await run(apply, 'bank');
  expect([moved.code, moved.lines]).toEqual([
    0,
    expect.arrayContaining(['= attach  check/page (was made outside of the project, which takes it over)']),
  ]);
  expect(await onlyId()).toBe(id);
  for (const project of ['shop', 'bank']) expect(await run(plan, project)).toEqual(unchanged);
  // The first project has no hold on it any more.
  expect((await run(apply, 'shop', '--yes')).code).toBe(0);
  expect(await onlyId()).toBe(id);
});

test('a logicalId whose check moved to another project is refused, with both ways out', async () => {
  await run(apply, 'shop');
  const id = await onlyId();
  rmSync(join(root, 'shop/home.yaml'));
  await run(apply, 'shop', '--keep');
  write('bank', 'page.yaml', check({ logicalId: 'page', physicalId: id }));
  expect((await run(apply, 'bank')).code).toBe(0);
  write('shop', 'home.yaml', check({ logicalId: 'home' }));
  const reason =
    `belongs to the project bank since this project let it go (${id}): give this resource another logicalId, ` +
    'or remove it there and keep it (--keep)';
  for (const command of [plan, apply]) {
    const refused = await run(command, 'shop');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(reason)]);
  }
  write('shop', 'home.yaml', check({ logicalId: 'start' }));
  expect((await run(apply, 'shop')).code).toBe(0);
  expect(await checks()).toHaveLength(2);
  for (const project of ['shop', 'bank']) expect(await run(plan, project)).toEqual(unchanged);
});

test('a check that others deleted is created again, and the plan says so', async () => {
  await run(apply, 'shop');
  const id = await onlyId();
  await api.call('DELETE', `/v1/checks/${id}`);
  expect((await run(plan, 'shop')).lines[0]).toBe(
    '+ create  check/home (was deleted by others, and is created again)',
  );
  expect((await run(apply, 'shop')).code).toBe(0);
  expect(await onlyId()).not.toBe(id);
  expect(await run(plan, 'shop')).toEqual(unchanged);
});
