import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { firstMatch } from '../patterns/matching.ts';
import { patternOf, type Pattern } from '../patterns/patterns.ts';

/** Expressions of CEL (the Common Expression Language) over the JSON of a body, whose name is `body`. */

export type CelExpression = {
  readonly text: string;
  /** Throws an Error if the body lacks what the expression reads. */
  readonly evaluate: (body: unknown) => unknown;
  /** An upper limit of the steps for a body of so many bytes. */
  readonly steps: (bytes: number) => number;
};

/** Reads an expression. Rejects with an Error whose message says what is wrong. */
export async function celExpression(text: string): Promise<CelExpression> {
  environment ??= createEnvironment();
  const cel = await environment;
  try {
    const parsed = cel.parse(ownMatches(text, cel.parse(text).ast));
    const { error } = parsed.check();
    if (error !== undefined) throw error;
    const { nodes, loops } = costOf(parsed.ast);
    return {
      text,
      evaluate: (body) => parsed({ body }),
      steps: (bytes) => nodes * Math.max(bytes, text.length) ** Math.max(1, loops),
    };
  } catch (error: unknown) {
    const [line = 'unreadable'] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new Error(`is not an expression of CEL: ${line}`, { cause: error });
  }
}

let environment: Promise<Environment> | null = null;
/** The library's `matches` has the patterns of JavaScript. */
const matchesName = 'matchesPattern';

async function createEnvironment(): Promise<Environment> {
  // Few agents have such modules, and the library needs memory.
  const { Environment } = await import('@marcbachmann/cel-js');
  return new Environment({ homogeneousAggregateLiterals: false })
    .registerVariable('body', 'dyn')
    .registerFunction('matches(string, string): bool', matches)
    .registerFunction(`string.${matchesName}(string): bool`, matches);
}

const patterns = new Map<string, Pattern>();

function matches(text: string, source: string): boolean {
  let pattern = patterns.get(source);
  if (pattern === undefined) {
    pattern = patternOf(source);
    // Patterns may come from bodies.
    if (patterns.size >= 100) patterns.clear();
    patterns.set(source, pattern);
  }
  return firstMatch(pattern, text) !== null;
}

/** The text with the own function in the place of the method `matches`. */
function ownMatches(text: string, ast: ASTNode): string {
  const places: number[] = [];
  walk(ast, (node) => {
    if (node.op !== 'rcall' || node.args[0] !== 'matches') return;
    const gap = /^[\s)]*\.\s*(?=matches)/.exec(text.slice(node.args[1].end));
    // The library's own method would remain, whose patterns have no limit.
    if (gap === null) throw new Error('a comment before matches is not supported');
    places.push(node.args[1].end + gap[0].length);
  });
  return places
    .toSorted((a, b) => b - a)
    .reduce((rest, at) => rest.slice(0, at) + matchesName + rest.slice(at + 'matches'.length), text);
}

/** Operators whose time does not depend on the body. */
const quick = new Set(
  ['value', 'id', '.', '[]', 'list', 'map', '?:', '||', '&&', '!_', '-_'].concat(['-', '*', '/', '%']),
);
/** They look at all of two values, unless one is a literal. */
const comparisons = new Set(['==', '!=', '<', '<=', '>', '>=']);
const quickFunctions = new Set(['has', 'int', 'uint', 'double', 'type', 'dyn', 'startsWith', 'endsWith']);

/** Number of nodes, and how deep those are nested that may look at a complete body. */
function costOf(ast: ASTNode): { nodes: number; loops: number } {
  let nodes = 0;
  const loopsOf = (node: ASTNode): number => {
    nodes += 1;
    let inner = 0;
    for (const child of childrenOf(node)) inner = Math.max(inner, loopsOf(child));
    return inner + ownLoops(node);
  };
  const loops = loopsOf(ast);
  return { nodes, loops };
}

function ownLoops(node: ASTNode): number {
  if (comparisons.has(node.op)) return childrenOf(node).some(({ op }) => op === 'value') ? 0 : 1;
  if (node.op !== 'call' && node.op !== 'rcall') return quick.has(node.op) ? 0 : 1;
  const [name] = node.args;
  if (quickFunctions.has(name)) return 0;
  // A pattern may go back.
  return name === 'matches' || name === matchesName ? 2 : 1;
}

function walk(node: ASTNode, visit: (node: ASTNode) => void): void {
  visit(node);
  for (const child of childrenOf(node)) walk(child, visit);
}

function childrenOf({ args }: ASTNode): ASTNode[] {
  const found = (value: unknown): ASTNode[] => {
    if (Array.isArray(value)) return value.flatMap(found);
    return typeof value === 'object' && value !== null && 'op' in value ? [value as ASTNode] : []; // all with `op` are
  };
  return found(args);
}
