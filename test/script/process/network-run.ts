import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { ScriptNetwork } from '../../../src/script/process/script-network.ts';
import { builtProgram } from '../../helpers/build.ts';

/** Runs scripts under the layer `network`, in a real child of a real process that stands in for the agent. */

export const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'confinement');
/** Starts a program on a host that refuses pidfd_getfd. */
const withoutCopies = 'without-pidfd-getfd';
const attackers = ['network', 'network-attacks'];
const nobody = 65534;
const isRoot = process.getuid?.() === 0;

export type Report = {
  results: { value?: unknown; error?: string }[];
  lines: string[];
  holds: { [layer: string]: boolean };
};

type Options = {
  programs?: boolean;
  /** Layers that this host does not have. */
  without?: readonly string[];
  /** Whether the supervisor may copy the script's sockets; else it makes them. */
  copies?: boolean;
  /** The run's limit of processes and threads. */
  processes?: number;
};

export const byDefault: ScriptNetwork = { allowed: null, denied: [], ownPorts: [], configured: [] };

export const users = [
  ...(isRoot ? [{ as: 'root', uid: 0 }] : []),
  { as: 'an unprivileged user', uid: isRoot ? nobody : (process.getuid?.() ?? nobody) },
];

/** How the supervisor gets at the program's sockets. */
export const bothMeans = [
  { means: '(copied sockets)', copies: true },
  { means: '(sockets made by the supervisor)', copies: false },
];

/** Compiles a program of the fixtures with other C files. */
export function compile(name: string, into: string, others: readonly string[] = []): void {
  const sources = [join(fixtures, `${name}.c`), ...others];
  const done = spawnSync('cc', ['-pthread', '-o', join(into, name), ...sources], { encoding: 'utf8' });
  expect(done.stderr).toBe('');
}

export type NetworkHost = Awaited<ReturnType<typeof networkHost>>;

/** The attacking programs, and a folder for agents. */
export async function networkHost() {
  const dist = dirname(await builtProgram());
  const folder = mkdtempSync('/tmp/location-agent-network-');
  chmodSync(folder, 0o755);
  for (const name of [...attackers, withoutCopies]) compile(name, folder);

  /** Runs bodies of a script, in which NETWORK, ATTACKS and OWN stand for the programs and the run's folder. */
  async function run(
    uid: number,
    network: ScriptNetwork,
    bodies: readonly string[],
    { programs = true, without = [], copies = true, processes = 100 }: Options = {},
  ): Promise<Report> {
    const root = mkdtempSync(join(folder, 'agent-'));
    const [own, readable] = [join(root, 'own'), join(root, 'readable')];
    for (const path of [own, readable]) mkdirSync(path, { mode: 0o700 });
    for (const name of attackers) copyFileSync(join(folder, name), join(readable, name));
    copyFileSync(join(fixtures, 'evaluate.mjs'), join(readable, 'evaluate.mjs'));
    spawnSync('chown', ['-R', `${uid}:${uid}`, root]);
    const host = copies ? [] : [join(folder, withoutCopies)];
    const [program, ...args] = [...host, ...asUser(uid), process.execPath, join(fixtures, 'agent.mjs')];
    const agent = spawn(program ?? '', args, {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin' },
      timeout: 60_000,
    });
    let output = '';
    let errors = '';
    agent.stdout.on('data', (chunk) => (output += chunk));
    agent.stderr.on('data', (chunk) => (errors += chunk));
    const fill = (body: string) =>
      body
        .replaceAll('NETWORK', join(readable, 'network'))
        .replaceAll('ATTACKS', join(readable, 'network-attacks'))
        .replaceAll('OWN', own);
    agent.stdin.end(
      JSON.stringify({
        dist,
        child: join(readable, 'evaluate.mjs'),
        own,
        keyFile: join(readable, 'evaluate.mjs'),
        readable: [readable],
        mayStartPrograms: programs,
        network,
        without,
        processes,
        sockets: [],
        bodies: bodies.map(fill),
      }),
    );
    await new Promise((resolve) => agent.once('close', resolve));
    expect(errors).toBe('');
    return JSON.parse(output) as Report; // agent.mjs prints this
  }

  return { folder, run, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The words before a command that run it as another user. */
export function asUser(uid: number): string[] {
  return uid === 0 || !isRoot ? [] : ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups'];
}
