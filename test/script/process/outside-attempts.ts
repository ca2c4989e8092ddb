import type { Attempt, Layers } from './escape-attempts.ts';

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
      ['/proc/sysrq-trigger', 'w'],
      ['/proc/sys/kernel/core_pattern', 'r+'],
      ['/proc/sys/kernel/modprobe', 'r+'],
      ['/proc/sys/fs/binfmt_misc/register', 'w'],
      ['/sys/kernel/uevent_helper', 'r+'],
      ['/dev/mem', 'r'],
      ['/dev/kmsg', 'r'],
      ['/dev/port', 'r+'],
      ['/dev/vda', 'r'],
      ['/dev/sda', 'r'],
      ['/proc/kcore', 'r'],
      ['/proc/1/root/etc/shadow', 'r'],
      ['/sys/fs/cgroup/release_agent', 'r+'],
      ['/sys/fs/cgroup/memory/release_agent', 'r+'],
      ['/sys/fs/cgroup/cgroup.procs', 'r+'],
      ['/sys/fs/cgroup/unified/cgroup.procs', 'r+'],
    ] as const
  ).map(([path, flags]): Attempt => ({
    name: `open ${path}`,
    body: fs(`fs.openSync('${path}', '${flags}')`),
    stopped: (layers) => layers.landlock > 0 || layers.permission || !layers.root,
  })),
  ...[
    '/var/run/docker.sock',
    '/run/containerd/containerd.sock',
    '/run/crio/crio.sock',
    '/run/podman/podman.sock',
    '/run/dbus/system_bus_socket',
  ].map((path): Attempt => ({
    name: `connect to ${path}`,
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
  {
    name: 'make a device',
    body: system('mknod_device', 'OWN/device'),
    stopped: () => true,
    needsPrograms: true,
  },
];

/** Published ways around Node's permission model, on the Nodes that have them. */
const permissionModel: Attempt[] = [
  {
    name: 'read by a Buffer with a path (CVE-2023-32004)',
    body: fs(`return String(fs.readFileSync(Buffer.from('OWN/../other/secret')))`),
  },
  {
    name: 'read by a Uint8Array (CVE-2023-39332)',
    body: fs(`return String(fs.readFileSync(new Uint8Array(Buffer.from('OWN/../other/secret'))))`),
  },
  {
    name: 'read after a change of Buffer (CVE-2024-21896)',
    body: fs(`Buffer.prototype.utf8Write = () => 0; return String(fs.readFileSync('OWN/../other/secret'))`),
  },
  {
    name: 'read by a relative link (CVE-2025-55130)',
    body: fs(
      `fs.mkdirSync('OWN/a/b', { recursive: true }); fs.symlinkSync('../../../other', 'OWN/a/b/up'); return String(fs.readFileSync('OWN/a/b/up/secret'))`,
    ),
  },
  {
    name: "read by the process's binding (CVE-2023-32002, CVE-2023-32558)",
    body: `const binding = process.binding('fs'); const fd = binding.open('OTHER/secret', 0, 0o666); return fd;`,
  },
  {
    name: 'read by Module._load (CVE-2023-32002)',
    body: `return require('module')._load('OTHER/secret.json');`,
  },
  {
    name: 'read by fs.openAsBlob (CVE-2023-30583)',
    body: `return (await (await require('node:fs').openAsBlob('OTHER/secret')).text());`,
  },
  {
    name: 'list by statfs and watch (CVE-2023-30582)',
    body: `const watcher = require('node:fs').watch('OTHER'); watcher.close();`,
  },
  { name: 'list by mkdtemp (CVE-2023-30587)', body: `return require('node:fs').mkdtempSync('OTHER/x');` },
  {
    name: 'start the inspector in a worker (CVE-2023-30587)',
    body: `const { Session } = require('node:inspector'); const { Worker } = require('node:worker_threads'); new Worker('0', { eval: true, execArgv: [] });`,
    permissionOnly: true,
  },
  { name: 'load an engine of OpenSSL (CVE-2023-30586)', body: `require('node:crypto').setEngine('ADDON');` },
].map(
  ({ name, body, permissionOnly }: { name: string; body: string; permissionOnly?: boolean }): Attempt => ({
    name: `permission model: ${name}`,
    body,
    stopped: (layers) =>
      layers.permission ||
      (layers.landlock > 0 && permissionOnly !== true && !name.startsWith('list by statfs')),
  }),
);

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
  ...permissionModel,
];
