import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { AgentError, toError } from '../errors.ts';
import { readLines } from './bounded-lines.ts';
import { confinement, errnoName } from './confinement.ts';
import { nodeVersionOf, permissionFlags } from './permission-model.ts';
import { launcherArguments, withRealPaths } from './reach.ts';
import { listenToSupervisor, type Supervisor } from './supervisor.ts';

/** Bounds of one child and all that it starts. */
export type ChildLimits = {
  /** Memory of all its processes; pages that they share count once. */
  memoryBytes: number;
  /** Processor time of all its processes, in seconds. */
  cpuSeconds: number;
  /** Bytes on standard output and standard error together. The channel takes twice as many and 32 MiB. */
  outputBytes: number;
  /** Bytes below the writable folders, what was there before included. */
  diskBytes: number;
  /** Processes and threads. Node needs 11 of them, a browser more than 100. */
  processes: number;
};

export type ChildOptions = {
  /** The runtime's Node binary. */
  node: string;
  /** Flags of Node itself, before the file. */
  nodeFlags?: readonly string[];
  /** A compiled file of src/script/child. */
  file: string;
  args?: readonly string[];
  cwd: string;
  /** The whole environment. TMPDIR and HOME must name writable folders, if it uses any. */
  env: { readonly [name: string]: string };
  /** What it may read besides the system, Node and `file`'s own folder; and what it may write (and read). */
  readable: readonly string[];
  writable: readonly string[];
  /** False puts Node's permission model on top: no children, no threads, no addons. */
  mayStartPrograms: boolean;
  limits: ChildLimits;
  /** A line of its standard output or error, at most 8 KiB of it. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** A message of the child: JSON that nobody has checked yet, at most 4 MiB. */
  onMessage: (message: unknown) => void;
  /** Something on the channel that is no message: no JSON, or too long. Only customer code can have written it. */
  onGarbage?: () => void;
};

export type ChildEnd = {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Which bound it broke, if one. */
  exceeded: keyof ChildLimits | null;
};

/** A child process of customer code, and the supervisor that starts it, watches it and ends with it. */
export type Child = {
  /** Of the supervisor: the parent of all that belongs to the child. */
  readonly pid: number;
  /** Sends one message as JSON. A child that reads nothing is killed when 32 MiB wait for it. */
  send: (message: unknown) => void;
  /** Settles when the child and all that it has started are gone. */
  readonly ended: Promise<ChildEnd>;
  /** Kills all of it; resolves with `ended`. */
  kill: () => Promise<ChildEnd>;
};

const longestMessage = 4 * 1024 * 1024;
const longestLine = 8 * 1024;
const mostUnread = 32 * 1024 * 1024;
/** A supervisor that has not ended everything by then is killed itself; the kernel then ends the rest. */
const killPatienceMs = 5000;
/** Pipes that stay open so long after the end are held by a process that nobody can end any more: they are closed here. */
const closePatienceMs = 2000;
/** What may come over the channel besides as much again as may be printed, which comes there too, as JSON. */
const channelRoom = 32 * 1024 * 1024;
/** Bytes for which a message counts besides its own: taking one costs time, an empty one too. */
const messageCost = 64;
const megabyte = 1024 * 1024;

/**
 * Starts a child that speaks JSON lines over its file descriptor 3, confined as far as this host allows (docs/isolation.md).
 * To be called on the main thread: the child dies with the thread that started it. Rejects with AgentError
 * SANDBOX_UNAVAILABLE or INTERNAL when it can't be started. `layers` = other than all that hold here.
 */
export async function startChild(given: ChildOptions, layers = confinement()): Promise<Child> {
  const options = {
    ...given,
    readable: withRealPaths(given.readable),
    writable: withRealPaths(given.writable),
  };
  const [host, version] = await Promise.all([
    layers,
    options.mayStartPrograms ? null : nodeVersionOf(options.node),
  ]);
  const env = environmentOf(options);
  const { launcher } = host;
  let spawned: ChildProcess;
  try {
    const command = [options.node, ...nodeFlags(options, version), options.file, ...(options.args ?? [])];
    spawned = await (launcher === null
      ? spawnPlainly(command, options.cwd, env)
      : spawnLaunched([launcher, ...launcherArguments(options, host), '--', ...command], options.cwd));
  } catch (error: unknown) {
    const message = `a script's process can't be started: ${toError(error).message}`;
    throw new AgentError('SANDBOX_UNAVAILABLE', message, { cause: error });
  }
  const supervisor = launcher === null ? null : listenToSupervisor(spawned.stdio[4] as Duplex, env); // the fifth pipe
  const child = childOf(spawned, supervisor, options);
  const failure = await supervisor?.started;
  if (failure !== undefined && failure !== null) {
    await child.kill();
    const why = `${failure.step}: ${errnoName(failure.errno)}`;
    throw new AgentError('SANDBOX_UNAVAILABLE', `a script's process can't be started (${why})`);
  }
  return child;
}

