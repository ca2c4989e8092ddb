import { phaseTimeoutMs } from '../../protocol/check-types.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { PhaseScript } from '../../protocol/script.ts';
import type { ApiChild } from './child.ts';
import { createApiChildPool, type ApiChildPool } from './pool.ts';
import { endedOf, failureOf } from './failure.ts';
import { readReply } from './reply.ts';
import {
  bytesBetween,
  logLines,
  secretCount,
  type FromChild,
  type OpenMessage,
  type Phase,
  type RunMessage,
} from '../child/api/messages.ts';
import { createSlotKeeper, type SlotKeeper } from './slots.ts';
import { beforeItsTurn, childSlots, type ReleaseSlot } from '../process/child-slots.ts';
import type { Runtime } from '../process/runtimes.ts';
import { checkedScriptFiles } from '../process/script-files.ts';
import type {
  ApiScriptOptions,
  ApiScriptSession,
  PhaseFailure,
  ScriptRequest,
  ScriptResponse,
} from '../interface/scripts.ts';

/** Setup and teardown scripts on this machine. */
export type ApiScriptHost = {
  /** As `Scripts.openApiScripts`, on a runtime that is there. */
  open: (runtime: Runtime, options: ApiScriptOptions) => Promise<ApiScriptSession>;
  close: () => Promise<void>;
};

export function createApiScriptHost(options: { extraCaFile?: string | null } = {}): ApiScriptHost {
  const pool = createApiChildPool(options.extraCaFile ?? null);
  const keeper = createSlotKeeper(childSlots);
  return {
    open: async (runtime, options) => {
      const release = await keeper.take(options.signal);
      return createSession({ runtime, options, pool, keeper, release });
    },
    close: () => pool.close(),
  };
}

type Done = Extract<FromChild, { kind: 'done' }>;

/** What the agent holds of one script that runs. */
type Running = {
  id: number;
  who: string;
  settle: (end: Done | Reason) => void;
};

/** Messages that a child may send besides its log lines and secrets: a few, for answers that came too late. */
const otherMessages = 20;
/** Raw lines on standard output and error that are kept. */
const rawLines = 100;

