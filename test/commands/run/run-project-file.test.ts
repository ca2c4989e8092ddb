import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRunFile } from '../../../src/commands/run/file.ts';

/** `run` reads the files of checks that `plan` and `apply` read. */

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'run-'));
  writeFileSync(join(folder, 'setup.ts'), 'console.log(1)\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const yaml = `kind: check
logicalId: home
checkType: API
name: Home page
groupId: { ref: shop }
privateLocations: [{ ref: office }]
localSetupScriptFile: ./setup.ts
alertChannelSubscriptions:
  - alertChannelId: { ref: mail }
request:
  url: { env: SHOP_URL }
`;

function read(text: string, env: { [name: string]: string } = { SHOP_URL: 'https://shop.example/' }) {
  const path = join(folder, 'home.yaml');
  writeFileSync(path, text);
  return readRunFile(path, { now: Date.parse('2026-05-06T07:08:09.000Z'), env });
}

test('a YAML file of a project becomes a job', async () => {
  expect(await read(yaml)).toMatchObject({
    checkType: 'API',
    checkName: 'Home page',
    request: { url: 'https://shop.example/' },
    scripts: { setup: [{ content: 'console.log(1)\n' }] },
  });
});

test.each([
  [
    yaml.replace('./setup.ts', './none.ts'),
    'localSetupScriptFile names no file (./none.ts): correct the path',
  ],
  [yaml.replace('SHOP_URL', 'NO_URL'), 'request.url needs the environment variable NO_URL: set it'],
  [yaml.replace('Home page', '[Home'), 'is not valid YAML'],
  [yaml.replace('name: Home page', 'frequency: often'), 'frequency: must be'],
])('what is wrong is named (%#)', async (text, problem) => {
  await expect(read(text)).rejects.toMatchObject({ message: expect.stringContaining(problem), exitCode: 64 });
});
