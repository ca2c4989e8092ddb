import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { builtProgram } from '../../helpers/build.ts';
import type { Layers } from './escape-attempts.ts';

/** Real children of real agents, which try the attempts of a test. */

export const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'confinement');
const isRoot = process.getuid?.() === 0;
export const hasCompiler = spawnSync('cc', ['--version']).status === 0;
export const key = 'pl_key-that-must-not-be-read';

export type Report = {
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

/** Compiles the attackers; call it before `runAgent`. */
export async function prepareAgents(): Promise<void> {
  dist = dirname(await builtProgram());
  folder = mkdtempSync('/tmp/location-agent-escapes-');
  chmodSync(folder, 0o755);
  if (!hasCompiler) return;
  for (const name of ['attack', 'attack-more']) {
    const done = spawnSync('cc', ['-pthread', '-o', join(folder, name), join(fixtures, `${name}.c`)], {
      encoding: 'utf8',
    });
    expect(done.stderr).toBe('');
  }
}

/** Removes all folders. */
export const removeAgents = (): void => rmSync(folder, { recursive: true, force: true });

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

/** Starts a child of an agent that runs as `uid`, and lets it try the bodies. */
export async function runAgent(options: {
  uid: number;
  programs: boolean;
  without: readonly string[];
  unconfined?: boolean;
  bodies: readonly string[];
  /** Another Node for the child. */
  node?: string;
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
      ...(options.node === undefined ? {} : { node: options.node }),
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

/** The layers of a report, of which the test has taken some away. */
export function layersOf(
  report: Report,
  { uid, programs, without }: { uid: number; programs: boolean; without: readonly string[] },
): Layers {
  return {
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
}