function createSession(parts: {
  runtime: Runtime;
  options: ApiScriptOptions;
  pool: ApiChildPool;
  keeper: SlotKeeper;
  release: ReleaseSlot;
}): ApiScriptSession {
  const { runtime, options, pool, keeper } = parts;
  const { scripts, signal } = options;
  // No prototype: a variable may have any name.
  const env = Object.assign(Object.create(null) as { [name: string]: string }, options.env);
  const files = filesOf(options);
  let child: ApiChild | null = null;
  /** Null while the slot is given up. */
  let release: ReleaseSlot | null = parts.release;
  let unpark: () => void = () => undefined;
  let left: Promise<void> = Promise.resolve();
  let closed: Promise<void> | null = null;
  let running: Running | null = null;
  let phase: Phase = 'setup';
  let lastId = 0;
  let messages = 0;
  let raw = 0;
  let heapExhausted = false;
  /** The child is being ended; it takes no further script. */
  let doomed = false;

  const doom = (child: ApiChild | null) => {
    doomed = true;
    void child?.kill();
  };

  /** The child writes what ours never does, or more than it ever would: nothing it says counts any more. */
  const distrust = () => {
    running?.settle(
      reasonOf(
        'SCRIPT_KILLED',
        `${running.who} was ended: it wrote to the channel between the agent and its process`,
      ),
    );
    doom(child);
  };

  const onMessage = (message: unknown) => {
    messages += 1;
    const reply = messages > logLines + secretCount + otherMessages ? null : readReply(message);
    if (reply === null) return distrust();
    switch (reply.kind) {
      case 'log':
        return options.log(reply.level, `${phase}: ${reply.msg}`);
      case 'secret':
        return options.addSecret(reply.name, reply.value);
      case 'done':
        if (reply.id === running?.id) running.settle(reply);
        return;
      case 'failed':
        if (reply.id === running?.id) running.settle(failureOf(reply, running.who));
        return;
      case 'ready':
        return;
    }
  };

  const onLine = (line: string, stream: 'stdout' | 'stderr') => {
    if (line.includes('heap out of memory')) heapExhausted = true;
    raw += 1;
    if (raw === rawLines) options.log('warn', `${phase}: the rest of what the scripts print is left out`);
    if (raw < rawLines)
      options.log(stream === 'stdout' ? 'info' : 'warn', `${phase}: ${line.slice(0, 4096)}`);
  };

  /** The run's child: the one that is there, or, after one was ended, another. */
  const openChild = async (): Promise<ApiChild> => {
    if (child !== null && !child.hasEnded()) return child;
    const next = pool.take(runtime);
    child = next;
    messages = 0;
    heapExhausted = false;
    doomed = false;
    next.attend({ onLine, onMessage });
    await readyOrAborted(next, signal);
    const open: OpenMessage = {
      kind: 'open',
      runtime: runtime.name,
      env,
      files: files instanceof Map ? [...files].map(([path, content]) => ({ path, content })) : [],
    };
    next.send(open);
    return next;
  };

  const runScript = async (
    script: PhaseScript,
    message: Omit<RunMessage, 'kind' | 'id' | 'phase' | 'content'>,
  ): Promise<Done | Reason> => {
    signal.throwIfAborted();
    const who = `the ${script.origin}'s ${phase} script`;
    const mine = await openChild();
    signal.throwIfAborted();
    const id = ++lastId;
    const end = await new Promise<Done | Reason | 'aborted'>((resolve) => {
      const timer = setTimeout(() => {
        settle(reasonOf('SCRIPT_TIMEOUT', `${who} did not end within ${phaseTimeoutMs / 1000} s`));
        doom(mine);
      }, phaseTimeoutMs);
      const onAbort = () => settle('aborted');
      const settle = (how: Done | Reason | 'aborted') => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        running = null;
        resolve(how);
      };
      running = { id, who, settle };
      signal.addEventListener('abort', onAbort, { once: true });
      void mine.ended.then((how) => {
        if (running?.id === id) settle(endedOf(how, who, heapExhausted));
      });
      mine.send({ kind: 'run', id, phase, content: script.content, ...message });
    });
    if (doomed) await mine.ended;
    if (end === 'aborted') {
      await mine.kill();
      throw signal.reason;
    }
    if ('kind' in end) {
      for (const name of end.env.unset) delete env[name];
      Object.assign(env, end.env.set);
    }
    return end;
  };

  /** Gives up process and slot. The process's variables are kept here; what else it had in memory is lost. */
  const leave = (): Promise<void> => {
    left = (async () => {
      await child?.kill();
      release?.();
      release = null;
    })();
    return left;
  };

  /** What globals besides request and response a script finds. */
  const globals = (requestUrl: string) => ({
    REGION: env['REGION'] ?? '',
    REQUEST_URL: requestUrl,
    GROUP_BASE_URL: env['GROUP_BASE_URL'] ?? '',
  });

  return {
    setup: async (given) => {
      phase = 'setup';
      let request = given;
      if (!(files instanceof Map))
        return { request, env: { ...env }, failure: { reason: files, origin: 'check' } };
      for (const script of scripts.setup) {
        const shown = { ...request, body: cut(request.body, 'request', phase, options) };
        const end = await runScript(script, { request: shown, globals: globals(request.url) });
        if (!('kind' in end))
          return { request, env: { ...env }, failure: { reason: end, origin: script.origin } };
        if (end.request !== null) request = { ...end.request, body: end.request.body ?? request.body };
      }
      if (scripts.teardown.length > 0) unpark = keeper.park(leave);
      return { request, env: { ...env }, failure: null };
    },
    teardown: async (request: ScriptRequest, given: ScriptResponse) => {
      phase = 'teardown';
      unpark();
      await left;
      release ??= await keeper.take(signal);
      let response = given;
      let failure: PhaseFailure = null;
      for (const script of scripts.teardown) {
        const end = await runScript(script, {
          request: { ...request, body: cut(request.body, 'request', phase, options) },
          response: { ...response, body: cut(response.body, 'response', phase, options) },
          globals: globals(request.url),
        });
        // A teardown that fails stops nothing; the first failure is the one that is told.
        if (!('kind' in end)) failure ??= { reason: end, origin: script.origin };
        else if (end.body !== null) response = { ...response, body: end.body };
      }
      return { response, env: { ...env }, failure };
    },
    close: () => {
      closed ??= (async () => {
        unpark();
        await left;
        await child?.kill();
        release?.();
      })();
      return closed;
    },
  };
}

/** Rejects when the process does not come up, or with what the signal says. */
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

/** Bytes of files and variables, which reach the process in one message. */
const openBytes = 8 * 1024 * 1024;

function filesOf({ scripts, env }: ApiScriptOptions): Map<string, string> | Reason {
  const texts = [
    ...scripts.files.flatMap(({ path, content }) => [path, content]),
    ...Object.entries(env).flat(),
  ];
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > openBytes) {
    const text = `files and variables have ${bytes} bytes together; setup and teardown scripts take at most ${openBytes}`;
    return reasonOf('SCRIPT_INVALID', text);
  }
  return checkedScriptFiles({ files: scripts.files, reserved: ['script.js'] });
}

/** A body as it passes to a script: at most 256 KB of it, with a line in the log that says so. */
function cut(body: string, whose: 'request' | 'response', phase: Phase, { log }: ApiScriptOptions): string {
  const bytes = Buffer.byteLength(body);
  if (bytes <= bytesBetween) return body;
  log('warn', `${phase}: the script sees the first ${bytesBetween} of ${bytes} bytes of ${whose}.body`);
  // Up to three bytes of a character that was cut in two are left out.
  return new TextDecoder().decode(Buffer.from(body).subarray(0, bytesBetween), { stream: true });
}
