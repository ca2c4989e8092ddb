import type { Attempt, Layers } from './escape-attempts.ts';
import { permissionAttempts } from './permission-attempts.ts';

/**
 * Attacks of a script on the files, sockets and kernel interfaces around it, in addition to those of
 * escape-attempts.ts. MODES is a folder of the agent with a file `file`, and the socket `socket` of a server that answers.
 */

const mounted = ({ mounts }: Layers): boolean => mounts;
const filtered = ({ seccomp }: Layers): boolean => seccomp;
/** A script that cannot start programs may not change any mode where there are no namespaces. */
const noChanges = ({ seccomp, programs, namespaces }: Layers): boolean => seccomp && !programs && !namespaces;
/** Paths are checked by Node's permission model; open files are not, in the versions with published bugs. */
const byPath = (layers: Layers): boolean => mounted(layers) || noChanges(layers) || layers.permission;
const byDescriptor = (layers: Layers): boolean => mounted(layers) || noChanges(layers);
const localSockets = (layers: Layers): boolean => layers.seccomp && !layers.programs;

const fs = (call: string): string => `const fs = require('node:fs'); const own = process.getuid(); ${call};`;
const readOnly = `fs.openSync('READABLE/evaluate.mjs', 'r')`;
const connecting = (path: string): string => `
  await new Promise((resolve, reject) => {
    const socket = require('node:net').connect({ path: '${path}' });
    socket.once('connect', () => { socket.destroy(); resolve(); });
    socket.once('error', reject);
  });`;

const changes: Attempt[] = [
  {
    name: 'close a folder of the agent by its mode',
    body: fs(`fs.chmodSync('MODES', 0o700)`),
    stopped: byPath,
  },
  {
    name: "change the mode of the agent's file",
    body: fs(`fs.chmodSync('MODES/file', 0o666)`),
    stopped: byPath,
  },
  {
    name: "change the owner of the agent's file",
    body: fs(`fs.chownSync('MODES/file', own, own)`),
    stopped: byPath,
  },
  {
    name: "change the owner of a link's file",
    body: fs(`fs.lchownSync('MODES/file', own, own)`),
    stopped: byPath,
  },
  {
    name: "change the times of the agent's file",
    body: fs(`fs.utimesSync('MODES/file', 1, 1)`),
    stopped: byPath,
  },
  { name: 'change the times of a link', body: fs(`fs.lutimesSync('MODES/file', 1, 1)`), stopped: byPath },
  {
    name: 'change the mode of a file that it may read',
    body: fs(`fs.chmodSync('READABLE/evaluate.mjs', 0o777)`),
    stopped: byPath,
  },
  {
    name: 'change the mode of an open file (CVE-2024-36137)',
    body: fs(`fs.fchmodSync(${readOnly}, 0o644)`),
    stopped: byDescriptor,
  },
  {
    name: 'change the owner of an open file (CVE-2024-36137)',
    body: fs(`fs.fchownSync(${readOnly}, own, own)`),
    stopped: byDescriptor,
  },
  {
    name: 'change the times of an open file (CVE-2025-55132)',
    body: fs(`fs.futimesSync(${readOnly}, 1, 1)`),
    stopped: byDescriptor,
  },
  {
    name: "change the mode by a promise's handle (CVE-2026-21716)",
    body: `const handle = await require('node:fs/promises').open('READABLE/evaluate.mjs', 'r'); try { await handle.chmod(0o644); } finally { await handle.close(); }`,
    stopped: byDescriptor,
  },
  {
    name: "change the owner by a promise's handle (CVE-2026-21716)",
    body: `const handle = await require('node:fs/promises').open('READABLE/evaluate.mjs', 'r'); try { await handle.chown(process.getuid(), process.getgid()); } finally { await handle.close(); }`,
    stopped: byDescriptor,
  },
  {
    name: "set the agent's file's attributes",
    body: system('setxattr', 'MODES/file'),
    stopped: mounted,
    needsPrograms: true,
  },
];

