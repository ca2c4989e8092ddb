import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Command } from '../../../src/commands/command.ts';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { validate } from '../../../src/commands/project/validate.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** `suite` in the file of a PLAYWRIGHT check: its folder is bundled and uploaded. */

let api: TestService;
let stored: string;
let folder: string;

beforeAll(async () => {
  stored = mkdtempSync(join(tmpdir(), 'bundles-'));
  folder = mkdtempSync(join(tmpdir(), 'project-'));
  const db = await anyDatabase.open();
  const bundles = createArtifactFiles(stored, { reserveBytes: 0 });
  api = await startTestService(db, { bundles, background: await idleBackground(db) });
  mkdirSync(join(folder, 'e2e'));
  write('project.yaml', 'logicalId: shop\nchecks:\n  locations: [eu-west-1]\n');
  write('shop.yaml', 'kind: check\nlogicalId: shop\ncheckType: PLAYWRIGHT\nname: Shop\nsuite: ./e2e\n');
  write('e2e/package.json', '{"name":"e2e"}');
  write('e2e/package-lock.json', '{"name":"e2e","lockfileVersion":3,"packages":{}}');
  write('e2e/shop.spec.ts', 'export {};\n');
});
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
  for (const one of [stored, folder]) rmSync(one, { recursive: true, force: true });
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

async function run(command: Command) {
  let [stdout, stderr] = ['', ''];
  const code = await command([folder], {
    env: { SERVICE_URL: api.url, SERVICE_API_KEY: api.account.key },
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  });
  return { code, stdout, stderr };
}

test('uploads the folder once, and again when a file of it changes', async () => {
  expect(await run(validate)).toMatchObject({ code: 0, stderr: '' });
  const first = await run(plan);
  expect([first.code, first.stderr]).toEqual([2, expect.stringContaining('packed 3 files')]);
  const applied = await run(apply);
  expect([applied.code, applied.stderr]).toEqual([0, expect.not.stringContaining('packed')]);
  expect(await run(plan)).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
  const { body } = await api.call<Fields[]>('GET', '/v1/checks');
  const { body: bundles } = await api.call<Fields[]>('GET', '/v1/playwright-bundles');
  expect(body).toMatchObject([{ codeBundlePath: bundles[0]?.['key'], workingDir: '' }]);
  write('e2e/shop.spec.ts', 'export const changed = 1;\n');
  const changed = await run(plan);
  expect(changed.stdout).toMatch(/~ update {2}check\/shop\n {4}codeBundlePath: "\w{64}" → "\w{64}"\n/);
});

test('names a folder that does not exist', async () => {
  write('shop.yaml', 'kind: check\nlogicalId: shop\ncheckType: PLAYWRIGHT\nname: Shop\nsuite: ./none\n');
  expect((await run(validate)).stderr).toContain(
    'shop.yaml:5: suite names no folder (./none): correct the path',
  );
});
