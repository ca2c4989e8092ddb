import { runBounded } from '../../../executors/assertions/bound.ts';
import { backtracking } from '../../../executors/assertions/pattern.ts';
import type { Pattern } from './patterns.ts';

/** Patterns of the file, tried on what a target sends. Endless ones are stopped, and count as an error of the probe. */

const limitMs = 250;
/** As for patterns of checks: these many steps take well under a millisecond. */
const harmlessSteps = 1_000_000;

/** Whether one of the patterns matches. Throws an Error if that takes too long. */
export function anyMatch(patterns: readonly Pattern[], text: string): boolean {
  return patterns.some((pattern) => firstMatch(pattern, text) !== null);
}

/** The first match with its groups; null = there is none. Throws an Error if that takes too long. */
export function firstMatch({ text: source, expression }: Pattern, text: string): RegExpExecArray | null {
  const { nested, unbounded, ways } = backtracking(expression.source);
  if (!nested && ways * text.length ** (unbounded + 1) <= harmlessSteps) return expression.exec(text);
  const done = runBounded(() => expression.exec(text), limitMs);
  if ('stoppedAfterMs' in done)
    throw new Error(`the pattern ${source} was stopped after ${done.stoppedAfterMs} ms`);
  return done.result;
}

/** Replaces `$1`, `${1}`, `$name` and `${name}` by the groups of a match; `$$` is a dollar. */
export function expanded(template: string, match: RegExpExecArray): string {
  return template.replaceAll(/\$(?:\$|\{(\w+)\}|(\w+))/g, (whole, braced?: string, bare?: string) => {
    if (whole === '$$') return '$';
    const name = braced ?? bare ?? '';
    return (/^\d+$/.test(name) ? match[Number(name)] : match.groups?.[name]) ?? '';
  });
}
