import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { createApiChildPool, type ApiChildPool } from './pool.ts';
import { createScriptRunner } from './runner.ts';
import { createSlotKeeper, type SlotKeeper } from './slots.ts';
import { childSlots, type ReleaseSlot } from '../process/child-slots.ts';
import { bytesBetween, type Phase } from '../child/api/messages.ts';
import type { Runtime } from '../process/runtimes.ts';
import { checkedScriptFiles } from '../process/script-files.ts';
import type {
  ApiScriptOptions,
  ApiScriptSession,
  PhaseFailure,
  ScriptRequest,
  ScriptResponse,
} from '../interface/scripts.ts';

/** Runs setup and teardown scripts on this machine. */
export type ApiScriptHost = {
  /** Same as `Scripts.openApiScripts`, on an installed runtime. */
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

function createSession(parts: {
  runtime: Runtime;
  options: ApiScriptOptions;
  pool: ApiChildPool;
  keeper: SlotKeeper;
  release: ReleaseSlot;
}): ApiScriptSession {
  const { runtime, options, pool, keeper } = parts;
  const { scripts, signal } = options;
  // No prototype, because a variable may have any name.
  const env = Object.assign(Object.create(null) as { [name: string]: string }, options.env);
  const files = filesOf(options);
  const runner = createScriptRunner({
    runtime,
    options,
    pool,
    env,
    files: files instanceof Map ? files : new Map(),
  });
  /** Null while the slot is released. */
  let release: ReleaseSlot | null = parts.release;
  let unpark: () => void = () => undefined;
  let left: Promise<void> = Promise.resolve();
  let closed: Promise<void> | null = null;

  /** Releases process and slot. The process's variables are kept here; the rest of its memory is lost. */
  const leave = (): Promise<void> => {
    left = (async () => {
      await runner.kill();
      release?.();
      release = null;
    })();
    return left;
  };

  /** The globals of a script in addition to request and response. */
  const globals = (requestUrl: string) => ({
    REGION: env['REGION'] ?? '',
    REQUEST_URL: requestUrl,
    GROUP_BASE_URL: env['GROUP_BASE_URL'] ?? '',
  });

  return {
    setup: async (given) => {
      let request = given;
      if (!(files instanceof Map))
        return { request, env: { ...env }, failure: { reason: files, origin: 'check' } };
      for (const script of scripts.setup) {
        const shown = { ...request, body: cut(request.body, 'request', 'setup', options) };
        const end = await runner.run('setup', script, { request: shown, globals: globals(request.url) });
        if (!('kind' in end))
          return { request, env: { ...env }, failure: { reason: end, origin: script.origin } };
        if (end.request !== null) request = { ...end.request, body: end.request.body ?? request.body };
      }
      if (scripts.teardown.length > 0) unpark = keeper.park(leave);
      return { request, env: { ...env }, failure: null };
    },
    teardown: async (request: ScriptRequest, given: ScriptResponse) => {
      unpark();
      await left;
      release ??= await keeper.take(signal);
      let response = given;
      let failure: PhaseFailure = null;
      for (const script of scripts.teardown) {
        const end = await runner.run('teardown', script, {
          request: { ...request, body: cut(request.body, 'request', 'teardown', options) },
          response: { ...response, body: cut(response.body, 'response', 'teardown', options) },
          globals: globals(request.url),
        });
        // A failed teardown script stops nothing; the first failure is reported.
        if (!('kind' in end)) failure ??= { reason: end, origin: script.origin };
        else if (end.body !== null) response = { ...response, body: end.body };
      }
      return { response, env: { ...env }, failure };
    },
    close: () => {
      closed ??= (async () => {
        unpark();
        await left;
        await runner.kill();
        release?.();
      })();
      return closed;
    },
  };
}

/** Checks the size of files and variables, which reach the process in one message. */
const openBytes = 8 * 1024 * 1024;

function filesOf({ scripts, env }: ApiScriptOptions): Map<string, string> | Reason {
  const texts = [
    ...scripts.files.flatMap(({ path, content }) => [path, content]),
    ...Object.entries(env).flat(),
  ];
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > openBytes) {
    const text = `files and variables have ${bytes} bytes together; the limit for setup and teardown scripts is ${openBytes}`;
    return reasonOf('SCRIPT_INVALID', text);
  }
  return checkedScriptFiles({ files: scripts.files, reserved: ['script.js'] });
}

/** The body as a script receives it: at most 256 KB; a line in the log reports a cut. */
function cut(body: string, whose: 'request' | 'response', phase: Phase, { log }: ApiScriptOptions): string {
  const bytes = Buffer.byteLength(body);
  if (bytes <= bytesBetween) return body;
  log(
    'warn',
    `${phase}: the script receives only the first ${bytesBetween} of ${bytes} bytes of ${whose}.body`,
  );
  // Drops up to three bytes of a character that was cut in two.
  return new TextDecoder().decode(Buffer.from(body).subarray(0, bytesBetween), { stream: true });
}
