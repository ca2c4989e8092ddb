import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Confinement } from './confinement.ts';
import type { Reach } from './program.ts';
import { networkArguments } from './script-network.ts';

/**
 * Paths of the system that every program needs, read-only. Of /etc, only names without secrets: no shadow, no keys, and
 * not the agent's own configuration.
 */
const words = (text: string): string[] => text.trim().split(/\s+/);
const etcNames = words(`
  alternatives ca-certificates ca-certificates.conf chromium chromium.d crypto-policies debian_version fonts gai.conf group
  host.conf hostname hosts inputrc ld.so.cache ld.so.conf ld.so.conf.d locale.alias localtime lsb-release machine-id
  mime.types nsswitch.conf openssl os-release passwd pki/ca-trust pki/tls/cert.pem pki/tls/certs pki/tls/openssl.cnf
  protocols resolv.conf services ssl/cert.pem ssl/certs ssl/openssl.cnf timezone xdg
`);
const systemPaths = [
  ...words('/usr /bin /sbin /lib /lib32 /lib64 /opt/google /nix/store'),
  ...words('/sys/devices /sys/fs/cgroup /sys/class /sys/bus /sys/kernel/mm/transparent_hugepage'),
  ...words(
    '/run/systemd/resolve/resolv.conf /run/systemd/resolve/stub-resolv.conf /run/resolvconf /run/NetworkManager/resolv.conf /mnt/wsl/resolv.conf',
  ),
  ...words('/var/cache/fontconfig /var/lib/ca-certificates'),
  ...etcNames.map((name) => `/etc/${name}`),
];
const devices = words('/dev/null /dev/zero /dev/full /dev/random /dev/urandom');

type Launched = Reach & { command: readonly string[] };

/** The launcher's arguments for a child: its access and its limits. */
export function launcherArguments(options: Launched, host: Confinement): string[] {
  const { limits } = options;
  const { namespaces, landlock } = host.holds;
  const mounts = namespaces && host.holds.mounts;
  const temporary = namespaces ? ownTmp(options) : [];
  const writable = [...options.writable, ...sharedPaths(options, temporary)];
  const flags = [
    `--agent=${process.pid}`,
    `--memory-bytes=${Math.floor(limits.memoryBytes)}`,
    `--cpu-seconds=${Math.ceil(limits.cpuSeconds)}`,
    `--disk-bytes=${Math.floor(limits.diskBytes)}`,
    `--processes=${Math.floor(limits.processes)}`,
    ...(options.processesAtOnce === undefined
      ? []
      : [`--programs-at-once=${Math.floor(options.processesAtOnce)}`]),
    ...(options.maxFiles === undefined ? [] : [`--files=${Math.floor(options.maxFiles)}`]),
    // Each path once, because the content below it is counted.
    ...[...new Set(writable.map(realPath))].map((path) => `--write=${path}`),
    ...(options.listable ?? []).map((path) => `--list=${path}`),
  ];
  // A namespace hides the processes with these ids and has others under the same numbers.
  flags.push(`--protect=${ownIds().join(',')}`);
  if (namespaces) flags.push('--namespaces', ...temporary);
  if (mounts) flags.push('--mounts', ...ownUser(options, host));
  if (mounts && options.own !== undefined) flags.push(`--own=${realPath(options.own)}`);
  if (options.mayStartPrograms) flags.push('--programs');
  if (options.mayStartPrograms && options.browserSandbox === true) flags.push('--user-namespaces');
  if (landlock) flags.push('--landlock');
  if (landlock || mounts) flags.push(...fileRules(options));
  // Where a setting of the kernel hinders the supervisor, the launcher refuses to start a program with limits.
  if (host.holds.network || host.ptraceScope !== null) flags.push(...networkArguments(options.network));
  return flags;
}

/**
 * Only root can give a run a user of its own, and only while nothing can become set-uid root on its behalf. Folders
 * that it shares with other runs in the machine's /tmp belong to the agent's user.
 */
function ownUser(options: Launched, host: Confinement): string[] {
  if (!host.ownUser || !host.holds.seccomp) return [];
  return sharedPaths(options, ownTmp(options)).length === 0 ? ['--own-user'] : [];
}

/** A program with a /tmp of its own needs nothing in the machine's. */
function sharedPaths({ shared = [] }: Launched, temporary: readonly string[]): readonly string[] {
  return temporary.length === 0 ? shared : [];
}

/**
 * The absolute paths as given, and their real paths. Any part of a path may be a link, and a program that resolves it
 * needs access to the real path. Missing paths are kept unchanged.
 */
export function withRealPaths(paths: readonly string[]): string[] {
  return [...new Set([...paths.map((path) => resolve(path)), ...paths.map(realPath)])];
}

/** Whether the program's own folder is mounted at /tmp: only if that hides nothing that it needs. */
function ownTmp({ temporary, readable, writable, command }: Launched): string[] {
  const hidden = [...readable, ...writable, ...command].some((path) => path.startsWith('/tmp/'));
  return temporary === undefined || hidden ? [] : [`--tmp=${temporary}`];
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function fileRules(options: Reach): string[] {
  const extraCa = options.env['NODE_EXTRA_CA_CERTS'];
  const readable = [...systemPaths, ...options.readable, ...(extraCa === undefined ? [] : [extraCa])];
  // As root, files below /proc/sys would be writable too; for others they are read-only anyway, and browsers write to
  // their own.
  const proc = process.geteuid?.() === 0 ? '--read=/proc' : '--use=/proc';
  return [proc, ...devices.map((path) => `--use=${path}`), ...readable.map((path) => `--read=${path}`)];
}

/**
 * The child's own code, and the package.json that tells Node what kind of module it is. A program below a folder `child` may
 * read that whole folder, because the programs there share modules; any other program reads its own folder.
 */
export function ownFiles(file: string): string[] {
  const own = dirname(realpathSync(file));
  let folder = own;
  for (let at = own; at !== dirname(at); at = dirname(at)) {
    if (basename(at) === 'child') folder = at;
    const description = join(at, 'package.json');
    if (existsSync(description)) return [folder, description];
  }
  return [folder];
}

/** Our process, its threads and its group (negative), and our parent: a signal to any of these would kill the agent. */
function ownIds(): number[] {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
    const threads = readdirSync('/proc/self/task').map(Number);
    return [...new Set([process.pid, -process.pid, -group, process.ppid, ...threads.slice(0, 240)])];
  } catch {
    return [process.pid, -process.pid, process.ppid];
  }
}
