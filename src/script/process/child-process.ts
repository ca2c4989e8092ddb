import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { AgentError, toError } from '../../errors.ts';
import { isNestedDeeper } from '../../json-values.ts';
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
import { refusalText } from './script-network.ts';
import { listenToSupervisor, type Supervisor } from './supervisor.ts';

const maxMessageLength = 4 * 1024 * 1024;
/** Levels of a message. Ours have fewer than 20, but a script may log or throw a nested value of its own. */
const maxMessageDepth = 500;
const maxLineLength = 8 * 1024;
const maxUnread = 32 * 1024 * 1024;
/** A supervisor that has not killed everything by then is killed itself; the kernel then kills the rest. */
const killPatienceMs = 5000;
/**
 * Pipes that are still open this long after the end are held by a process that nobody can kill any more, so they are
 * closed here.
 */
const closePatienceMs = 2000;
/** Channel limit in addition to twice the output limit; output also arrives on the channel, as JSON. */
const channelRoom = 32 * 1024 * 1024;
/** Bytes that a message counts in addition to its own, because handling even an empty message takes time. */
const messageCost = 64;
const megabyte = 1024 * 1024;

/**
 * Starts a child that exchanges JSON lines over its file descriptor 3, confined as far as this host allows
 * (docs/isolation.md). Call it on the main thread: the child dies with the thread that started it. Rejects with
 * AgentError SANDBOX_UNAVAILABLE or INTERNAL if it cannot be started. `layers` = other layers than all that work here.
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

/** Same as startChild, for any program; it has no channel. */
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
      : // The launcher must not get the program's environment, which is sent over the fifth pipe.
        started([launcher, ...launcherArguments(options, host), '--', ...command], {
          cwd,
          env: {},
          stdio: ['ignore', 'pipe', 'pipe', pipe, 'pipe'],
        }));
  } catch (error: unknown) {
    const message = `a script's process cannot be started: ${toError(error).message}`;
    throw new AgentError('SANDBOX_UNAVAILABLE', message, { cause: error });
  }
  const tell = options.onRefused ?? ((text: string) => options.onLine(text, 'stderr'));
  const onRefused = (target: string, port: number) => tell(refusalText(target, port));
  const line = spawned.stdio[4] as Duplex; // the fifth pipe
  const supervisor = launcher === null ? null : listenToSupervisor(line, env, onRefused);
  const child = childOf(spawned, { supervisor, options, channel });
  const failure = await supervisor?.started;
  if (failure !== undefined && failure !== null) {
    await child.kill();
    const why = `${failure.step}: ${errnoName(failure.errno)}`;
    throw new AgentError('SANDBOX_UNAVAILABLE', `a script's process cannot be started (${why})`);
  }
  return child;
}

function nodeFlags(options: ChildOptions, version: string | null): string[] {
  const given = options.nodeFlags ?? [];
  // Above this limit the whole child is killed; the heap's lower limit gives the script an error first.
  const heap = Math.max(16, Math.floor((options.limits.memoryBytes / megabyte) * 0.75));
  const ownHeap = given.some((flag) => flag.startsWith('--max-old-space-size'));
  return [
    ...(ownHeap ? [] : [`--max-old-space-size=${heap}`]),
    ...(version === null ? [] : permissionFlags(version, options)),
    ...given,
  ];
}

/** Removes variables that would bypass the permission model. */
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
    spawned.on('error', reject); // stays for later errors of kill()
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
      // By now the supervisor has killed all other processes, unless it was killed itself.
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
      // The supervisor's own timer fires first.
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
    const lines = readLines(maxLineLength, (line) => options.onLine(line, stream));
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

/**
 * Passes on messages that are valid JSON and short enough; a child that violates the protocol of its own channel is
 * ignored from then on.
 */
function readMessages(
  channel: Duplex,
  options: { take: (message: unknown) => void; onGarbage: () => void; most: number; onFlood: () => void },
): void {
  const { take, onGarbage, most, onFlood } = options;
  let bytes = 0;
  const lines = readLines(maxMessageLength, (line, cut) => {
    bytes += messageCost;
    if (bytes > most) return;
    if (cut || isNestedDeeper(line, maxMessageDepth)) return onGarbage();
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
    // The process group is already empty.
  }
}
