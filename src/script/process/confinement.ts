import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { toError } from '../../errors.ts';
import { launcherFile, probeLauncher, type LauncherProbe } from '../../native/launcher.ts';
import { buildCommand } from '../../native/native.ts';

/** Layers between a script and this host, in addition to Node's own permission model. */
export type Layer =
  'no_new_privs' | 'capabilities' | 'seccomp' | 'landlock' | 'namespaces' | 'mounts' | 'network';

/** The layers of this host, as a start-up probe found them. */
export type Confinement = {
  /** Null = scripts are started without a launcher: no layer works, and only time and output are limited. */
  launcher: string | null;
  landlockVersion: number;
  /** How calls with addresses are judged: on copies of the script's sockets, or on sockets made by the supervisor. */
  networkMeans: 'copied sockets' | 'own sockets';
  holds: { readonly [L in Layer]: boolean };
  /**
   * The kernel's setting that keeps the supervisor from judging calls (Yama, kernel.yama.ptrace_scope). Scripts whose
   * network is limited then do not start. Null = it does not.
   */
  ptraceScope: number | null;
  /** Each run can have a user of its own, because the agent is root and the view of such a user works. */
  ownUser: boolean;
  /** One sentence for each missing layer, with the remedy. */
  missing: readonly string[];
};

const nothingHolds: Confinement['holds'] = {
  no_new_privs: false,
  capabilities: false,
  seccomp: false,
  landlock: false,
  namespaces: false,
  mounts: false,
  network: false,
};

const nothing = {
  launcher: null,
  landlockVersion: 0,
  networkMeans: 'copied sockets',
  holds: nothingHolds,
  ptraceScope: null,
  ownUser: false,
} as const;

const remedies: { readonly [L in Layer]: string } = {
  no_new_privs: 'use a kernel of 3.5 or newer',
  capabilities: 'start the agent as a user without capabilities',
  seccomp: 'use a kernel with seccomp filters, on x86_64 or aarch64',
  landlock: 'use a kernel of 5.13 or newer that has landlock among its security modules',
  namespaces: 'allow user namespaces for this container or user (seccomp and AppArmor profiles forbid them)',
  mounts:
    'allow user namespaces, and mounts in them, for this container or user; until then scripts can change modes and times of files of this user, and reach its sockets',
  network:
    'until then scripts reach every address that this host reaches; use a kernel of 5.9 or newer, and allow the system call seccomp in the profile of this container (docker/seccomp.json does)',
};

let found: Promise<Confinement> | undefined;

/** Tries every layer once per process; takes some milliseconds. Never rejects. */
export function confinement(): Promise<Confinement> {
  found ??= probe();
  return found;
}

async function probe(): Promise<Confinement> {
  const file = launcherFile();
  if (file === null) {
    const missing = `the launcher was not built: scripts run unconfined (run: ${buildCommand()})`;
    return { ...nothing, missing: [missing] };
  }
  try {
    return confinementOf(file, await probeLauncher(file), ptraceScope());
  } catch (error: unknown) {
    const missing = `the launcher cannot run: scripts run unconfined (${toError(error).message.split('\n', 1)[0] ?? ''})`;
    return { ...nothing, missing: [missing] };
  }
}

/** What the launcher's probe shows; `scope` is kernel.yama.ptrace_scope, null = the kernel has no such setting. */
export function confinementOf(file: string, probe: LauncherProbe, scope: number | null): Confinement {
  const { uid, errors, landlockVersion, copiesSockets } = probe;
  // Below 2, the supervisor may examine its own children.
  const hindering = errors.network !== 0 && scope !== null && scope >= 2 ? scope : null;
  const results: readonly [Layer, number][] = [
    ['no_new_privs', errors.noNewPrivs],
    ['capabilities', errors.capabilities],
    ['seccomp', errors.seccomp],
    ['landlock', errors.landlock],
    ['namespaces', errors.namespaces],
    ['mounts', errors.mounts],
    ['network', errors.network],
  ];
  const holds = Object.fromEntries(results.map(([layer, errno]) => [layer, errno === 0]));
  return {
    launcher: file,
    landlockVersion,
    networkMeans: copiesSockets ? 'copied sockets' : 'own sockets',
    holds: { ...nothingHolds, ...holds },
    ptraceScope: hindering,
    ownUser: uid === 0 && errors.mounts === 0 && errors.user === 0,
    missing: [
      ...results
        // Where there are no namespaces, there are no mounts in them: one line names both.
        .filter(([layer, errno]) => errno !== 0 && !(layer === 'mounts' && errors.namespaces !== 0))
        .map(([layer, errno]) =>
          layer === 'network' && hindering !== null ? hinderedBy(hindering) : missingLayer(layer, errno),
        ),
      ...(errors.mounts === 0 && errors.user !== 0 ? [missingUser(errors.user)] : []),
    ],
  };
}

function ptraceScope(): number | null {
  try {
    return Number(readFileSync('/proc/sys/kernel/yama/ptrace_scope', 'utf8'));
  } catch {
    return null; // The kernel is built without Yama.
  }
}

function hinderedBy(scope: number): string {
  const restart = scope >= 3 ? ', and restart the host, because 3 cannot be lowered' : '';
  return `scripts whose network is limited do not start: kernel.yama.ptrace_scope is ${scope}, so the supervisor cannot examine their connections; set it to 1 (/etc/sysctl.d)${restart}`;
}

const warned = new Set<string>();
let warn: (line: string) => void = () => undefined;

/** Reports missing layers of this host to `to`, once each, now and when a layer fails later. */
export function announceConfinement(to: (line: string) => void): void {
  warn = to;
  void confinement().then(({ missing }) => missing.forEach(warnOnce));
}

/** Reports a layer that could not be applied to one child, although the probe had found it. */
export function noteMissing(layer: string, errno: number): void {
  if (layer === 'user') return warnOnce(missingUser(errno));
  const known = Object.keys(remedies).find((name): name is Layer => name === layer);
  warnOnce(
    known === undefined ? `scripts run without ${layer} (${errnoName(errno)})` : missingLayer(known, errno),
  );
}

function warnOnce(line: string): void {
  if (warned.has(line)) return;
  warned.add(line);
  warn(line);
}

function missingLayer(layer: Layer, errno: number): string {
  return `scripts run without ${layer} (${errnoName(errno)}): ${remedies[layer]}`;
}

function missingUser(errno: number): string {
  const remedy = 'put AGENT_DATA_DIR on ext4, XFS or Btrfs, with a kernel of 5.12 or newer';
  return `script runs have no user of their own (${errnoName(errno)}): ${remedy}`;
}

/** The Linux name of an errno, such as EPERM. */
export function errnoName(errno: number): string {
  return Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
}
