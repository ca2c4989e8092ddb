import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { DiskDeadline } from '../../src/agent/folders/disk-deadline.ts';

/** A disk that takes no writes and returns no error: a file system of the test's own, frozen by the kernel. */
export type FrozenDisk = {
  /** Where it is mounted; null without the right to mount and freeze a file system. */
  readonly path: string | null;
  freeze: () => void;
  thaw: () => void;
  /** Only a frozen disk is given up quickly: others may be slow on a busy machine. */
  patienceMs: () => number;
  deadline: () => DiskDeadline;
};

/** Seconds after which the disk is thawed by force: code that blocks this thread could not be ended otherwise. */
const longestFreeze = 20;

/** Registers the hooks that give each test such a disk. `beforeUnmount` closes what uses it. */
export function frozenDiskTests(beforeUnmount: () => Promise<void> = async () => {}): FrozenDisk {
  let base = '';
  let path: string | null = null;
  let guard: ChildProcess | null = null;

  const freeze = () => {
    execFileSync('fsfreeze', ['-f', path ?? '']);
    guard = spawn('sh', ['-c', `sleep ${longestFreeze}; exec fsfreeze -u ${path}`], { stdio: 'ignore' });
  };
  const thaw = () => {
    guard?.kill('SIGKILL');
    guard = null;
    spawnSync('fsfreeze', ['-u', path ?? '']);
  };
  const patienceMs = () => (guard === null ? 60_000 : 50);

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'frozen-disk-'));
    const mount = join(base, 'mount');
    mkdirSync(mount);
    const made = spawnSync(
      'sh',
      [
        '-ec',
        'truncate -s 8M image; mkfs.ext4 -q image; mount -o loop image mount; fsfreeze -f mount; fsfreeze -u mount',
      ],
      { cwd: base, encoding: 'utf8' },
    );
    path = made.status === 0 ? mount : null;
  });
  afterEach(async () => {
    if (guard !== null) thaw();
    await beforeUnmount();
    spawnSync('umount', ['-l', join(base, 'mount')]);
    rmSync(base, { recursive: true, force: true });
  });

  return {
    get path() {
      return path;
    },
    freeze,
    thaw,
    patienceMs,
    deadline: () => new DiskDeadline(patienceMs),
  };
}