function nodeFlags(options: ChildOptions, version: string | null): string[] {
  const given = options.nodeFlags ?? [];
  // Above it the whole child is killed; the heap's own bound gives the script an error first.
  const heap = Math.max(16, Math.floor((options.limits.memoryBytes / megabyte) * 0.75));
  const ownHeap = given.some((flag) => flag.startsWith('--max-old-space-size'));
  return [
    ...(ownHeap ? [] : [`--max-old-space-size=${heap}`]),
    ...(version === null ? [] : permissionFlags(version, options)),
    ...given,
  ];
}

/** Without variables that would reach around the permission model. */
function environmentOf(options: ChildOptions): { [name: string]: string } {
  const entries = Object.entries(options.env).filter(([, value]) => !value.includes('\0'));
  if (options.mayStartPrograms) return Object.fromEntries(entries);
  return Object.fromEntries(entries.filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('LD_')));
}

/** Its environment is not the launcher's own: that goes over the fifth pipe. */
function spawnLaunched(command: readonly string[], cwd: string): Promise<ChildProcess> {
  const stdio = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] as const;
  return running(
    spawn(command[0] ?? '', command.slice(1), { cwd, env: {}, detached: true, stdio: [...stdio] }),
  );
}

function spawnPlainly(
  command: readonly string[],
  cwd: string,
  env: { [name: string]: string },
): Promise<ChildProcess> {
  const stdio = ['ignore', 'pipe', 'pipe', 'pipe'] as const;
  return running(spawn(command[0] ?? '', command.slice(1), { cwd, env, detached: true, stdio: [...stdio] }));
}

function running(spawned: ChildProcess): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    spawned.once('spawn', () => resolve(spawned));
    spawned.on('error', reject); // stays: a later one, of a kill, is nobody's
  });
}

function childOf(spawned: ChildProcess, supervisor: Supervisor | null, options: ChildOptions): Child {
  const pid = spawned.pid ?? 0;
  const channel = spawned.stdio[3] as Duplex; // the fourth pipe
  let brokenBound: keyof ChildLimits | null = null;
  let patience: NodeJS.Timeout | undefined;
  let closing: NodeJS.Timeout | undefined;

  const ended = new Promise<ChildEnd>((resolve) => {
    spawned.once('exit', () => {
      if (supervisor === null) killGroup(pid);
      // A supervisor has ended all others by now, unless it was killed.
      closing = setTimeout(() => {
        for (const pipe of spawned.stdio) pipe?.destroy();
      }, closePatienceMs);
    });
    spawned.once('close', (code, signal) => {
      clearTimeout(patience);
      clearTimeout(closing);
      const told = supervisor?.end() ?? { code, signal };
      resolve({ ...told, exceeded: brokenBound ?? supervisor?.exceeded() ?? null });
    });
  });
  const kill = (): Promise<ChildEnd> => {
    if (supervisor === null) {
      killGroup(pid);
    } else if (patience === undefined) {
      spawned.kill('SIGTERM');
      patience = setTimeout(() => spawned.kill('SIGKILL'), killPatienceMs);
    }
    return ended;
  };

  readMessages(channel, {
    take: options.onMessage,
    onGarbage: options.onGarbage ?? (() => undefined),
    most: channelRoom + 2 * options.limits.outputBytes,
    onFlood: () => {
      brokenBound ??= 'outputBytes';
      void kill();
    },
  });
  let outputBytes = 0;
  for (const stream of ['stdout', 'stderr'] as const) {
    const lines = readLines(longestLine, (line) => options.onLine(line, stream));
    const pipe = spawned[stream] as Readable; // both are pipes
    pipe.on('error', () => undefined);
    pipe.on('data', (chunk: Buffer) => {
      if (brokenBound !== null) return;
      outputBytes += chunk.length;
      if (outputBytes <= options.limits.outputBytes) return lines.push(chunk);
      brokenBound = 'outputBytes';
      void kill();
    });
    pipe.on('end', () => lines.end());
  }
  return {
    pid,
    send: (message) => {
      if (!channel.writable) return;
      channel.write(`${JSON.stringify(message)}\n`);
      if (channel.writableLength > mostUnread) void kill();
    },
    ended,
    kill,
  };
}

/** Hands on what is JSON and short enough; a child that breaks the rules of its own channel is not listened to. */
function readMessages(
  channel: Duplex,
  options: { take: (message: unknown) => void; onGarbage: () => void; most: number; onFlood: () => void },
): void {
  const { take, onGarbage, most, onFlood } = options;
  let bytes = 0;
  const lines = readLines(longestMessage, (line, cut) => {
    bytes += messageCost;
    if (bytes > most) return;
    if (cut) return onGarbage();
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return onGarbage();
    }
    take(message);
  });
  channel.on('error', () => undefined);
  channel.on('data', (chunk: Buffer) => {
    if (bytes > most) return;
    bytes += chunk.length;
    lines.push(chunk);
    if (bytes > most) onFlood();
  });
  channel.on('end', () => lines.end());
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left in it.
  }
}
