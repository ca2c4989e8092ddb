import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { AgentError, toError } from '../../errors.ts';
import { readLines } from './bounded-lines.ts';
import { confinement, errnoName, type Confinement } from './confinement.ts';
import { nodeVersionOf, permissionFlags } from './permission-model.ts';
import type {
  ChildLimits,
  Reach,
  ProgramOptions,
  ChildChannel,
  ChildOptions,
  ChildEnd,
  Program,
  Child,
} from './program.ts';
import { launcherArguments, ownFiles, withRealPaths } from './reach.ts';
import { listenToSupervisor, type Supervisor } from './supervisor.ts';

const longestMessage = 4 * 1024 * 1024;
const longestLine = 8 * 1024;
const maxUnread = 32 * 1024 * 1024;
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
  const command = [options.node, ...nodeFlags(options, version), options.file, ...(options.args ?? [])];
  const readable = [...withRealPaths([options.node]), ...ownFiles(options.file), ...options.readable];
  return launched({ ...options, command, readable }, host, options);
}

/** As startChild, for any program; it has no channel. */
export async function startProgram(given: ProgramOptions, layers = confinement()): Promise<Program> {
  const { readable, writable } = given;
  const paths = { readable: withRealPaths(readable), writable: withRealPaths(writable) };
  return launched({ ...given, ...paths }, await layers, null);
}

async function launched(
  options: ProgramOptions,
  host: Confinement,
  channel: ChildChannel | null,
): Promise<Child> {
  const { command, cwd } = options;
  const env = environmentOf(options);
  const { launcher } = host;
  const pipe = channel === null ? 'ignore' : 'pipe';
  let spawned: ChildProcess;
  try {
    spawned = await (launcher === null
      ? started(command, { cwd, env, stdio: ['ignore', 'pipe', 'pipe', pipe] })
      : // The program's environment is not the launcher's own: that goes over the fifth pipe.
        started([launcher, ...launcherArguments(options, host), '--', ...command], {
          cwd,
          env: {},
          stdio: ['ignore', 'pipe', 'pipe', pipe, 'pipe'],
        }));
  } catch (error: unknown) {
    const message = `a script's process can't be started: ${toError(error).message}`;
    throw new AgentError('SANDBOX_UNAVAILABLE', message, { cause: error });
  }
  const supervisor = launcher === null ? null : listenToSupervisor(spawned.stdio[4] as Duplex, env); // the fifth pipe
  const child = childOf(spawned, { supervisor, options, channel });
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
function environmentOf(options: Reach): { [name: string]: string } {
  const entries = Object.entries(options.env).filter(([, value]) => !value.includes('\0'));
  if (options.mayStartPrograms) return Object.fromEntries(entries);
  return Object.fromEntries(entries.filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('LD_')));
}

function started(
  command: readonly string[],
  options: { cwd: string; env: { [name: string]: string }; stdio: ('ignore' | 'pipe')[] },
): Promise<ChildProcess> {
  const spawned = spawn(command[0] ?? '', command.slice(1), { ...options, detached: true });
  return new Promise((resolve, reject) => {
    spawned.once('spawn', () => resolve(spawned));
    spawned.on('error', reject); // stays: a later one, of a kill, is nobody's
  });
}

function childOf(
  spawned: ChildProcess,
  parts: { supervisor: Supervisor | null; options: ProgramOptions; channel: ChildChannel | null },
): Child {
  const { supervisor, options } = parts;
  const pid = spawned.pid ?? 0;
  const channel = parts.channel === null ? null : (spawned.stdio[3] as Duplex); // the fourth pipe
  let brokenBound: keyof ChildLimits | null = null;
  let patience: NodeJS.Timeout | undefined;
  let closing: NodeJS.Timeout | undefined;
  let ending: NodeJS.Timeout[] = [];

  const ended = new Promise<ChildEnd>((resolve) => {
    spawned.once('exit', () => {
      if (supervisor === null) signalGroup(pid, 'SIGKILL');
      ending.forEach(clearTimeout);
      // A supervisor has ended all others by now, unless it was killed.
      closing = setTimeout(() => {
        for (const pipe of spawned.stdio) pipe?.destroy();
      }, closePatienceMs);
    });
    spawned.once('close', (code, signal) => {
      clearTimeout(patience);
      clearTimeout(closing);
      const exit = supervisor?.end() ?? { code, signal };
      resolve({ ...exit, exceeded: brokenBound ?? supervisor?.exceeded() ?? null });
    });
  });
  const kill = (): Promise<ChildEnd> => {
    if (supervisor === null) {
      signalGroup(pid, 'SIGKILL');
    } else if (patience === undefined) {
      spawned.kill('SIGTERM');
      patience = setTimeout(() => spawned.kill('SIGKILL'), killPatienceMs);
    }
    return ended;
  };
  const end = (graceMs: number): Promise<ChildEnd> => {
    if (ending.length > 0 || spawned.exitCode !== null || spawned.signalCode !== null) return ended;
    if (supervisor === null) signalGroup(pid, 'SIGINT');
    else supervisor.askToEnd(graceMs);
    ending = [
      ...(supervisor === null ? [setTimeout(() => signalGroup(pid, 'SIGTERM'), (graceMs * 4) / 5)] : []),
      // The supervisor's own clock comes first.
      setTimeout(() => void kill(), graceMs + (supervisor === null ? 0 : 500)),
    ];
    return ended;
  };

  if (channel !== null && parts.channel !== null) {
    readMessages(channel, {
      take: parts.channel.onMessage,
      onGarbage: parts.channel.onGarbage ?? (() => undefined),
      most: channelRoom + 2 * options.limits.outputBytes,
      onFlood: () => {
        brokenBound ??= 'outputBytes';
        void kill();
      },
    });
  }
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
      if (channel === null || !channel.writable) return;
      channel.write(`${JSON.stringify(message)}\n`);
      if (channel.writableLength > maxUnread) void kill();
    },
    ended,
    kill,
    end,
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

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in it.
  }
}
