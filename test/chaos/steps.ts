import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';
import type { Random } from './random.ts';

/**
 * Named steps on the path of a job and of a result: each `await` and each synchronous call of the file system in the compiled
 * files of these folders. A copy of the program reports each step that it passes, so that it can be killed at any of them.
 */

export const agentFolders = ['agent/claiming', 'agent/run', 'agent/outbox', 'agent/link', 'agent/artifacts'];
export const serviceFolders = [
  'service/agents',
  'service/scheduling',
  'service/results',
  'service/alerting',
  'service/alert-channels',
  'service/notifications',
  'service/engine',
  'service/db',
];

/** Loaded with `--import` into programs of the copy. */
export const stepFile = fileURLToPath(new URL('../../test/chaos/step.mjs', import.meta.url));

/** Makes the copy next to the compiled program. Returns its main file, and what removes it. */
export function instrumentedProgram(main: string): { main: string; remove: () => void } {
  const root = dirname(dirname(main));
  const copy = join(root, 'build', `steps-${process.pid}`);
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  // What the program finds by its own place.
  for (const name of [
    'node_modules',
    'runtimes',
    'engines',
    'package.json',
    'src',
    'docs',
    'observability',
  ]) {
    if (existsSync(join(root, name))) symlinkSync(join(root, name), join(copy, name));
  }
  const dist = join(copy, 'dist');
  cpSync(dirname(main), dist, { recursive: true });
  for (const folder of [...agentFolders, ...serviceFolders]) {
    for (const file of filesOf(join(dist, folder))) {
      writeFileSync(file, instrumented(readFileSync(file, 'utf8'), relative(dist, file)));
    }
  }
  return {
    main: join(dist, 'main.js'),
    remove: () => rmSync(copy, { recursive: true, force: true }),
  };
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The code with a report before each step. `file` names the steps. */
export function instrumented(code: string, file: string): string {
  const inserts: { at: number; text: string }[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (!isNode(node)) return;
    if (node.type === 'AwaitExpression' || isFileCall(node)) {
      const line = code.slice(0, node.start).split('\n').length;
      inserts.push({
        at: node.start,
        text: `(globalThis.chaosStep?.(${JSON.stringify(`${file}:${line}`)}), `,
      });
      inserts.push({ at: node.end, text: ')' });
    }
    for (const part of Object.values(node)) visit(part);
  };
  visit(parseAst(code));
  // From the end, so that earlier places stay right; what starts later at one place is inside.
  let text = code;
  for (const { at, text: inserted } of inserts
    .map((insert, index) => ({ ...insert, index }))
    .sort((a, b) => b.at - a.at || b.index - a.index)) {
    text = text.slice(0, at) + inserted + text.slice(at);
  }
  return text;
}

/** A node of ESTree with its place in the code. */
type Node = { type: string; start: number; end: number };

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;

function isFileCall(node: Node): boolean {
  if (node.type !== 'CallExpression' || !('callee' in node)) return false;
  const { callee } = node;
  return isNode(callee) && 'name' in callee && /^[a-z]+Sync$/.test(String(callee.name));
}

export type Step = {
  /** "FILE:LINE". */
  step: string;
  /** The pass at which to kill. */
  pass: number;
  /** When that pass came, in milliseconds after the start of its program. */
  afterMs: number;
};

/**
 * `count` of the steps in a file that programs wrote, evenly spread, each with a pass that was really seen. Fewer if there are
 * fewer steps.
 */
export function chosenSteps(listFile: string, { count, random }: { count: number; random: Random }): Step[] {
  const passes = new Map<string, Step[]>();
  for (const line of readFileSync(listFile, 'utf8').split('\n').filter(Boolean)) {
    const [step = '', pass, afterMs] = line.split(' ');
    passes.set(step, [...(passes.get(step) ?? []), { step, pass: Number(pass), afterMs: Number(afterMs) }]);
  }
  const all = [...passes.keys()].sort();
  const every = Math.max(1, all.length / count);
  const chosen: Step[] = [];
  for (let at = every === 1 ? 0 : random.next() * every; at < all.length; at += every) {
    const seen = passes.get(all[Math.floor(at)] ?? '');
    if (seen !== undefined) chosen.push(random.pick(seen));
  }
  return chosen;
}

export type Reached = { reached: number; tried: number };

/** Of the steps that are tried, at least this share must be reached: otherwise the scenario has not tried what it says. */
export const leastShare = 0.8;

/** What is wrong with the counts; nothing if enough steps were reached. */
export function tooFewOf({ reached, tried }: Reached): string[] {
  if (tried > 0 && reached >= leastShare * tried) return [];
  return [`killed at ${reached} of ${tried} steps, and ${leastShare * 100} % is the least`];
}
