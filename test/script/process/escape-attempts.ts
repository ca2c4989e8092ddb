/** Attacks of a script on the agent and its host; `body` runs in the child, AGENT is replaced by the agent's pid. */
export type Attempt = {
  name: string;
  body: string;
  /** Whether these layers stop it. */
  stopped: (layers: Layers) => boolean;
  /** Only a script that may start programs can try it. */
  needsPrograms?: true;
};

export type Layers = {
  root: boolean;
  programs: boolean;
  nonDumpable: boolean;
  capabilities: boolean;
  seccomp: boolean;
  landlock: number;
  namespaces: boolean;
  /** A view of the file system of its own, read-only except its own folders. */
  mounts: boolean;
  /** Node's own permission model. */
  permission: boolean;
};

const always = (): boolean => true;
export const files = ({ landlock, permission }: Layers): boolean => landlock > 0 || permission;
/** Looking into the agent's memory: also forbidden by the agent itself, if the looker has no capability over it. */
const agentMemory = (layers: Layers): boolean =>
  files(layers) || layers.namespaces || (layers.nonDumpable && (layers.capabilities || !layers.root));
const signals = ({ seccomp, landlock, namespaces }: Layers): boolean =>
  seccomp || landlock >= 6 || namespaces;
const filter = ({ seccomp }: Layers): boolean => seccomp;

/** A body that throws what the system call answered. */
const system = (name: string, target = ''): string => `
  const { spawnSync } = require('node:child_process');
  const done = spawnSync('ATTACK', ['${name}', '${target}'], { encoding: 'utf8' });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error('killed by ' + done.signal);
  const errno = Number(done.stdout);
  if (errno !== 0) throw Object.assign(new Error('errno ' + errno), { code: 'errno ' + errno });
`;

const fs = (call: string): string => `return String(require('node:fs').${call}).slice(0, 100);`;

