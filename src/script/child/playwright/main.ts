import childProcess, { type ChildProcess, type ForkOptions } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ScriptType } from '../../../protocol/check-types.ts';
import { openChannel } from '../channel.ts';
import { openRecordFile } from '../capture/file.ts';
import { deferModules, unusedPaths } from './deferred.ts';
import { watchSecrets } from './hooks.ts';
import CaptureReporter from './reporter.ts';
import { shortened } from '../shortened.ts';

/**
 * Playwright's test runner, loaded and waiting: `node playwright-main.js <runtime folder>`. It also starts a worker
 * process in advance. It receives one run over the channel and exits after it; before that it knows nothing of any run.
 */

type Run = {
  type: 'run';
  env: { [name: string]: string };
  cwd: string;
  configFile: string;
  checkType: ScriptType;
  captureFolder: string;
  /** Maximum number of bytes that all test processes may print. */
  outputBytes: number;
};

/** A message from Playwright's worker to its runner, or from our worker to this process; checked before use. */
type WorkerMessage = {
  method?: unknown;
  params?: { method?: unknown; params?: { text?: unknown; buffer?: unknown } };
};

const maxLineLength = 8192;
/** Bytes that a line counts in addition to its own: each line is a message to the agent, even an empty one. */
const lineCost = 32;

const runtimeFolder = process.argv[2] ?? '';
const playwright = join(runtimeFolder, 'node_modules', 'playwright');
const load = createRequire(join(playwright, 'package.json'));
const workerFile = fileURLToPath(new URL('./worker.js', import.meta.url));
const channel = openChannel();

// The config file and its reporter module are CommonJS files in the run's folder; they find our code here.
Object.assign(globalThis, {
  [Symbol.for('location-agent.playwright')]: {
    reporter: CaptureReporter,
    configured: () => channel.send({ type: 'stage', stage: 'configured' }),
  },
});

deferModules(load, unusedPaths(load, 'runner'));
const { program } = load(join(playwright, 'lib/program.js')) as {
  program: { parse: (argv: string[]) => void };
};
for (const file of ['lib/runner/workerHost.js', 'lib/transform/babelBundle.js', 'lib/reporters/json.js']) {
  try {
    load(join(playwright, file));
  } catch {
    // A release without this file loads what it needs on demand.
  }
}

const fork = childProcess.fork;
const workerOptions: ForkOptions = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], detached: false };
let waiting: ChildProcess | null = fork(workerFile, [runtimeFolder], workerOptions);
waiting.once('exit', () => (waiting = null));
waiting.once('error', () => (waiting = null));

let outputBytes = 0;
let current: Run | null = null;

/** Sends lines of a test process to the host and counts their bytes. */
function follow(worker: ChildProcess): void {
  const rest = { stdout: '', stderr: '' };
  const take = (stream: 'stdout' | 'stderr', chunk: Buffer) => {
    const before = outputBytes;
    outputBytes += chunk.length + lineCost * chunk.toString('latin1').split('\n').length;
    if (current !== null && outputBytes > current.outputBytes) {
      if (before <= current.outputBytes) channel.send({ type: 'exceeded', limit: 'outputBytes' });
      return;
    }
    const lines = (rest[stream] + chunk.toString('utf8')).split('\n');
    rest[stream] = shortened(lines.pop() ?? '', maxLineLength);
    for (const line of lines) channel.send({ type: 'log', stream, line: shortened(line, maxLineLength) });
  };
  for (const stream of ['stdout', 'stderr'] as const) {
    // Output of programs that the tests start; the tests' own output arrives as messages.
    worker[stream]?.on('data', (chunk: Buffer) => take(stream, chunk));
  }
  worker.once('exit', () => {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (rest[stream] !== '') channel.send({ type: 'log', stream, line: rest[stream] });
    }
  });
  worker.on('message', ({ method, params }: WorkerMessage) => {
    if (method === '__location_agent__') channel.send(params);
    if (method !== '__dispatch__' || (params?.method !== 'stdOut' && params?.method !== 'stdErr')) return;
    const { text, buffer } = params.params ?? {};
    const chunk =
      typeof text === 'string'
        ? Buffer.from(text)
        : Buffer.from(typeof buffer === 'string' ? buffer : '', 'base64');
    take(params.method === 'stdOut' ? 'stdout' : 'stderr', chunk);
  });
}

// Playwright gets our worker processes: first the waiting one, later ones on demand.
const processFile = join(playwright, 'lib/common/process.js');
const takeWorker = (file: string, args?: unknown, options?: ForkOptions): ChildProcess => {
  const given = (Array.isArray(args) ? options : (args as ForkOptions | undefined)) ?? {};
  if (load.resolve(file) !== load.resolve(processFile)) {
    return Array.isArray(args) ? fork(file, args as string[], options) : fork(file, given);
  }
  const worker = waiting ?? fork(workerFile, [runtimeFolder], workerOptions);
  waiting = null;
  follow(worker);
  worker.send({
    locationAgent: 'start',
    env: given.env ?? process.env,
    cwd: process.cwd(),
    checkType: current?.checkType,
    captureFolder: current?.captureFolder,
  });
  return worker;
};
childProcess.fork = takeWorker as typeof fork;

// The reporter runs in this process.
Reflect.set(globalThis, Symbol.for('location-agent.sendLine'), (line: string) =>
  channel.send({ type: 'log', stream: 'stdout', line }),
);

channel.onMessage((message) => {
  const run = message as Run; // made by the agent
  if (run.type !== 'run') return;
  current = run;
  process.chdir(run.cwd);
  for (const name of Object.keys(process.env)) if (!(name in run.env)) delete process.env[name];
  Object.assign(process.env, run.env);
  watchSecrets((secret) => channel.send(secret), openRecordFile(run.captureFolder, 'secrets'));
  program.parse([process.execPath, 'playwright', 'test', '--config', run.configFile]);
});
channel.send({ type: 'ready' });
