import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** The set-up of a fresh clone (scripts/setup.mjs), when something ends it while installs go on beside one another. */

const project = resolve(import.meta.dirname, '../..');
let clone = '';
let setup: ChildProcess | undefined;
let said = '';

/** Its install of the project's own fails; the others wait until they are let go. */
const npm = `const { existsSync, writeFileSync } = require('node:fs');
const isOwn = process.cwd() === process.env.CLONE;
writeFileSync(process.env.CLONE + '/npm-' + process.pid, '');
const end = () => (console.error('npm error code ENETUNREACH'), process.exit(1));
if (isOwn && process.env.HANGS !== '1') end();
setInterval(() => existsSync(process.env.CLONE + '/go') && end(), 20);
`;

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'setup-'));
  for (const name of ['scripts', 'package.json', 'package-lock.json'])
    cpSync(join(project, name), join(clone, name), { recursive: true });
  for (const folder of ['runtimes/2026.04', 'runtimes/helpers', 'engines'])
    cpSync(join(project, folder), join(clone, folder), {
      recursive: true,
      filter: (path) => !path.endsWith('node_modules'),
    });
  // The machine that the tests run on gets no packages from a test.
  writeFileSync(
    join(clone, 'scripts', 'system-packages.mjs'),
    'export const installSystemPackages = async () => undefined;\n',
  );
  mkdirSync(join(clone, 'build'));
  writeFileSync(join(clone, 'npm.cjs'), npm);
});
afterEach(() => {
  setup?.kill('SIGKILL');
  // Those that it left, if it did.
  writeFileSync(join(clone, 'go'), '');
  rmSync(clone, { recursive: true, force: true, maxRetries: 10 });
});

async function begin(variables: Record<string, string> = {}): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['scripts/setup.mjs', 'test'], {
    cwd: clone,
    env: { ...process.env, npm_execpath: join(clone, 'npm.cjs'), CLONE: clone, ...variables },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  setup = child;
  said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until(() => npms().length === 3);
  return child;
}
const npms = () => readdirSync(clone).filter((name) => name.startsWith('npm-'));

/** Longer than the waits in a test. */
const bounds = { timeout: 90_000 };

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`it has not come to that: ${said}`);
    await sleep(20);
  }
}

test('a failed install of the project is reported at once; other installs finish', bounds, async () => {
  const child = await begin();
  await until(() => said.includes('setup: npm ci failed:\nnpm error code ENETUNREACH'));
  expect(child.exitCode).toBeNull();
  writeFileSync(join(clone, 'go'), '');
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(said).toMatch(/setup: script tests will be skipped: npm ci failed: code ENETUNREACH/);
  expect(readdirSync(join(clone, 'runtimes'))).toEqual(['2026.04', 'helpers']);
});

test('a signal stops it at once, with every npm process', bounds, async () => {
  const child = await begin({ HANGS: '1' });
  const pids = npms().map((name) => Number(name.slice('npm-'.length)));
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([143, null]);
  await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)));
});
