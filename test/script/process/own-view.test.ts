import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startProgram } from '../../../src/script/process/child-process.ts';
import { launcherArguments } from '../../../src/script/process/reach.ts';
import { confinement, type Confinement } from '../../../src/script/process/confinement.ts';

/** What a program finds at the paths that it may use, and which of their modes it may change. */

const isRoot = process.getuid?.() === 0;
const nobody = 65534;
const volumeGroup = 2000;

let root = '';
let own = '';
let host: Confinement;
beforeAll(async () => {
  host = await confinement();
  root = mkdtempSync('/var/tmp/location-agent-view-');
  chmodSync(root, 0o755);
  own = join(root, 'own');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Options = {
  readable?: readonly string[];
  listable?: readonly string[];
  env?: { [name: string]: string };
};

async function run(script: string, layers: Confinement, options: Options = {}): Promise<string[]> {
  const lines: string[] = [];
  const program = await startProgram(
    {
      command: ['/bin/sh', '-c', `{ ${script}; } 2>&1; true`],
      cwd: own,
      env: { PATH: '/usr/bin:/bin', HOME: own, LC_ALL: 'C', ...options.env },
      readable: options.readable ?? [],
      listable: options.listable ?? [],
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

/** The launcher, started by something else: as another user, or with another mask. */
function launcherVia(name: string, how: string): Confinement {
  const launcher = join(root, name);
  writeFileSync(launcher, `#!/bin/sh\n${how} ${host.launcher ?? ''} "$@"\n`, { mode: 0o755 });
  return { ...host, launcher };
}

/** As in a pod: the agent's user and group, and `fsGroup` as one more group. */
const asNobody = (groups: string): Confinement => ({
  ...launcherVia(
    `as-nobody-${groups}`,
    `exec setpriv --reuid ${nobody} --regid ${nobody} --groups ${groups}`,
  ),
  ownUser: false,
});

beforeEach(() => {
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
});

/** A folder as a volume with `fsGroup` has it. */
function makeVolume(owner: number): void {
  chownSync(own, owner, volumeGroup);
  chmodSync(own, 0o2775);
}

const copies =
  'mkdir -p from/deep && cp -r from to && stat -c %A to/deep && chmod 2750 to && stat -c %a to && cp -rp from kept && stat -c %A kept';
const installs =
  "node -e \"const fs = require('node:fs'); fs.mkdirSync('package/lib', { recursive: true }); fs.cpSync('package', 'copy', { recursive: true }); console.log(fs.statSync('copy/lib').mode.toString(8))\"";

it('folders with the set-gid bit of a volume with fsGroup can be copied', async ({ skip }) => {
  if (!isRoot || !host.holds.seccomp) skip();
  makeVolume(0);
  const path = { env: { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin` } };
  const readable = [join(process.execPath, '..', '..')];
  expect(await run(copies, asNobody(`${nobody},${volumeGroup}`))).toEqual([
    'drwxr-sr-x',
    '2750',
    'drwxr-sr-x',
  ]);
  const layers = asNobody(`${volumeGroup}`);
  expect(await run(installs, layers, { ...path, readable })).toEqual(['42755']);
  expect(await run('touch file; chmod 4755 file', layers)).toEqual([
    "chmod: changing permissions of 'file': Operation not permitted",
  ]);
});

it('no file becomes set-gid for a group that the agent has for something else', async ({ skip }) => {
  if (!isRoot || !host.holds.seccomp) skip();
  for (const groups of ['0', '4', `${volumeGroup},4`]) {
    rmSync(join(own, 'folder'), { recursive: true, force: true });
    rmSync(join(own, 'file'), { force: true });
    makeVolume(nobody);
    expect(
      await run('mkdir -m 2755 folder; touch file; chmod 2755 file; stat -c %a folder', asNobody(groups)),
    ).toEqual(expect.arrayContaining(["chmod: changing permissions of 'file': Operation not permitted"]));
    expect(statSync(join(own, 'file')).mode & 0o7000).toBe(0);
  }
});

it.each(['027', '077'])('works for an agent that was started with umask %s', async (mask) => {
  const needed = mkdtempSync(join(root, 'needed-'));
  mkdirSync(join(needed, 'runtime'));
  writeFileSync(join(needed, 'runtime', 'file'), 'content');
  const layers = launcherVia(`masked-${mask}`, `umask ${mask}; exec`);
  const file = join(needed, 'runtime', 'file');
  expect(
    await run(`cat ${file}; echo; umask; echo own > own-file && cat own-file`, layers, { readable: [file] }),
  ).toEqual(['content', `0${mask}`, 'own']);
});

it('finds at its start whether the view of a run user works', ({ skip }) => {
  if (!isRoot || host.launcher === null) skip();
  const probe = execFileSync('/bin/sh', ['-c', `umask 077; ${host.launcher ?? ''} --probe`], {
    encoding: 'utf8',
  });
  expect(JSON.parse(probe)).toMatchObject({ errors: { user: 0 } });
});

it('finds listed paths in folders that only root may enter, and nothing else there', async ({ skip }) => {
  if (!isRoot || !host.ownUser) skip();
  // /usr is not replaced, because programs may use all of it.
  const closed = mkdtempSync('/usr/lib/location-agent-closed-');
  try {
    mkdirSync(join(closed, 'runtime', 'deep'), { recursive: true });
    for (const name of ['runtime/deep/file', 'secret', 'certificate']) {
      writeFileSync(join(closed, name), `content of ${name}\n`, { mode: 0o600 });
    }
    writeFileSync('/etc/location-agent-closed.pem', 'certificates\n', { mode: 0o600 });
    chmodSync(join(closed, 'runtime'), 0o700);
    const [runtime, certificate] = [join(closed, 'runtime'), join(closed, 'certificate')];
    const script = `cat ${runtime}/deep/file ${certificate} /etc/location-agent-closed.pem; ls ${closed}; cat ${closed}/secret; cat /etc/shadow`;
    expect(
      await run(script, host, { readable: [runtime, certificate, '/etc/location-agent-closed.pem'] }),
    ).toEqual([
      'content of runtime/deep/file',
      'content of certificate',
      'certificates',
      'certificate',
      'runtime',
      expect.stringMatching(/secret/),
      expect.stringMatching(/^cat: \/etc\/shadow: Permission denied$/),
    ]);
    expect(statSync(join(closed, 'secret')).mode & 0o777).toBe(0o600);
  } finally {
    rmSync(closed, { recursive: true });
    rmSync('/etc/location-agent-closed.pem', { force: true });
  }
});

it('does not open a closed file to a run whose own link leads there', async ({ skip }) => {
  if (!isRoot || !host.ownUser) skip();
  symlinkSync('/etc/shadow', join(own, 'harmless'));
  expect(await run(`cat ${own}/harmless`, host, { readable: [join(own, 'harmless')] })).toEqual([
    expect.stringMatching(/Permission denied/),
  ]);
});

it('follows chains of links, relative ones, and links in the middle of a path, as outside', async ({
  skip,
}) => {
  if (!host.holds.mounts) skip();
  const at = mkdtempSync(join(root, 'links-'));
  chmodSync(at, 0o755);
  mkdirSync(join(at, 'real', 'inner'), { recursive: true });
  mkdirSync(join(at, 'side', 'deep'), { recursive: true });
  writeFileSync(join(at, 'real', 'inner', 'file'), 'found\n');
  symlinkSync('real', join(at, 'third'));
  symlinkSync('side/deep/../../third', join(at, 'second'));
  symlinkSync(`${at}/second`, join(at, 'first'));
  symlinkSync('../../first/inner', join(at, 'side', 'deep', 'inner-link'));
  symlinkSync('inner/file', join(at, 'real', 'file-link'));
  const paths = ['first/inner/file', 'second/inner', 'side/deep/inner-link/file', 'first/file-link'];
  const given = paths.map((path) => join(at, path));
  // Each alone, so that no other path brings its links along.
  for (const path of given) {
    const script = `cat ${path}/file 2>/dev/null || cat ${path}; readlink -f ${path}`;
    const outside = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).stdout.trim().split('\n');
    expect(await run(script, host, { readable: [path] }), path).toEqual(outside);
  }
});

it('keeps the limits of the network where a setting of the kernel hinders the supervisor', () => {
  const options = {
    command: ['/bin/true'],
    env: {},
    readable: [],
    writable: [],
    mayStartPrograms: true,
    network: { allowed: null, denied: [], ownPorts: [], configured: [] },
    limits: { memoryBytes: 1, cpuSeconds: 1, outputBytes: 1, diskBytes: 1, processes: 1 },
  };
  const rules = (layers: Confinement) =>
    launcherArguments(options, layers).filter((argument) => argument.startsWith('--network='));
  const unsupported = { ...host, holds: { ...host.holds, network: false }, ptraceScope: null };
  expect(rules(unsupported)).toEqual([]);
  // The launcher then fails to start the program, instead of starting it without limits.
  expect(rules({ ...unsupported, ptraceScope: 2 }).length).toBeGreaterThan(0);
});
