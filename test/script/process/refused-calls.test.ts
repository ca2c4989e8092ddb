import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProgram } from '../../../src/script/process/child-process.ts';
import { confinement, type Confinement } from '../../../src/script/process/confinement.ts';

/** What the kernel's own tests of Landlock and seccomp try, tried inside a confined program: all of it is refused. */

const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'confinement');
const isRoot = process.getuid?.() === 0;
const { EACCES, ENOENT, ENOSYS, EPERM, EROFS, EXDEV, ENOTTY, EBADF } = constants.errno;

let root = '';
let outside = '';
let own = '';
let host: Confinement;
let compiled = false;
beforeAll(async () => {
  host = await confinement();
  root = mkdtempSync(join(tmpdir(), 'location-agent-refused-'));
  [outside, own] = [join(root, 'outside'), join(root, 'own')];
  for (const folder of [outside, own, join(outside, 'empty'), join(root, 'bin')]) mkdirSync(folder);
  compiled = ['refused', 'without-mount-setattr'].every(
    (name) =>
      spawnSync('cc', [
        '-o',
        join(root, 'bin', name),
        `-DLAUNCHER="${host.launcher ?? ''}"`,
        join(fixtures, `${name}.c`),
      ]).status === 0,
  );
  for (const name of ['file', 'removable', 'movable']) writeFileSync(join(outside, name), 'x');
  copyFileSync('/bin/true', join(outside, 'program'));
  if (!compiled || host.launcher === null)
    process.stderr.write('not tested here: refused calls, without a C compiler or the launcher\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function run(command: readonly string[], layers: Confinement): Promise<string[]> {
  const lines: string[] = [];
  const program = await startProgram(
    {
      command,
      cwd: own,
      env: { PATH: '/usr/bin:/bin', HOME: own },
      readable: [join(root, 'bin')],
      writable: [own],
      mayStartPrograms: true,
      limits: {
        memoryBytes: 1024 ** 3,
        cpuSeconds: 30,
        outputBytes: 1024 ** 2,
        diskBytes: 1024 ** 2,
        processes: 100,
      },
      onLine: (line) => lines.push(line),
    },
    Promise.resolve(layers),
  );
  expect(await program.ended).toMatchObject({ code: 0 });
  return lines;
}

const errnos = (lines: readonly string[]) =>
  lines.map((line) => {
    const [, name = '', errno = ''] = /^(.*) (\d+)$/.exec(line) ?? [];
    return { name, errno: Number(errno) };
  });
const withoutNamespaces = (): Confinement => ({
  ...host,
  holds: { ...host.holds, namespaces: false, mounts: false },
});

describe.for([
  { with: 'all layers', layers: () => host },
  { with: 'no namespaces', layers: withoutNamespaces },
])('with $with', ({ layers }) => {
  it('every system call that the filter names is refused before the kernel looks at its arguments', async ({
    skip,
  }) => {
    if (!compiled || !host.holds.seccomp) skip();
    const found = errnos(await run([join(root, 'bin', 'refused'), 'calls'], layers()));
    expect(found.length).toBeGreaterThan(50);
    expect(found.filter(({ errno }) => errno !== EPERM && errno !== ENOSYS)).toEqual([]);
  });

  it('every right over files outside is refused', async ({ skip }) => {
    if (!compiled || !host.holds.landlock) skip();
    const found = errnos(await run([join(root, 'bin', 'refused'), 'rights', outside], layers()));
    // Without namespaces, nothing prevents changes of modes, owners and times by the files' own user.
    const open = layers() === host && host.holds.mounts ? [] : ['chmod', 'chown', 'utimes'];
    const refusals = [EACCES, ENOENT, EPERM, EROFS, EXDEV, ENOTTY, EBADF];
    expect(found.filter(({ name, errno }) => !refusals.includes(errno) && !open.includes(name))).toEqual([]);
    expect(found).toHaveLength(22);
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('x');
  });
});

it('the attempts are real: unconfined, none fails as the filter would make it fail', ({ skip }) => {
  if (!compiled || !isRoot) skip();
  const { stdout } = spawnSync(join(root, 'bin', 'refused'), ['calls'], { encoding: 'utf8' });
  const alike = errnos(stdout.trim().split('\n')).filter(({ errno }) => errno === EPERM);
  expect(alike).toEqual([]);
});

it('everything is read-only on kernels without mount_setattr too', async ({ skip }) => {
  if (!compiled || !host.holds.mounts) skip();
  const old: Confinement = { ...host, launcher: join(root, 'bin', 'without-mount-setattr') };
  const script = `chmod 777 '${join(root, 'bin')}' && echo mode; touch /usr/x && echo usr; echo x > own-file && cat own-file`;
  // Modes could be changed if the view of its own had been given up, because without mount_setattr the run is root's.
  expect(await run(['/bin/sh', '-c', `{ ${script}; } 2>/dev/null`], old)).toEqual(['x']);
});

describe('the user of a run, where the agent is root', () => {
  const who = async () => {
    const script = `id -u; id -un; touch mine; stat -c %u mine; cat /proc/self/status | grep NoNewPrivs`;
    return run(['/bin/sh', '-c', `${script}; true`], host);
  };

  it('is another one for each run, has a name, and leaves the files on disk to the agent', async ({
    skip,
  }) => {
    if (!isRoot || !host.holds.mounts || !host.holds.seccomp) skip();
    chmodSync(own, 0o700);
    const [one, other] = [await who(), await who()];
    expect(Number(one[0])).toBeGreaterThan(1_900_000_000);
    expect(one[0]).not.toBe(other[0]);
    expect(one[1]).toBe('run');
    expect(one[2]).toBe(one[0]);
    expect(statSync(join(own, 'mine')).uid).toBe(0);
  });

  it('is not used where nothing keeps a file from becoming set-uid root', async ({ skip }) => {
    if (!isRoot || !host.holds.mounts) skip();
    const layers = { ...host, holds: { ...host.holds, seccomp: false } };
    expect(await run(['/bin/sh', '-c', 'id -u'], layers)).toEqual(['0']);
  });
});
