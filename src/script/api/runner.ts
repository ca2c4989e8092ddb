import { phaseTimeoutMs } from '../../protocol/check-types.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { PhaseScript } from '../../protocol/script.ts';
import type { ApiChild } from './child.ts';
import { endedOf, failureOf } from './failure.ts';
import type { ApiChildPool } from './pool.ts';
import { readReply } from './reply.ts';
import { beforeItsTurn } from '../process/child-slots.ts';
import {
  logLines,
  secretBytes,
  secretCount,
  type FromChild,
  type OpenMessage,
  type Phase,
  type RunMessage,
} from '../child/api/messages.ts';
import type { Runtime } from '../process/runtimes.ts';
import type { ApiScriptOptions } from '../interface/scripts.ts';
import { shortened } from '../../shortened.ts';

/** The reply of a script that succeeded. */
export type Done = Extract<FromChild, { kind: 'done' }>;

/** The request, response and globals of one script. */
export type ScriptInput = Omit<RunMessage, 'kind' | 'id' | 'phase' | 'content'>;

/** Runs the scripts of one check run, one at a time, in a process that is started on demand. */
export type ScriptRunner = {
  /** Resolves with the script's reply, or with the reason why it failed. Rejects with AgentError or `signal.reason`. */
  run: (phase: Phase, script: PhaseScript, input: ScriptInput) => Promise<Done | Reason>;
  /** Kills the process, if there is one. The next script gets a new one. */
  kill: () => Promise<void>;
};

/** The script that is running. */
type Running = {
  id: number;
  /** The script as the subject of a sentence. */
  name: string;
  settle: (end: Done | Reason) => void;
};

/** Messages that a child may send in addition to its log lines and secrets: a few, for replies that arrive too late. */
const otherMessages = 20;
/** Number of raw lines of standard output and error that are kept. */
const rawLines = 100;

/** `files`: the files of the scripts by path. `env` contains the variables; each script that succeeds changes them. */
export function createScriptRunner(parts: {
  runtime: Runtime;
  options: Pick<ApiScriptOptions, 'signal' | 'log' | 'addSecret' | 'withhold'>;
  pool: ApiChildPool;
  env: { [name: string]: string };
  files: ReadonlyMap<string, string>;
}): ScriptRunner {
  const { runtime, options, pool, env, files } = parts;
  const { signal } = options;
  let child: ApiChild | null = null;
  let running: Running | null = null;
  let phase: Phase = 'setup';
  let lastId = 0;
  let messages = 0;
  const output = createRawOutput((level, line) => options.log(level, `${phase}: ${line}`));
  /** The child is being killed; it takes no further script. */
  let isEnding = false;

  const endChild = () => {
    isEnding = true;
    void child?.kill();
  };

  /**
   * Kills a child that sends malformed or too many messages: our own code never does, and its later messages do not
   * count.
   */
  const endForBadMessage = () => {
    running?.settle(
      reasonOf(
        'SCRIPT_KILLED',
        `${running.name} was killed: it wrote to the channel between the agent and its process`,
      ),
    );
    endChild();
  };

  /** Kills a child that has a secret which the agent does not know, and so cannot mask. */
  const endForLostSecret = (why: string) => {
    options.withhold(why);
    running?.settle(reasonOf('SCRIPT_KILLED', `${running.name} was killed: ${why}`));
    endChild();
  };

  const onMessage = (message: unknown) => {
    messages += 1;
    const reply = messages > logLines + secretCount + otherMessages ? null : readReply(message);
    if (reply === null) return endForBadMessage();
    switch (reply.kind) {
      case 'log':
        return options.log(reply.level, `${phase}: ${reply.msg}`);
      case 'secret':
        return options.addSecret(reply.name, reply.value);
      case 'lost-secret':
        return endForLostSecret(
          reply.limit === 'count'
            ? `a script registered more than ${secretCount} secrets`
            : `a script registered a secret of more than ${secretBytes / 1024} KiB`,
        );
      case 'done':
        if (reply.id === running?.id) running.settle(reply);
        return;
      case 'failed':
        if (reply.id === running?.id) running.settle(failureOf(reply, running.name));
        return;
      case 'ready':
        return;
    }
  };

  /** The child of this run: the current one, or a new one if that has exited. */
  const openChild = async (): Promise<ApiChild> => {
    if (child !== null && !child.hasEnded()) return child;
    const next = pool.take(runtime);
    child = next;
    messages = 0;
    output.startProcess();
    isEnding = false;
    next.attend({ onLine: output.onLine, onMessage });
    await readyOrAborted(next, signal);
    const open: OpenMessage = {
      kind: 'open',
      runtime: runtime.name,
      env,
      files: [...files].map(([path, content]) => ({ path, content })),
    };
    next.send(open);
    return next;
  };

  /** Waits for the script's end, its time limit, the exit of the child or the signal. */
  const endOf = (current: ApiChild, name: string, content: string, input: ScriptInput) => {
    const id = ++lastId;
    return new Promise<Done | Reason | 'aborted'>((resolve) => {
      const timer = setTimeout(() => {
        settle(reasonOf('SCRIPT_TIMEOUT', `${name} did not finish within ${phaseTimeoutMs / 1000} s`));
        endChild();
      }, phaseTimeoutMs);
      const onAbort = () => settle('aborted');
      const settle = (end: Done | Reason | 'aborted') => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        running = null;
        resolve(end);
      };
      running = { id, name, settle };
      signal.addEventListener('abort', onAbort, { once: true });
      void current.ended.then((end) => {
        if (running?.id === id) settle(endedOf(end, name, output.heapExhausted()));
      });
      current.send({ kind: 'run', id, phase, content, ...input });
    });
  };

  return {
    run: async (givenPhase, script, input) => {
      phase = givenPhase;
      signal.throwIfAborted();
      const current = await openChild();
      signal.throwIfAborted();
      const end = await endOf(current, `the ${script.origin}'s ${phase} script`, script.content, input);
      if (isEnding) await current.ended;
      if (end === 'aborted') {
        await current.kill();
        throw signal.reason;
      }
      if ('kind' in end) {
        for (const name of end.env.unset) delete env[name];
        Object.assign(env, end.env.set);
      }
      return end;
    },
    kill: async () => {
      await child?.kill();
    },
  };
}

/** Logs what scripts print past the channel, up to a limit for all processes of the run. */
function createRawOutput(log: (level: 'info' | 'warn', line: string) => void) {
  let lines = 0;
  let heapExhausted = false;
  return {
    onLine: (line: string, stream: 'stdout' | 'stderr'): void => {
      if (line.includes('heap out of memory')) heapExhausted = true;
      lines += 1;
      if (lines === rawLines) log('warn', 'further output of the scripts is dropped');
      if (lines < rawLines) log(stream === 'stdout' ? 'info' : 'warn', shortened(line, 4096));
    },
    /** Whether the engine of the current process has reported that its heap is full. */
    heapExhausted: (): boolean => heapExhausted,
    startProcess: (): void => {
      heapExhausted = false;
    },
  };
}

/** Rejects if the process does not start, or with the signal's reason. */
async function readyOrAborted({ ready }: ApiChild, signal: AbortSignal): Promise<void> {
  let leave: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(beforeItsTurn(signal.reason));
    signal.addEventListener('abort', leave, { once: true });
  });
  try {
    await Promise.race([ready, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