const setId: Attempt[] = [
  {
    name: 'make its file set-uid',
    body: fs(`fs.writeFileSync('OWN/one', ''); fs.chmodSync('OWN/one', 0o4755)`),
    stopped: filtered,
  },
  {
    // The group of an unprivileged agent is the run's own.
    name: 'make its file set-gid',
    body: fs(`fs.writeFileSync('OWN/two', ''); fs.chmodSync('OWN/two', 0o2755)`),
    stopped: (layers) => layers.root && filtered(layers),
  },
  {
    name: 'make its open file set-uid',
    body: fs(`fs.fchmodSync(fs.openSync('OWN/three', 'w'), 0o4755)`),
    stopped: filtered,
  },
  { name: 'create a set-uid file', body: fs(`fs.openSync('OWN/four', 'w', 0o4755)`), stopped: filtered },
  {
    name: 'create a set-gid file exclusively',
    body: fs(`fs.openSync('OWN/five', 'wx', 0o2755)`),
    stopped: filtered,
  },
  ...['fchmodat2', 'creat', 'mknod', 'openat2', 'tmpfile'].map((name): Attempt => ({
    name: `set-uid by ${name}`,
    body: system(`setid_${name}`, 'OWN/by-call'),
    stopped: filtered,
    needsPrograms: true,
  })),
];

const sockets: Attempt[] = [
  {
    name: 'connect to a socket in the file system',
    body: connecting('MODES/socket'),
    stopped: (layers) => mounted(layers) || localSockets(layers),
  },
  {
    name: 'connect to an abstract socket',
    body: connecting('\\0ABSTRACT'),
    stopped: (layers) => layers.landlock >= 6 || localSockets(layers),
  },
  ...[
    'vsock',
    'packet',
    'alg',
    'key',
    'xdp',
    'bluetooth',
    'can',
    'tipc',
    'rds',
    'nfc',
    'qrtr',
    'smc',
    'raw',
    'sctp',
    'dccp',
    'udplite',
    'audit',
    'netfilter',
    'crypto',
    'uevent',
  ].map((name): Attempt => ({
    name: `socket: ${name}`,
    body: system(`socket_${name}`),
    stopped: filtered,
    needsPrograms: true,
  })),
];

const namespaces: Attempt[] = ['user', 'net', 'mount', 'pid', 'ipc', 'uts', 'cgroup', 'time'].flatMap(
  (name) =>
    ['unshare', 'clone'].map((how): Attempt => ({
      name: `a new namespace: ${how} ${name}`,
      body: system(`${how}_${name}`),
      stopped: filtered,
      needsPrograms: true,
    })),
);

