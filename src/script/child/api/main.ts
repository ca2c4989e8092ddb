import { format, inspect } from 'node:util';
import { openChannel } from '../channel.ts';
import {
  logLineLength,
  logLines,
  secretBytes,
  secretCount,
  type FromChild,
  type OpenMessage,
  type RunMessage,
  type SecretLimit,
} from './messages.ts';
import { Refusal } from './compile.ts';
import { createModules, type ScriptModules } from './modules.ts';
import { describe, environmentChanges, readBody, readOnly, readRequest, responseOf } from './values.ts';
import { shortened } from '../shortened.ts';

/**
 * The process that runs the setup and teardown scripts of one API check run. It starts in the folder of its runtime
 * without knowing the run, so that a process can wait for the next run. After a run it is killed.
 */

const channel = openChannel();
const send = (message: FromChild) => channel.send(message);
const realEnv = process.env;

let modules: ScriptModules | null = null;
/** The script that is running; null between scripts. */
let running: { id: number; fail: (error: unknown) => void } | null = null;
let lines = 0;
let hasLostSecret = false;
const reported = new Set<string>();

function log(level: 'debug' | 'info' | 'warn' | 'error', values: unknown[]): void {
  lines += 1;
  if (lines > logLines) return;
  if (lines === logLines) {
    return send({
      kind: 'log',
      level: 'warn',
      msg: `only the first ${logLines - 1} log lines of a run are kept`,
    });
  }
  let msg: string;
  try {
    const [first] = values;
    msg = values.length === 1 && typeof first === 'string' ? first : format(...values);
  } catch {
    msg = 'a value that cannot be shown';
  }
  send({ kind: 'log', level, msg: shortened(msg, logLineLength - 1) });
}

/** The agent cannot mask a secret that it does not get. It ends this process. */
function loseSecret(limit: SecretLimit): void {
  if (hasLostSecret) return;
  hasLostSecret = true;
  send({ kind: 'lost-secret', limit });
}

function reportSecret(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '' || reported.has(value)) return;
  if (Buffer.byteLength(value) > secretBytes) return loseSecret('length');
  if (reported.size >= secretCount) return loseSecret('count');
  reported.add(value);
  send({ kind: 'secret', name: name.slice(0, 256), value });
}

function noticeVariable(name: string | symbol, value: unknown): void {
  if (typeof name === 'string' && name.startsWith('SERVICE_SECRET_')) reportSecret(name, String(value));
}

/** Reports secrets when they are written, before any code can print them. */
function watchedEnvironment(): NodeJS.ProcessEnv {
  return new Proxy(realEnv, {
    set: (target, name, value: unknown) => {
      noticeVariable(name, value);
      return Reflect.set(target, name, String(value));
    },
    defineProperty: (target, name, descriptor) => {
      noticeVariable(name, descriptor.value);
      return Reflect.defineProperty(target, name, descriptor);
    },
  });
}

const levels = {
  debug: 'debug',
  trace: 'debug',
  log: 'info',
  info: 'info',
  warn: 'warn',
  error: 'error',
} as const;

function takeGlobals(): void {
  for (const [method, level] of Object.entries(levels)) {
    Object.defineProperty(console, method, {
      value: (...values: unknown[]) => log(level, values),
      writable: true,
      configurable: true,
    });
  }
  Object.defineProperty(console, 'dir', {
    value: (value: unknown) => log('info', [inspect(value)]),
    writable: true,
    configurable: true,
  });
  Object.defineProperty(globalThis, Symbol.for('location-agent.hooks'), {
    value: {
      secret: (value: unknown) => reportSecret('secret()', value),
      markDegraded: () => {
        throw new Refusal(
          'markCheckAsDegraded is for browser and multi-step checks; give an API check a degradedResponseTime',
        );
      },
    },
  });
}

function setGlobal(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: true, configurable: true });
}

function open({ env, files, runtime }: OpenMessage): void {
  for (const name of Object.keys(realEnv)) delete realEnv[name];
  Object.assign(realEnv, env);
  process.env = watchedEnvironment();
  modules = createModules({ files, runtime, runtimeFolder: process.cwd() });
}

async function run(message: RunMessage): Promise<void> {
  const { id, phase, request, response } = message;
  if (modules === null) return;
  const before = { ...process.env } as { [name: string]: string }; // environment variables are strings
  try {
    for (const [name, value] of Object.entries(message.globals)) setGlobal(name, value);
    const given = structuredClone(request);
    setGlobal('request', phase === 'setup' ? request : readOnly(request));
    if (response === undefined) Reflect.deleteProperty(globalThis, 'response');
    else setGlobal('response', responseOf(response));
    const script = modules.script(message.content);
    await new Promise<unknown>((resolve, reject) => {
      running = { id, fail: reject };
      script().then(resolve, reject);
    });
    const env = environmentChanges(before, { ...process.env });
    for (const [name, value] of Object.entries(env.set)) noticeVariable(name, value);
    send({
      kind: 'done',
      id,
      request: phase === 'setup' ? readRequest(Reflect.get(globalThis, 'request'), given) : null,
      body: response === undefined ? null : readBody(Reflect.get(globalThis, 'response'), response),
      env,
    });
  } catch (error) {
    const { message: text, stack } = describe(error);
    const refused = error instanceof Refusal;
    send({
      kind: 'failed',
      id,
      code: refused ? 'SCRIPT_INVALID' : 'SCRIPT_THREW',
      message: refused ? text.replace(/^Error: /, '') : text,
      at: modules.placeOf(stack),
    });
  } finally {
    running = null;
  }
}

/** A rejection that no script awaited: it fails the running script, or is logged if none is running. */
function stray(error: unknown): void {
  if (running !== null) running.fail(error);
  else log('error', [`after the script had finished: ${describe(error).message}`]);
}

process.on('uncaughtException', stray);
process.on('unhandledRejection', stray);
takeGlobals();
channel.onMessage((message) => {
  const known = message as OpenMessage | RunMessage; // from the agent, which is trusted
  if (known.kind === 'open') open(known);
  else void run(known);
});
send({ kind: 'ready' });