export const attempts: readonly Attempt[] = [
  {
    name: "read the agent's environment",
    body: fs("readFileSync('/proc/AGENT/environ')"),
    stopped: agentMemory,
  },
  { name: "read the agent's memory", body: fs("readFileSync('/proc/AGENT/maps')"), stopped: agentMemory },
  { name: "open the agent's memory", body: fs("openSync('/proc/AGENT/mem', 'r+')"), stopped: agentMemory },
  {
    name: "open the agent's descriptors",
    body: fs("openSync('/proc/AGENT/fd/1', 'r')"),
    stopped: agentMemory,
  },
  { name: "follow the agent's folder", body: fs("readdirSync('/proc/AGENT/cwd/')"), stopped: agentMemory },
  {
    name: "read the supervisor's environment",
    body: `return String(require('node:fs').readFileSync('/proc/' + process.ppid + '/environ'));`,
    stopped: (layers) => files(layers) || layers.capabilities || !layers.root,
  },
  {
    name: "find one of the agent's descriptors among its own",
    body: `
      const fs = require('node:fs');
      const open = fs.readdirSync('/proc/self/fd').map((fd) => { try { return fs.readlinkSync('/proc/self/fd/' + fd); } catch { return ''; } });
      if (!open.some((path) => path.includes('KEY'))) throw new Error('none');`,
    stopped: always,
  },
  { name: 'open the debugger of the agent', body: `process.kill(AGENT, 'SIGUSR1')`, stopped: signals },
  { name: 'see whether the agent lives', body: 'process.kill(AGENT, 0)', stopped: signals },
  { name: 'signal a thread of the agent', body: `process.kill(AGENT_THREAD, 0)`, stopped: signals },
  { name: "signal the agent's group", body: `process.kill(-AGENT, 0)`, stopped: always },
  {
    name: 'signal the supervisor',
    body: 'process.kill(process.ppid, 0)',
    stopped: (layers) => signals(layers) && !layers.namespaces,
  },
  {
    name: "signal the supervisor's group",
    body: 'process.kill(-process.ppid, 0)',
    stopped: always,
  },
  {
    name: 'end the supervisor',
    body: `process.kill(process.ppid, 'SIGKILL'); await new Promise((resolve) => setTimeout(resolve, 20)); if (process.ppid > 0) throw new Error('it lives')`,
    stopped: always,
  },
  {
    name: 'signal everyone',
    body: 'process.kill(-1, 0)',
    stopped: ({ seccomp, programs, namespaces }) => seccomp && !(programs && namespaces),
  },
  { name: "read the agent's key file", body: fs("readFileSync('KEY')"), stopped: files },
  { name: "read another run's file", body: fs("readFileSync('OTHER/secret')"), stopped: files },
  { name: "list another run's folder", body: fs("readdirSync('OTHER')"), stopped: files },
  {
    name: "write into another run's folder",
    body: fs("writeFileSync('OTHER/planted', 'x')"),
    stopped: files,
  },
  { name: "remove another run's file", body: fs("rmSync('OTHER/removable')"), stopped: files },
  {
    name: 'write where it may only read',
    body: fs("writeFileSync('READABLE/planted', 'x')"),
    stopped: files,
  },
  { name: 'write into /tmp', body: fs("writeFileSync('/tmp/location-agent-planted', 'x')"), stopped: files },
  {
    name: 'write below /dev/shm',
    body: fs("writeFileSync('/dev/shm/location-agent-planted', 'x')"),
    stopped: files,
  },
  {
    name: 'read the password file',
    body: fs("readFileSync('/etc/shadow')"),
    stopped: (layers) => files(layers) || !layers.root,
  },
  {
    name: "change the kernel's settings",
    body: fs("openSync('/proc/sys/kernel/core_pattern', 'r+')"),
    stopped: (layers) => files(layers) || !layers.root,
  },
  {
    name: 'leave its folder by a symbolic link',
    body: `const fs = require('node:fs'); fs.symlinkSync('OTHER', 'OWN/link'); return String(fs.readFileSync('OWN/link/secret'));`,
    stopped: files,
  },
  {
    name: 'leave its folder by a link through /proc/self/root',
    body: fs("readFileSync('/proc/self/root' + 'OTHER/secret')"),
    stopped: files,
  },
  {
    name: 'take a file along by a hard link',
    body: `const fs = require('node:fs'); fs.linkSync('OTHER/secret', 'OWN/hard'); return String(fs.readFileSync('OWN/hard'));`,
    stopped: files,
  },
  {
    name: 'take a file along by renaming it',
    body: fs("renameSync('OTHER/movable', 'OWN/moved')"),
    stopped: files,
  },
  {
    name: 'see processes that are not its own',
    body: `
      const fs = require('node:fs');
      const all = fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map(Number);
      if (!all.includes(AGENT)) throw new Error('not there');`,
    stopped: ({ namespaces, permission }) => namespaces || permission,
  },
  {
    name: 'start a program',
    body: `const done = require('node:child_process').spawnSync('/bin/true'); if (done.error) throw done.error;`,
    stopped: ({ permission, programs, seccomp }) => permission || (!programs && seccomp),
  },
  {
    name: 'start a thread',
    body: `new (require('node:worker_threads').Worker)('0', { eval: true });`,
    stopped: ({ permission }) => permission,
  },
  {
    name: 'load an addon',
    body: `process.dlopen({ exports: {} }, 'ADDON');`,
    stopped: ({ permission, landlock }) => permission || landlock > 0,
  },
  ...(
    [
      ['ptrace', always],
      ['seize', (layers) => filter(layers) || agentMemory(layers)],
      ['vm_readv', (layers) => filter(layers) || agentMemory(layers)],
      ['vm_writev', (layers) => filter(layers) || agentMemory(layers)],
      ['kcmp', (layers) => filter(layers) || agentMemory(layers)],
      ['usr1', signals],
      ['kill_group', signals],
      ['tkill', signals],
      ['tgkill', signals],
      ['sigqueue', signals],
      ['pidfd_signal', signals],
      ['pidfd_getfd', (layers) => filter(layers) || agentMemory(layers)],
      ['owner_signal', filter],
      ['prlimit', ({ seccomp, namespaces }) => seccomp || namespaces],
      ['affinity', ({ seccomp, namespaces }) => seccomp || namespaces],
      ['nice', ({ seccomp, namespaces }) => seccomp || namespaces],
      ['nice_user', filter],
      ['mount', always],
      ['bpf', filter],
      ['perf', filter],
      ['keyctl', filter],
      ['userfaultfd', filter],
      ['io_uring', filter],
      ['setns', always],
      ['reboot', always],
      ['chown', always],
      ['setuid', ({ root, capabilities }) => capabilities || !root],
    ] as const satisfies readonly (readonly [string, Attempt['stopped']])[]
  ).map(([name, stopped]): Attempt => ({
    name: `system call: ${name}`,
    body: system(name, 'AGENT'),
    stopped,
    needsPrograms: true,
  })),
];
