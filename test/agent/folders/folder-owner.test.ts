import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { beatFolder, isOwnerGone, signFolder, unsignFolder } from '../../../src/agent/folders/owner.ts';
import { builtProgram } from '../../helpers/build.ts';

/** Owners that this process cannot inspect, because they are in another PID namespace: agents of other containers. */

let root = '';
let program = '';
let children: ChildProcess[] = [];
beforeAll(async () => {
  program = join(dirname(await builtProgram()), 'agent', 'folders', 'owner.js');
}, 180_000);
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'folder-owner-'));
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
  rmSync(root, { recursive: true, force: true });
});

const ownBeat = async () => {
  const own = join(root, 'own');
  mkdirSync(own, { recursive: true });
  await beatFolder(own);
  return join(own, 'alive');
};

function rewrite(folder: string, fields: object): void {
  const file = join(folder, 'owner.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...fields }));
}

/** A process that owns the folder, signed as if from another container, and that has been silent for a minute. */
async function ownedElsewhere(folder: string): Promise<ChildProcess> {
  const source = `const { signFolder, beatFolder } = await import(${JSON.stringify(pathToFileURL(program).href)});
    await signFolder(process.argv[1]); await beatFolder(process.argv[1]); console.log('signed'); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  rewrite(folder, { namespace: 'pid:[1]' });
  const silent = new Date(Date.now() - 60_000);
  utimesSync(join(folder, 'alive'), silent, silent);
  return child;
}

test('an owner in another container counts as alive while it holds its lock, even when it is paused', async () => {
  const folder = join(root, 'elsewhere');
  const child = await ownedElsewhere(folder);
  child.kill('SIGSTOP');
  expect(await isOwnerGone(folder, await ownBeat())).toBe(false);
});

test('an owner in another container that was killed is dead at once', async () => {
  const folder = join(root, 'elsewhere');
  const child = await ownedElsewhere(folder);
  await beatFolder(folder);
  expect(await isOwnerGone(folder, await ownBeat())).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await isOwnerGone(folder, await ownBeat())).toBe(true);
  // What it left of the lock goes with its name.
  await unsignFolder(folder);
  expect(existsSync(join(folder, 'lock'))).toBe(false);
});

test.each([
  ['of another machine, whose locks do not show here', { boot: 'another machine' }],
  ['whose volume was mounted once more for this container', { lockedOn: -1 }],
  ['of a version without locks', { lockedOn: undefined }],
])('an owner %s is dead after its silence', async (_, fields) => {
  const folder = join(root, 'elsewhere');
  const child = await ownedElsewhere(folder);
  rewrite(folder, fields);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await beatFolder(folder);
  expect(await isOwnerGone(folder, await ownBeat())).toBe(false);
  const silent = new Date(Date.now() - 21_000);
  utimesSync(join(folder, 'alive'), silent, silent);
  expect(await isOwnerGone(folder, await ownBeat())).toBe(true);
});

test('where no lock can be had, a folder is signed without one', async () => {
  // A socket's path has 107 bytes at most.
  const folder = join(root, 'f'.repeat(120));
  await signFolder(folder);
  expect(JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8'))).toMatchObject({ lockedOn: null });
  rewrite(folder, { namespace: 'pid:[1]' });
  await beatFolder(folder);
  expect(await isOwnerGone(folder, await ownBeat())).toBe(false);
  await unsignFolder(folder);
});

test('a folder that was taken over and signed again is locked again', async () => {
  const folder = join(root, 'again');
  await signFolder(folder);
  rmSync(folder, { recursive: true });
  await signFolder(folder);
  await beatFolder(folder);
  rewrite(folder, { namespace: 'pid:[1]' });
  const silent = new Date(Date.now() - 60_000);
  utimesSync(join(folder, 'alive'), silent, silent);
  expect(await isOwnerGone(folder, await ownBeat())).toBe(false);
  await unsignFolder(folder);
});
