import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fillFolder } from '../disk.ts';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** The agent's host is in trouble: no processor time, no disk, damaged files. */

const isRoot = () => process.getuid?.() === 0;
const needsRoot = (what: string) => () => (isRoot() ? null : `${what} needs root`);

/** Other programs take the agent's core: they run at a higher priority on the only core that it may use. */
const starved: Scenario = {
  name: 'starved',
  about: "other programs take the agent's core for 60 s; its checks have limits of 300 and 600 ms",
  missing: () => (existsSync('/usr/bin/taskset') ? needsRoot('a higher priority')() : 'taskset is missing'),
  world: {
    agents: 1,
    agentOptions: { before: ['taskset', '-c', '1'] },
    limits: { degradedResponseTime: 300, maxResponseTime: 600 },
    env: {},
  },
  run: async () => {
    await sleep(20_000);
    const began = Date.now();
    const burners = Array.from({ length: 8 }, () =>
      spawn('nice', ['-n', '-15', 'taskset', '-c', '1', process.execPath, '-e', 'for (;;);'], {
        stdio: 'ignore',
      }),
    );
    await sleep(60_000);
    for (const burner of burners) burner.kill('SIGKILL');
    const ended = Date.now();
    await sleep(45_000);
    const isAround = (due: number) => due > began - 15_000 && due < ended + 15_000;
    return {
      missed: isAround,
      errored: { when: isAround, codes: ['AGENT_OVERLOADED', 'LEASE_EXPIRED'] },
    };
  },
};

const quotaFolder = `/sys/fs/cgroup/cpu/location-agent-chaos-${process.pid}`;
/** A container's quota: a tenth of a core (cgroup v1). */
const throttled: Scenario = {
  name: 'throttled',
  about: "the agent's control group gets a tenth of a core for 60 s",
  missing: () =>
    isRoot() && existsSync('/sys/fs/cgroup/cpu/cpu.cfs_quota_us')
      ? null
      : 'no control group with a quota can be made here',
  world: { agents: 1, limits: { degradedResponseTime: 300, maxResponseTime: 600 } },
  run: async (world) => {
    await sleep(20_000);
    mkdirSync(quotaFolder, { recursive: true });
    const move = (folder: string) => {
      const pid = world.agents[0]?.pid ?? 0;
      writeFileSync(join(folder, 'cgroup.procs'), String(pid));
    };
    writeFileSync(join(quotaFolder, 'cpu.cfs_period_us'), '500000');
    writeFileSync(join(quotaFolder, 'cpu.cfs_quota_us'), '25000');
    const began = Date.now();
    move(quotaFolder);
    await sleep(60_000);
    move('/sys/fs/cgroup/cpu');
    const ended = Date.now();
    await sleep(40_000);
    rmdirSync(quotaFolder);
    const isAround = (due: number) => due > began - 15_000 && due < ended + 15_000;
    return {
      missed: isAround,
      errored: { when: isAround, codes: ['AGENT_OVERLOADED', 'LEASE_EXPIRED'] },
    };
  },
};

/** A disk of its own for the agent's data, which is then full or read-only. Nothing may be missed. */
function diskTrouble(
  name: string,
  about: string,
  spoil: (path: string) => void,
  repair: (path: string) => void,
): Scenario {
  return {
    name,
    about,
    missing: needsRoot('a disk of its own'),
    world: { agents: 0 },
    run: async (world) => {
      const path = world.agentFolder(0);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', path]);
      world.atEnd.push(() => execFileSync('umount', ['-l', path]));
      await world.startAgent(0);
      const started = Date.now();
      await sleep(25_000);
      spoil(path);
      await sleep(60_000);
      repair(path);
      await sleep(60_000);
      return { missed: (due) => due < started + 12_000 };
    },
  };
}

/** The folder is made immutable (chattr +i) and then repaired. */
const immutable: Scenario = {
  name: 'disk-immutable',
  about: "the agent's data folder is immutable for 60 s, and then repaired",
  missing: needsRoot('an immutable folder'),
  world: { agents: 1 },
  run: async (world) => {
    await sleep(15_000);
    const path = world.agentFolder(0);
    const change = (how: string) => execFileSync('chattr', ['-R', '-f', how, path], { stdio: 'pipe' });
    try {
      change('+i');
    } catch {
      // Sockets cannot be immutable; the rest is.
    }
    await sleep(60_000);
    try {
      change('-i');
    } catch {
      // As above.
    }
    await sleep(45_000);
    return {};
  },
};

/** Bits flip in what waits in the outbox while the service cannot be reached. */
const damagedOutbox: Scenario = {
  name: 'outbox-damage',
  about:
    'the agent is killed with results in its outbox, and 20 bytes of the outbox are changed before it starts again; three times',
  world: { agents: 1 },
  run: async (world) => {
    const from = Date.now();
    let changed = 0;
    for (let round = 0; round < 3; round++) {
      await sleep(10_000);
      world.front.setFault((request) => (request.url === '/agent/v1/results' ? { status: 503 } : null));
      await sleep(12_000);
      await world.killAgent(0);
      world.front.setFault(() => null);
      changed += damage(world, 20);
      await world.startAgent(0);
      await sleep(45_000);
    }
    const to = Date.now();
    return {
      // What was lost is run again when its lease has ended, unless its time is over by then.
      missed: (due) => due > from && due < to,
      errored: { when: () => true, codes: ['LEASE_EXPIRED'] },
      // The changed bytes cost results whose runs took place.
      unreported: true,
      notes: [`${changed} bytes changed`],
    };
  },
};

function damage(world: World, count: number): number {
  const folder = world.agentFolder(0);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /outbox/.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => statSync(file).size > 0);
  if (files.length === 0) return 0;
  let changed = 0;
  for (let round = 0; round < count; round++) {
    const file = world.random.pick(files);
    const at = world.random.whole(0, statSync(file).size - 1);
    const handle = openSync(file, 'r+');
    const byte = Buffer.alloc(1);
    readSync(handle, byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ (1 << world.random.whole(0, 7));
    writeSync(handle, byte, 0, 1, at);
    closeSync(handle);
    changed += 1;
  }
  return changed;
}

export const hostScenarios: readonly Scenario[] = [
  starved,
  throttled,
  diskTrouble('disk-full', "the disk of the agent's data is full for 60 s", fillFolder, (path) =>
    rmSync(join(path, 'filler'), { force: true }),
  ),
  diskTrouble(
    'disk-read-only',
    "the agent's data folder is mounted read-only for 60 s",
    // A second mount on top: the kernel refuses to change the first one while the agent has files open for writing.
    (path) => {
      execFileSync('mount', ['--bind', path, path]);
      execFileSync('mount', ['-o', 'remount,bind,ro', path]);
    },
    (path) => void execFileSync('umount', ['-l', path]),
  ),
  immutable,
  damagedOutbox,
];

/** What the agent reported of itself; for notes. */
export const logOf = (world: World, index: number): string =>
  readFileSync(join(world.folder, `agent-${index}.log`), 'utf8');
