import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../../config/read.ts';
import { secretPrefix, secretVariables } from '../../../config/variables.ts';
import { fieldsOf, isFields, itemsOf, parsedJson } from '../../../json-values.ts';
import { lineSplitter } from '../../line-splitter.ts';
import { printable } from '../../terminal-text.ts';
import {
  fileLimitMs,
  hangDescriptor,
  heapLimitMb,
  lookLimitMs,
  type CodeAnswer,
  type CodeResource,
  type Order,
} from './messages.ts';

/** Runs the files of a project that have code, in a process of their own, and returns what they construct. */

/** Variables that the files do not see. */
const isHidden = (name: string): boolean =>
  name.startsWith(secretPrefix) ||
  secretVariables.some((secret) => name === secret || name === `${secret}_FILE`);

/** How long output may follow the end, which processes of the files' own may hold open. */
const lastOutputMs = 1_000;

/** Bytes of output that are printed. */
const mostOutput = 1024 * 1024;

export type Loading = {
  folder: string;
  files: string[];
  env: Environment;
  stderr: (text: string) => void;
  limitMs?: number;
};

/** Loads the files, one after the other. Whatever goes wrong is a problem, with its file. */
export async function loadCode(loading: Loading): Promise<CodeAnswer> {
  const { folder, files, env, stderr, limitMs = fileLimitMs } = loading;
  const child = spawn(process.execPath, [`--max-old-space-size=${heapLimitMb}`, childFile()], {
    cwd: folder,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isHidden(name))),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
  });
  let [current, done, printed] = [files[0] ?? '', '', 0];
  const print = lineSplitter((line) => {
    printed += line.length;
    if (printed <= mostOutput) stderr(`${printable(line)}\n`);
  });
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', print);
  child.on('message', (message) => {
    const { loading: file, done: text } = fieldsOf(message);
    if (typeof file === 'string') current = file;
    if (typeof text === 'string') done = text;
  });
  const stop = () => child.kill('SIGKILL');
  process.once('SIGINT', stop).once('SIGTERM', stop);
  // A pipe that is read, as given above.
  const hang = textOf(child.stdio[hangDescriptor] as Readable);
  const order: Order = { folder, files, limitMs, lookMs: lookLimitMs };
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`cannot be run: ${error.message}`));
    child.once('close', (code, signal) => resolve(endOf(code, signal)));
    child.once('exit', () => {
      const drop = () => child.stdio.forEach((stream) => stream?.destroy());
      setTimeout(drop, lastOutputMs).unref();
    });
  });
  child.send(order, () => undefined);
  const reason = await ended;
  process.off('SIGINT', stop).off('SIGTERM', stop);
  if (done !== '') return answerOf(done);
  const { file, place } = fieldsOf(parsedJson(await hang));
  const problem =
    typeof file === 'string'
      ? `${typeof place === 'string' ? place : file}: does not finish within ${limitMs / 1000} s: correct the loop, or what it waits for`
      : `${current}: ${reason}`;
  return { resources: [], problems: [problem] };
}

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  // The engine ends the process itself if its heap is full.
  if (signal === 'SIGABRT' || code === 134) return `needs more than ${heapLimitMb} MB of memory`;
  if (signal !== null) return `was ended by ${signal}`;
  return code === 0 || code === 13
    ? 'ended early: it awaits something that never comes, or calls process.exit'
    : `ended the process with exit code ${code}`;
}

/** The program; the sources cannot run uncompiled on every version of Node. */
function childFile(): string {
  const candidates = ['./child.js', '../../../../dist/commands/project/code/child.js'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  return candidates.find((file) => existsSync(file)) ?? candidates[0] ?? '';
}

/** Files may send messages of their own, so nothing of it is trusted. */
function answerOf(text: string): CodeAnswer {
  const { resources, problems } = fieldsOf(parsedJson(text));
  return {
    resources: itemsOf(resources)
      .filter(isFields)
      .map(({ kind, logicalId, fields, place }): CodeResource => {
        return { kind: String(kind), logicalId: String(logicalId), fields, place: String(place) };
      }),
    problems: itemsOf(problems).map(String),
  };
}