/** The known ways out of containers, for a program with the run's rights. */
const container: Attempt[] = [
  ...(
    [
      { name: 'open /proc/sysrq-trigger', path: '/proc/sysrq-trigger', flags: 'w' },
      { name: 'open /proc/sys/kernel/core_pattern', path: '/proc/sys/kernel/core_pattern', flags: 'r+' },
      { name: 'open /proc/sys/kernel/modprobe', path: '/proc/sys/kernel/modprobe', flags: 'r+' },
      {
        name: 'open /proc/sys/fs/binfmt_misc/register',
        path: '/proc/sys/fs/binfmt_misc/register',
        flags: 'w',
      },
      { name: 'open /sys/kernel/uevent_helper', path: '/sys/kernel/uevent_helper', flags: 'r+' },
      { name: 'open /dev/mem', path: '/dev/mem', flags: 'r' },
      { name: 'open /dev/kmsg', path: '/dev/kmsg', flags: 'r' },
      { name: 'open /dev/port', path: '/dev/port', flags: 'r+' },
      { name: 'open /dev/vda', path: '/dev/vda', flags: 'r' },
      { name: 'open /dev/sda', path: '/dev/sda', flags: 'r' },
      { name: 'open /proc/kcore', path: '/proc/kcore', flags: 'r' },
      { name: 'open /proc/1/root/etc/shadow', path: '/proc/1/root/etc/shadow', flags: 'r' },
      {
        name: 'open /var/run/secrets/kubernetes.io/serviceaccount/token',
        path: '/var/run/secrets/kubernetes.io/serviceaccount/token',
        flags: 'r',
      },
      { name: 'open /etc/kubernetes/admin.conf', path: '/etc/kubernetes/admin.conf', flags: 'r' },
      { name: 'open /var/log/pods', path: '/var/log/pods', flags: 'r' },
      {
        name: 'open /proc/sys/net/ipv4/conf/all/route_localnet',
        path: '/proc/sys/net/ipv4/conf/all/route_localnet',
        flags: 'r+',
      },
      { name: 'open /sys/fs/cgroup/release_agent', path: '/sys/fs/cgroup/release_agent', flags: 'r+' },
      {
        name: 'open /sys/fs/cgroup/memory/release_agent',
        path: '/sys/fs/cgroup/memory/release_agent',
        flags: 'r+',
      },
      { name: 'open /sys/fs/cgroup/cgroup.procs', path: '/sys/fs/cgroup/cgroup.procs', flags: 'r+' },
      {
        name: 'open /sys/fs/cgroup/unified/cgroup.procs',
        path: '/sys/fs/cgroup/unified/cgroup.procs',
        flags: 'r+',
      },
    ] as const
  ).map(({ name, path, flags }): Attempt => ({
    name,
    body: fs(`fs.openSync('${path}', '${flags}')`),
    stopped: (layers) => layers.landlock > 0 || layers.permission || !layers.root,
  })),
  ...[
    { name: 'connect to /var/run/docker.sock', path: '/var/run/docker.sock' },
    { name: 'connect to /run/containerd/containerd.sock', path: '/run/containerd/containerd.sock' },
    { name: 'connect to /run/crio/crio.sock', path: '/run/crio/crio.sock' },
    { name: 'connect to /run/podman/podman.sock', path: '/run/podman/podman.sock' },
    { name: 'connect to /run/dbus/system_bus_socket', path: '/run/dbus/system_bus_socket' },
  ].map(({ name, path }): Attempt => ({
    name,
    body: connecting(path),
    stopped: (layers) => mounted(layers) || localSockets(layers),
  })),
  {
    name: 'type into the terminal (TIOCSTI)',
    body: system('tiocsti'),
    stopped: () => true,
    needsPrograms: true,
  },
  {
    name: 'leave its root by an open folder',
    body: system('fchdir_escape'),
    stopped: () => true,
    needsPrograms: true,
  },
  ...[
    { name: 'change a file that it may only read, by a private mapping (CVE-2016-5195)', call: 'dirty_cow' },
    { name: 'change a file that it may only read, by a pipe (CVE-2022-0847)', call: 'dirty_pipe' },
    { name: 'replace the program that started it, by /proc/self/exe (CVE-2019-5736)', call: 'own_program' },
    { name: 'open a file by its handle (CAP_DAC_READ_SEARCH)', call: 'file_handle' },
    { name: 'load a kernel module', call: 'module' },
    { name: 'load a BPF program (CVE-2021-3490)', call: 'bpf' },
    { name: 'mount a file system (CVE-2022-0185, CVE-2022-0492)', call: 'mount' },
  ].map(({ name, call }): Attempt => ({
    name,
    body: system(call, 'READABLE/evaluate.mjs'),
    stopped: () => true,
    needsPrograms: true,
  })),
  {
    name: 'make a device',
    body: system('mknod_device', 'OWN/device'),
    stopped: () => true,
    needsPrograms: true,
  },
];

/** A body that throws what the system call answered. */
function system(name: string, target = ''): string {
  return `
  const { spawnSync } = require('node:child_process');
  const done = spawnSync('ATTACK_MORE', ['${name}', '${target}'], { encoding: 'utf8' });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error('killed by ' + done.signal);
  const errno = Number(done.stdout);
  if (errno !== 0) throw Object.assign(new Error('errno ' + errno), { code: 'errno ' + errno });`;
}

export const outsideAttempts: readonly Attempt[] = [
  ...changes,
  ...setId,
  ...sockets,
  ...namespaces,
  ...container,
  ...permissionAttempts,
];
