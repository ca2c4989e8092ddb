import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pause } from '../../agent/link/backoff.ts';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError } from '../../errors.ts';
import { lineSplitter } from '../readable-log.ts';

/** The agent of `dev`: a process of its own, so that neither disturbs the other's event loop. */
export type AgentProcess = {
  healthUrl: string;
  /** SIGTERM: it drains. Calling again insists. Resolves with its exit code once it is gone. */
  stop: () => Promise<number>;
  /** Resolves with why an agent ended of its own accord. One that was killed is started again. */
  ended: Promise<FatalError>;
};

/** How main.ts begins the one line of an error. */
const ownPrefix = 'location-agent: ';

const readyWithinMs = 30_000;
const restartAfterMs = 1000;

/** Starts `location-agent start` with `env` and resolves when it is ready. Throws FatalError when it does not get there. */
export async function startAgentProcess(options: {
  env: Environment;
  /** Each line that it writes. */
  onLine: (line: string) => void;
  /** Ends the wait for its readiness, and the agent with it. */
  signal: AbortSignal;
}): Promise<AgentProcess> {
  let stopping = false;
  let child: ChildProcess;
  let exited: Promise<number>;
  let healthUrl: string | null = null;
  let why: string | null = null;
  let resolveEnded: (code: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => (resolveEnded = resolve));

  const launch = (env: Environment): void => {
    const own = spawn(process.execPath, [fileURLToPath(new URL('../../main.js', import.meta.url)), 'start'], {
      env: { ...env },
      // The channel tells the child when we are gone; see main.ts. A group of its own keeps Ctrl-C from reaching it before us.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    child = own;
    const onLine = lineSplitter((line) => {
      healthUrl ??= healthUrlIn(line);
      // Its last words; whoever started us gets them as ours.
      if (line.startsWith(ownPrefix)) why = line.slice(ownPrefix.length);
      else options.onLine(line);
    });
    for (const stream of [own.stdout, own.stderr]) stream?.setEncoding('utf8').on('data', onLine);
    exited = new Promise((resolve) => {
      own.once('error', () => resolve(exitCodes.couldNotRun));
      own.once('close', (code, signal) => {
        resolve(code ?? exitCodes.couldNotRun);
        if (stopping) return;
        if (signal === null) return resolveEnded(code ?? exitCodes.couldNotRun);
        options.onLine(`the agent was ended by ${signal} and is started again`);
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

function agentEnded(exitCode: number, why: string | null): FatalError {
  return new FatalError('CONFIGURATION', why ?? `the agent ended with code ${exitCode}`, { exitCode });
}

/** The agent logs where its health pages are. */
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
