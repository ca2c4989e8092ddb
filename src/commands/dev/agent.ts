import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pause } from '../../agent/link/backoff.ts';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError } from '../../errors.ts';
import { parsedLine } from '../../log-line.ts';
import { lineSplitter } from '../line-splitter.ts';

/** The agent of `dev`: a separate process, so that agent and service do not block each other's event loop. */
export type AgentProcess = {
  healthUrl: string;
  /**
   * Sends SIGTERM, which drains. A second call cuts the drain short. Resolves with the exit code when the process is
   * gone.
   */
  stop: () => Promise<number>;
  /** Resolves with the reason if an agent exits by itself. An agent that was killed is restarted. */
  ended: Promise<FatalError>;
};

const readyWithinMs = 30_000;
const restartAfterMs = 1000;

/** Starts `location-agent start` with `env` and resolves when it is ready. Throws FatalError if it does not become ready. */
export async function startAgentProcess(options: {
  env: Environment;
  /** Called with each line of its output. */
  onLine: (line: string) => void;
  /** Cancels the wait for readiness and stops the agent. */
  signal: AbortSignal;
}): Promise<AgentProcess> {
  let stopping = false;
  let child: ChildProcess;
  let exited: Promise<number>;
  let healthUrl: string | null = null;
  let why: Fatal | null = null;
  let resolveEnded: (code: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => (resolveEnded = resolve));

  const launch = (env: Environment): void => {
    const own = spawn(process.execPath, [fileURLToPath(new URL('../../main.js', import.meta.url)), 'start'], {
      env: { ...env },
      // The IPC channel tells the child that its parent is gone; see main.ts. Its own process group keeps Ctrl-C from
      // reaching it before the parent.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    child = own;
    const onLine = lineSplitter((line) => {
      healthUrl ??= healthUrlIn(line);
      // Errors that the agent prints are passed to our caller.
      const fatal = fatalIn(line);
      if (fatal === null) options.onLine(line);
      else why = fatal;
    });
    for (const stream of [own.stdout, own.stderr]) stream?.setEncoding('utf8').on('data', onLine);
    exited = new Promise((resolve) => {
      own.once('error', () => resolve(exitCodes.couldNotRun));
      own.once('close', (code, signal) => {
        resolve(code ?? exitCodes.couldNotRun);
        if (stopping) return;
        if (signal === null) return resolveEnded(code ?? exitCodes.couldNotRun);
        options.onLine(`the agent was killed by ${signal}; restarting it`);
        setTimeout(() => {
          if (!stopping)
            launch(healthUrl === null ? env : { ...env, AGENT_HEALTH_PORT: new URL(healthUrl).port });
        }, restartAfterMs);
      });
    });
  };

  const stop = (): Promise<number> => {
    stopping = true;
    child.kill('SIGTERM');
    return exited;
  };

  launch(options.env);
  const until = performance.now() + readyWithinMs;
  let code: number | null = null;
  void ended.then((value) => (code = value));
  while (code === null && performance.now() < until && !options.signal.aborted) {
    if (healthUrl !== null && (await isReady(healthUrl))) {
      return { healthUrl, stop, ended: ended.then((exitCode) => agentEnded(exitCode, why)) };
    }
    await pause(25, options.signal);
  }
  if (code !== null) throw agentEnded(code, why);
  await stop();
  options.signal.throwIfAborted();
  throw new FatalError('CONFIGURATION', `the agent was not ready within ${readyWithinMs / 1000} s`, {
    exitCode: exitCodes.couldNotRun,
  });
}

type Fatal = { summary: string; remedy: string | null };

/** The line with which main.ts ends a command; a fault of the program itself is a line of the log and has `err`. */
function fatalIn(line: string): Fatal | null {
  if (!line.startsWith('{"level":"FATAL"')) return null;
  const { msg, remedy, err } = parsedLine(line) ?? {};
  if (typeof msg !== 'string' || err !== undefined) return null;
  return { summary: msg, remedy: typeof remedy === 'string' ? remedy : null };
}

function agentEnded(exitCode: number, why: Fatal | null): FatalError {
  const remedy = why?.remedy ?? null;
  return new FatalError('CONFIGURATION', why?.summary ?? `the agent exited with code ${exitCode}`, {
    exitCode,
    ...(remedy === null ? {} : { remedy }),
  });
}

/** The agent logs the address of its health pages. */
function healthUrlIn(line: string): string | null {
  return /"healthUrl":"(http:[^"]+)"/.exec(line)?.[1] ?? null;
}

async function isReady(healthUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${healthUrl}/-/readiness`, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
