import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  chmodSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { signFolder } from '../../../src/agent/folders/owner.ts';
import { createWorkDirs } from '../../../src/agent/folders/work-dir.ts';
import { frozenDiskTests } from '../../helpers/frozen-disk.ts';

const disk = frozenDiskTests();
let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'work-dir-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('each attempt has its own folder, which is deleted with all its contents', async () => {
  const dirs = createWorkDirs(join(root, 'runs'), 'agent-one-12345');
  const [one, two] = [await dirs.make(), await dirs.make()];
  expect(one).not.toBe(two);
  expect(statSync(one).mode & 0o777).toBe(0o700);
  mkdirSync(join(one, 'deep', 'locked'), { recursive: true });
  writeFileSync(join(one, 'deep', 'locked', 'file'), 'x');
  chmodSync(join(one, 'deep', 'locked'), 0);
  await dirs.remove(one);
  expect(existsSync(one)).toBe(false);
  expect(existsSync(two)).toBe(true);
  await dirs.close();
  expect(readdirSync(join(root, 'runs'))).toEqual([]);
});

test('folders within each other beyond any path go too', async () => {
  const dirs = createWorkDirs(join(root, 'runs'), 'agent-one-12345');
  const folder = await dirs.make();
  const name = 'n'.repeat(200);
  const descend = `for (let i = 0; i < 60; i++) { fs.mkdirSync('${name}'); process.chdir('${name}'); }`;
  const made = spawnSync(process.execPath, ['-e', descend], { cwd: folder });
  expect(made.status).toBe(0);
  await dirs.remove(folder);
  expect(existsSync(folder)).toBe(false);
  await dirs.close();
});

test('an agent recreates its folder after another agent took it for abandoned', async () => {
  const dirs = createWorkDirs(join(root, 'runs'), 'agent-one-12345');
  await dirs.make();
  rmSync(join(root, 'runs', 'agent-one-123'), { recursive: true });
  expect(existsSync(await dirs.make())).toBe(true);
  expect(existsSync(join(root, 'runs', 'agent-one-123', 'owner.json'))).toBe(true);
  await dirs.close();
});

test('folders of killed agents are deleted, those of running agents are kept', async () => {
  const runs = join(root, 'runs');
  const living = createWorkDirs(runs, 'living-agent');
  const kept = await living.make();
  // Signed by a process that is gone.
  const dead = join(runs, 'dead');
  await signFolder(dead);
  const child = spawn('true');
  await new Promise((resolve) => child.once('exit', resolve));
  const owner = join(dead, 'owner.json');
  const { readFileSync } = await import('node:fs');
  writeFileSync(owner, JSON.stringify({ ...JSON.parse(readFileSync(owner, 'utf8')), pid: child.pid }));
  mkdirSync(join(dead, 'run-x'));
  await createWorkDirs(runs, 'next-agent').removeDead();
  expect(existsSync(dead)).toBe(false);
  expect(existsSync(kept)).toBe(true);
  expect(readdirSync(runs)).toEqual(['living-agent'.slice(0, 13)]);
  await living.close();
});

test('a disk that takes no folders is named in the error, with the remedy', async (context) => {
  const mount = join(root, 'read-only');
  mkdirSync(mount);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=64k', 'tmpfs', mount]);
  if (mounted.status !== 0) return context.skip('no right to mount a disk');
  try {
    const dirs = createWorkDirs(join(mount, 'runs'), 'agent');
    await expect(dirs.make()).rejects.toMatchObject({
      code: 'DISK_UNAVAILABLE',
      message: expect.stringMatching(
        /^no folder for the run: .*\(EROFS\): it is mounted read-only; mount it/,
      ),
    });
    // It works as soon as the disk does.
    spawnSync('mount', ['-o', 'remount,rw', mount]);
    expect(existsSync(await dirs.make())).toBe(true);
    await dirs.close();
  } finally {
    spawnSync('umount', ['-l', mount]);
  }
});

test('a run is told about a disk that hangs, and its folder is removed once the disk answers', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  const runs = join(disk.path, 'runs');
  const deadline = disk.deadline();
  const dirs = createWorkDirs(runs, 'agent', deadline);
  disk.freeze();
  await expect(dirs.make()).rejects.toMatchObject({
    code: 'DISK_UNAVAILABLE',
    message: expect.stringContaining('the disk has not answered'),
  });
  // Nothing new is started meanwhile.
  await expect(dirs.make()).rejects.toMatchObject({ code: 'DISK_UNAVAILABLE' });
  disk.thaw();
  await vi.waitFor(() => expect(deadline.hangs).toBe(false), { timeout: 10_000 });
  const folder = await dirs.make();
  disk.freeze();
  await expect(dirs.make()).rejects.toMatchObject({ code: 'DISK_UNAVAILABLE' });
  await dirs.remove(folder);
  disk.thaw();
  await vi.waitFor(() => expect(deadline.hangs).toBe(false), { timeout: 10_000 });
  const last = await dirs.make();
  await vi.waitFor(() =>
    expect(readdirSync(join(runs, 'agent')).filter((name) => name.startsWith('run-'))).toEqual([
      basename(last),
    ]),
  );
  await dirs.close();
});
