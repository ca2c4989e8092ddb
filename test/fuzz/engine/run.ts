import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { addSpent, spentSoFar } from './kept.ts';
import type { WorkerReport, WorkerTask } from './worker.ts';

/**
 * The main program of `npm run fuzz`: runs each target in a thread of its own, and finds crashes, hangs and memory
 * without bounds. Exit codes: 0 no finding, 1 a finding, 2 wrong arguments.
 */

/** Milliseconds of processor time for one input that count as a hang, and of waiting: a busy machine is no hang. */
const hangMs = 20_000;
const stillMs = 120_000;
const heapMb = 512;
/** Bytes that the process may grow by during one target, outside the heap of its thread as well. */
const residentMb = 1024;
const sharedBytes = 8 + 16 * 1024 * 1024;

type Finding = { kind: string; input: Uint8Array; text: string };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    folder: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    input: { type: 'string' },
    corpus: { type: 'string' },
  },
});
const built = JSON.parse(readFileSync(join(values.folder, 'targets.json'), 'utf8')) as {
  [name: string]: string;
};

const unknown = positionals.filter((name) => built[name] === undefined);
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
const problem =
  unknown.length > 0
    ? `There is no target ${unknown.join(', ')}. The targets are: ${Object.keys(built).join(', ')}.`
    : !(seconds > 0) || !Number.isSafeInteger(seed)
      ? '--seconds takes a number above 0, --seed a whole number.'
      : values.input !== undefined && positionals.length !== 1
        ? '--input takes a file of an input and needs one target.'
        : null;
if (problem !== null) {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}
if (values.list) {
  process.stdout.write(`${Object.keys(built).join('\n')}\n`);
  process.exit(0);
}

let findings = 0;
for (const name of positionals.length > 0 ? positionals : Object.keys(built)) {
  const found = await runTarget(name, built[name] ?? '');
  for (const finding of found) {
    findings += 1;
    const folder = join(values.folder, 'findings');
    mkdirSync(folder, { recursive: true });
    const id = createHash('sha256').update(finding.input).digest('hex').slice(0, 12);
    const file = join(folder, `${name}-${id}`);
    writeFileSync(file, finding.input);
    process.stdout.write(`${name}: ${finding.kind}: ${finding.text}\n`);
    process.stdout.write(`  run it again: npm run fuzz -- ${name} --input ${file}\n`);
  }
}
process.stdout.write(findings === 0 ? 'no findings\n' : `${findings} findings\n`);
process.exit(findings === 0 ? 0 : 1);

async function runTarget(name: string, module: string): Promise<Finding[]> {
  const shared = new SharedArrayBuffer(sharedBytes);
  const words = new Int32Array(shared, 0, 2);
  const memory = new Uint8Array(shared, 8);
  const current = (): Uint8Array => memory.slice(0, words[1]);
  const replay = values.input !== undefined;
  if (values.input !== undefined) {
    const input = readFileSync(values.input);
    memory.set(input);
    words[1] = input.length;
  }
  const corpus = values.corpus === undefined || replay ? null : join(values.corpus, name);
  // Each part of a long run makes other inputs.
  const part = corpus === null ? 0 : spentSoFar(corpus).runs;
  const task: WorkerTask = { module, seed: seed + part * 1_000_003, seconds, replay, corpus, shared };
  const startedAt = performance.now();
  const worker = new Worker(join(values.folder, 'worker.js'), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
    stderr: false,
  });
  const found: Finding[] = [];
  const residentBefore = process.memoryUsage.rss();
  let mostResident = residentBefore;
  let [last, lastAt, spentAt, executions] = [-1, performance.now(), 0, 0];
  let isOver = false;
  const fail = (kind: string, text: string): void => {
    if (isOver) return;
    isOver = true;
    found.push({ kind, text, input: current() });
    void worker.terminate();
  };
  const watch = setInterval(() => {
    const count = Atomics.load(words, 0);
    const { user, system } = process.cpuUsage();
    const spentMs = (user + system) / 1000;
    const waitedMs = performance.now() - lastAt;
    if (count !== last) [last, lastAt, spentAt] = [count, performance.now(), spentMs];
    // Before the first input, the target is being loaded.
    else if (count > 0 && (spentMs - spentAt > hangMs || waitedMs > stillMs)) {
      fail('hang', `no end after ${Math.round(waitedMs / 1000)} s`);
    }
    const resident = process.memoryUsage.rss();
    mostResident = Math.max(mostResident, resident);
    if (resident - residentBefore > residentMb * 1024 * 1024) {
      fail('memory', `the process grew by more than ${residentMb} MB`);
    }
  }, 250);
  worker.on('message', (message: WorkerReport) => {
    if (message.kind === 'progress') executions = message.executions;
    else if (message.kind === 'slow') {
      found.push({ kind: 'slow', text: `${Math.round(message.ms)} ms for one input`, input: message.input });
    } else {
      executions = message.executions;
      if (message.failure !== null) {
        found.push({ kind: 'crash', text: message.failure.error, input: message.failure.input });
      }
      const grown = Math.round((mostResident - residentBefore) / 1024 / 1024);
      process.stdout.write(
        `${name}: ${message.executions} inputs, ${message.seedBlocks} → ${message.blocks} blocks, ` +
          `corpus ${message.corpus}, slowest ${Math.round(message.slowestMs)} ms, memory +${grown} MB\n`,
      );
    }
  });
  worker.on('error', (error: Error) => {
    // An error outside of the call, such as an event that nobody listens to, or the heap's limit.
    found.push({
      kind: 'crash',
      text: `outside of the call: ${error.stack ?? error.message}`,
      input: current(),
    });
  });
  await new Promise<void>((resolve) => worker.on('exit', () => resolve()));
  clearInterval(watch);
  if (corpus !== null) {
    const took = (performance.now() - startedAt) / 1000;
    const sum = addSpent(corpus, { seconds: took, executions });
    process.stdout.write(
      `${name}: ${(sum.seconds / 60).toFixed(1)} minutes and ${sum.executions} inputs in ${sum.runs} runs\n`,
    );
  }
  if (found.length > 0) process.stdout.write(`${name}: stopped after ${executions} inputs or more\n`);
  // Of slow inputs only the slowest.
  const slow = found.filter(({ kind }) => kind === 'slow');
  return [...found.filter(({ kind }) => kind !== 'slow'), ...slow.slice(-1)];
}
