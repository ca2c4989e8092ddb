import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';

/** The compiled program in processes of its own, which faults befall. */

export type Running = {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Everything that it wrote to standard error, at most the last megabyte. */
  readonly stderr: () => string;
  /** Resolves with the first line of standard output; rejects when it ends before. */
  readonly firstLine: Promise<string>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly isRunning: () => boolean;
  readonly kill: (signal: NodeJS.Signals) => void;
};

const alive = new Set<ChildProcess>();
const keptBytes = 1024 * 1024;

export type StartOptions = {
  main: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Words before the program, for example `ip netns exec NAME`. */
  before?: readonly string[];
  logFile?: string;
};

export function start({ main, args, env, before = [], logFile }: StartOptions): Running {
  const [command = process.execPath, ...words] = [...before, process.execPath, main, ...args];
  const child = spawn(command, words, {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  alive.add(child);
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-keptBytes);
    if (logFile !== undefined) appendFileSync(logFile, text);
  });
  let hasEnded = false;
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('close', (code, signal) => {
      hasEnded = true;
      alive.delete(child);
      resolve({ code, signal });
    }),
  );
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout = (stdout + text).slice(0, 65_536);
      const end = stdout.indexOf('\n');
      if (end >= 0) resolve(stdout.slice(0, end));
    });
    void ended.then(() =>
      reject(new Error(`${args[0]} ended before it was ready:\n${stderr.slice(-3_000)}`)),
    );
  });
  firstLine.catch(() => undefined); // not everybody waits for it
  child.once('error', () => undefined);
  return {
    pid: child.pid ?? 0,
    child,
    stderr: () => stderr,
    firstLine,
    ended,
    isRunning: () => !hasEnded,
    kill: (signal) => void child.kill(signal),
  };
}

/** Ends whatever still runs. */
export function killEverything(): void {
  for (const child of alive) child.kill('SIGKILL');
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** Waits until `look` returns something true. Throws after `timeoutMs`. */
export async function until<T>(
  look: () => T | Promise<T>,
  what: string,
  timeoutMs = 30_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(100);
  }
}
