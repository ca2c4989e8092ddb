import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** The compiled program in its own processes, as a user starts it. */

export type Program = {
  pid: number;
  stdout: () => string;
  stderr: () => string;
  /** Exit code; null when a signal ended it. */
  exited: Promise<number | null>;
  kill: (signal: NodeJS.Signals) => void;
};

export type ReadyLine = {
  ready: true;
  serviceUrl: string;
  accountId: string;
  apiKey: string | null;
  locationKey: string | null;
  agentHealthUrl: string | null;
  webUrl: string;
  /** Of `dev`. */
  signInUrl?: string | null;
  keysFile?: string;
};

const running = new Set<ChildProcess>();

/** An embedded database that lives for seconds: to optimise its WebAssembly would take more time than it saves. */
const nodeFlags = (command?: string): string[] =>
  command === 'dev' || command === 'service' ? ['--liftoff-only'] : [];

/** Starts `location-agent` with these arguments, and no variable but PATH, HOME and `env`. */
export function startProgram(main: string, args: readonly string[], env: Record<string, string>): Program {
  const child = spawn(process.execPath, [...nodeFlags(args[0]), main, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const exited = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    kill: (signal) => void child.kill(signal),
  };
}

/** Kills what a failed test has left running. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** The line that reports that all parts answer. Throws with the program's output if it exits before. */
export async function readyLine(program: Program, timeoutMs = 60_000): Promise<ReadyLine> {
  let ended = false;
  void program.exited.then(() => (ended = true));
  await until(
    () => program.stdout().includes('\n') || ended,
    `ready line; it says\n${program.stderr()}`,
    timeoutMs,
  );
  const [line = ''] = program.stdout().split('\n');
  if (line === '') throw new Error(`it ended before it was ready:\n${program.stderr()}`);
  return JSON.parse(line) as ReadyLine;
}

/** Waits until `look` returns something other than null, undefined or false, and returns it. */
export async function until<T>(
  look: () => T | Promise<T>,
  what: string,
  timeoutMs = 20_000,
): Promise<Exclude<T, null | undefined | false>> {
  const end = performance.now() + timeoutMs;
  // Often at first, then less often, so that polling does not slow down long waits.
  for (let waitMs = 50; ; waitMs = Math.min(waitMs * 1.2, 400)) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) {
      return found as Exclude<T, null | undefined | false>;
    }
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

/** Runs `work` at the first call. That call and later ones get the same promise. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= work());
}

/** Processes whose environment names `marker`, for example a temporary directory of the test. */
export function processesWith(marker: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!hasVariable(pid, marker)) return [];
        return [
          {
            pid: Number(pid),
            command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim(),
          },
        ];
      } catch {
        return []; // gone meanwhile, or somebody else's
      }
    });
}

/** As `processesWith`, without agents and services: what they have started. */
export const startedWith = (marker: string): { pid: number; command: string }[] =>
  processesWith(marker).filter(({ command }) => !/main\.js (start|service)$/.test(command));

/**
 * Agents let nobody read their environment; root may where it has the right to trace. Elsewhere those count that this test
 * has started.
 */
function hasVariable(pid: string, marker: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(marker);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // the file system's
    return (code === 'EACCES' || code === 'EPERM') && isDescendant(pid);
  }
}

function isDescendant(pid: string): boolean {
  for (let at = pid; Number(at) > 1;) {
    if (Number(at) === process.pid) return true;
    const stat = readFileSync(`/proc/${at}/stat`, 'utf8');
    at = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? '';
  }
  return false;
}

export type Api = <T>(method: string, path: string, body?: unknown) => Promise<{ status: number; body: T }>;

/** Calls of the public API. */
export function apiOf(serviceUrl: string, apiKey: string): Api {
  return async <T>(method: string, path: string, body?: unknown) => {
    const response = await fetch(serviceUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  };
}
