import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtProgram } from '../../helpers/build.ts';
import { attempts as known, files, type Layers } from './escape-attempts.ts';
import { outsideAttempts } from './outside-attempts.ts';

/** Each way out is tried by a real child of a real process, with all layers of this host and with some taken away. */

const attempts = [...known, ...outsideAttempts];
const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'confinement');
const nobody = 65534;
const isRoot = process.getuid?.() === 0;
const hasCompiler = spawnSync('cc', ['--version']).status === 0;
const key = 'pl_key-that-must-not-be-read';

type Report = {
  results: { value?: unknown; error?: string }[];
  end: unknown;
  lines: string[];
  nonDumpable: boolean | null;
  holds: { [layer: string]: boolean };
  landlockVersion: number;
  launcher: string | null;
  debugger: string | null;
  priorityKept: boolean;
};

let folder = '';
let dist = '';
beforeAll(async () => {
  dist = dirname(await builtProgram());
  folder = mkdtempSync('/tmp/location-agent-escapes-');
  chmodSync(folder, 0o755);
  if (hasCompiler) {
    for (const name of ['attack', 'attack-more']) {
      const done = spawnSync('cc', ['-o', join(folder, name), join(fixtures, `${name}.c`)], {
        encoding: 'utf8',
      });
      expect(done.stderr).toBe('');
    }
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A fresh set of folders for one agent, owned by the user that it runs as. */
function makeFolders(uid: number): { [name: string]: string } {
  const root = mkdtempSync(join(folder, 'agent-'));
  const paths = {
    OTHER: join(root, 'other'),
    READABLE: join(root, 'readable'),
    MODES: join(root, 'modes'),
    OWN: join(root, 'own'),
    KEY: join(root, 'api-key'),
    ADDON: join(root, 'addon.node'),
  };
  for (const path of [paths.OTHER, paths.READABLE, paths.MODES, paths.OWN]) mkdirSync(path, { mode: 0o700 });
  for (const name of ['secret', 'removable', 'movable']) writeFileSync(join(paths.OTHER, name), 'secret');
  writeFileSync(join(paths.OTHER, 'secret.json'), '{}');
  writeFileSync(join(paths.MODES, 'file'), '');
  writeFileSync(paths.KEY, key, { mode: 0o600 });
  copyFileSync(join(dist, '..', 'build', 'native', 'location_agent.node'), paths.ADDON);
  if (hasCompiler)
    for (const name of ['attack', 'attack-more'])
      copyFileSync(join(folder, name), join(paths.READABLE, name));
  copyFileSync(join(fixtures, 'evaluate.mjs'), join(paths.READABLE, 'evaluate.mjs'));
  spawnSync('chown', ['-R', `${uid}:${uid}`, root]);
  chownSync(root, uid, uid);
  return {
    ...paths,
    ATTACK: join(paths.READABLE, 'attack'),
    ATTACK_MORE: join(paths.READABLE, 'attack-more'),
    ABSTRACT: `location-agent-escapes-${basename(root)}`,
  };
}

async function runAgent(options: {
  uid: number;
  programs: boolean;
  without: readonly string[];
  unconfined?: boolean;
  bodies: readonly string[];
}): Promise<Report> {
  const paths = makeFolders(options.uid);
  const fill = (body: string) =>
    Object.entries(paths).reduce(
      (text, [name, path]) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), path),
      body,
    );
  const asUser =
    options.uid === 0 || !isRoot
      ? []
      : ['setpriv', '--reuid', `${options.uid}`, '--regid', `${options.uid}`, '--clear-groups'];
  const [program, ...args] = [...asUser, process.execPath, join(fixtures, 'agent.mjs')];
  const agent = spawn(program, args, {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', API_KEY: key },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  let output = '';
  let errors = '';
  agent.stdout.on('data', (chunk) => (output += chunk));
  agent.stderr.on('data', (chunk) => (errors += chunk));
  agent.stdin.end(
    JSON.stringify({
      dist,
      child: join(paths['READABLE'] ?? '', 'evaluate.mjs'),
      own: paths['OWN'],
      keyFile: paths['KEY'],
      sockets: [join(paths['MODES'] ?? '', 'socket'), `\0${paths['ABSTRACT']}`],
      readable: [paths['READABLE']],
      mayStartPrograms: options.programs,
      without: options.without,
      unconfined: options.unconfined ?? false,
      bodies: options.bodies.map(fill),
    }),
  );
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    agent.once('close', (...how) => resolve(how)),
  );
  expect({ code, signal, errors }, 'the agent lives to the end').toEqual({
    code: 0,
    signal: null,
    errors: '',
  });
  return JSON.parse(output) as Report;
}

// A checkout in root's own home is closed to others.
const othersRead =
  !isRoot ||
  spawnSync('setpriv', ['--reuid', `${nobody}`, '--clear-groups', 'cat', join(fixtures, 'agent.mjs')])
    .status === 0;
if (!othersRead)
  process.stderr.write('skipped here: escapes as another user, who cannot read this checkout\n');

const users = [
  ...(isRoot ? [{ as: 'root', uid: 0, skip: false }] : []),
  {
    as: 'an unprivileged user',
    uid: isRoot ? nobody : (process.getuid?.() ?? nobody),
    skip: !othersRead,
  },
];
const hosts: { host: string; without: string[] }[] = [
  { host: 'all that holds here', without: [] },
  { host: 'no namespaces (containers)', without: ['namespaces'] },
  { host: 'no namespaces and no Landlock (old kernels)', without: ['namespaces', 'landlock'] },
  { host: 'no seccomp (other architectures)', without: ['seccomp'] },
];

describe.for(users)('a script of an agent that runs as $as', ({ uid, skip: isSkipped }) => {
  describe.for(hosts)('with $host', ({ without }) => {
    it.for([
      { kind: 'that may start programs', programs: true },
      { kind: 'under the permission model', programs: false },
    ])('$kind', async ({ programs }, { skip }) => {
      // Not by describe.skipIf, which `for` forgets.
      skip(isSkipped);
      const tried = attempts.filter(
        ({ needsPrograms }) => needsPrograms !== true || (programs && hasCompiler),
      );
      const report = await runAgent({ uid, programs, without, bodies: tried.map(({ body }) => body) });
      if (report.launcher === null) {
        process.stderr.write('skipped here: escapes, without the launcher (run: node scripts/native.mjs)\n');
        return;
      }
      const layers: Layers = {
        root: uid === 0,
        programs,
        nonDumpable: report.nonDumpable === true,
        capabilities: report.holds['capabilities'] === true,
        seccomp: report.holds['seccomp'] === true && !without.includes('seccomp'),
        landlock: report.holds['landlock'] === true ? report.landlockVersion : 0,
        namespaces: report.holds['namespaces'] === true,
        mounts: report.holds['mounts'] === true && report.holds['namespaces'] === true,
        permission: !programs,
      };
      const escaped = tried
        .filter((attempt, index) => attempt.stopped(layers) && report.results[index]?.error === undefined)
        .map(({ name }) => name);
      expect(escaped).toEqual([]);
      expect(report.debugger).toBeNull();
      if (files(layers)) expect(JSON.stringify(report)).not.toContain(key);
      expect(report.results.find(({ error }) => error?.startsWith('the child ended'))).toBeUndefined();
      expect(report.end).toMatchObject({ exceeded: null });
    });
  });
});

it('the attempts are real: without a launcher most of them succeed', async () => {
  const named = [
    "read another run's file",
    'see whether the agent lives',
    'write into /tmp',
    'start a program',
    'signal everyone',
  ];
  const tried = attempts.filter(({ name }) => named.includes(name));
  const report = await runAgent({
    uid: users[0]?.uid ?? 0,
    programs: true,
    without: [],
    unconfined: true,
    bodies: tried.map(({ body }) => body),
  });
  rmSync('/tmp/location-agent-planted', { force: true });
  expect(report.results.map(({ error }) => error)).toEqual(tried.map(() => undefined));
});
