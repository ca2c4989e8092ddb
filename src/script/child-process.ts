import { spawn } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { toError } from '../errors.ts';

/** Bounds of one child and all that it starts. */
export type ChildLimits = {
  /** Resident memory of the whole group. */
  memoryBytes: number;
  /** Processor time of the whole group, in seconds. */
  cpuSeconds: number;
  /** Bytes on standard output and standard error together. */
  outputBytes: number;
  /** Bytes below the writable folders. */
  diskBytes: number;
  /** Processes and threads. */
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
  /** The whole environment. */
  env: { readonly [name: string]: string };
  /** What it may read besides the system, Node and `file`'s own folder; and what it may write. */
  readable: readonly string[];
  writable: readonly string[];
  /** False puts Node's permission model on top: no children, no threads, no addons. */
  mayStartPrograms: boolean;
  limits: ChildLimits;
  /** A line of its standard output or error, at most 8 KiB of it. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** A message of the child: JSON that nobody has checked yet, at most 4 MiB. */
  onMessage: (message: unknown) => void;
};

export type ChildEnd = {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Which bound it broke, if one. */
  exceeded: keyof ChildLimits | null;
};

/** A child process of customer code, in a process group of its own. */
export type Child = {
  readonly pid: number;
  /** Sends one message as JSON. */
  send: (message: unknown) => void;
  /** Settles when the child and its whole group are gone. */
  readonly ended: Promise<ChildEnd>;
  /** Kills the whole group; resolves with `ended`. */
  kill: () => Promise<ChildEnd>;
};

const longestMessage = 4 * 1024 * 1024;
const longestLine = 8 * 1024;

/**
 * Starts a child that speaks JSON lines over its file descriptor 3. Rejects with AgentError SANDBOX_UNAVAILABLE or
 * INTERNAL when it can't be started.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const child = spawn(options.node, [...(options.nodeFlags ?? []), options.file, ...(options.args ?? [])], {
    cwd: options.cwd,
    env: { ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const channel = child.stdio[3] as Duplex; // the fourth of four pipes
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(toError(error)));
  });
  const pid = child.pid ?? 0;
  const killGroup = () => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // Nobody is left in it.
    }
  };
  readLines(channel, longestMessage, (line) => {
    try {
      options.onMessage(JSON.parse(line));
    } catch {
      // A child that breaks the rules of its own channel is not listened to.
    }
  });
  readLines(child.stdout as Readable, longestLine, (line) => options.onLine(line, 'stdout'));
  readLines(child.stderr as Readable, longestLine, (line) => options.onLine(line, 'stderr'));
  channel.on('error', () => undefined);
  const ended = new Promise<ChildEnd>((resolve) => {
    child.once('exit', killGroup);
    child.once('close', (code, signal) => resolve({ code, signal, exceeded: null }));
  });
  return {
    pid,
    send: (message) => void channel.write(`${JSON.stringify(message)}\n`),
    ended,
    kill: () => {
      killGroup();
      return ended;
    },
  };
}

/** Calls `take` with each line; of a longer one only the beginning. */
function readLines(stream: Readable, longest: number, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = (lines.pop() ?? '').slice(0, longest);
    for (const line of lines) take(line.slice(0, longest));
  });
  stream.on('end', () => {
    if (rest !== '') take(rest);
  });
}
