import { toError } from '../../errors.ts';
import { runBounded } from './bound.ts';
import { remember } from './cache.ts';
import { shortened } from '../../shortened.ts';

/** The result of a pattern: the first capture group, or the complete match if it has no group; null = no match. */
export type PatternMatch = { text: string | null } | { error: string };

/** Number of backtracking steps that take well under a millisecond. */
const harmlessSteps = 1_000_000;

type Pattern = ({ regex: RegExp } & Backtracking) | { error: string };

const compiled = remember(500, compile);

/**
 * Applies a check's regular expression (JavaScript syntax, no flags) once. A pattern that may backtrack for long on a
 * text of this length is stopped after 50 ms plus 10 ms per megabyte of text.
 */
export function applyPattern(source: string, text: string): PatternMatch {
  const pattern = compiled(source);
  if ('error' in pattern) return pattern;
  const { regex, nested, unbounded, ways } = pattern;
  // Each unbounded quantifier multiplies the number of ways to match by the length, and so does the search for the
  // start.
  const harmless = !nested && ways * text.length ** (unbounded + 1) <= harmlessSteps;
  if (harmless) return { text: captured(regex.exec(text)) };
  const ran = runBounded(() => regex.exec(text), 50 + text.length / 100_000);
  if ('stoppedAfterMs' in ran) {
    return {
      error: `the pattern ${quotedPattern(source)} took longer than ${ran.stoppedAfterMs} ms and was stopped`,
    };
  }
  return { text: captured(ran.result) };
}

/** A pattern as messages show it. */
export function quotedPattern(source: string): string {
  return `/${shortened(source, 200)}/`;
}

function captured(match: RegExpExecArray | null): string | null {
  if (match === null) return null;
  return (match.length > 1 ? match[1] : match[0]) ?? null;
}

function compile(source: string): Pattern {
  try {
    const regex = new RegExp(source); // compiled at its first use, which cannot be interrupted
    if (optionalRun(source) > maxOptionalRun) {
      return {
        error: `the pattern ${quotedPattern(source)} has more than ${maxOptionalRun} optional parts in a row; join some of them`,
      };
    }
    return { regex, ...backtracking(source) };
  } catch (error: unknown) {
    return {
      error: `the pattern ${quotedPattern(source)} is not a valid regular expression: ${toError(error).message}`,
    };
  }
}

/** The time in which V8 compiles a pattern is proportional to two to the power of this: some milliseconds for 20. */
export const maxOptionalRun = 20;

/** The maximum number of consecutive optional parts (`x?`, `(?:x|y)?`, `x{0,3}`, `(x|)`) in a valid pattern. */
export function optionalRun(source: string): number {
  // Each part becomes an `a`, each optional one `a?`; groups are reduced from the innermost outwards.
  let parts = source
    .replaceAll(/\\[^]/g, 'a')
    .replaceAll(/\[[^\]]*\]/g, 'a')
    .replaceAll(/\{(\d+)(,?)(\d*)\}/g, (_range, min: string, comma: string, max: string) => {
      // V8 expands short repetitions.
      const more = comma === ',' && Number(max) <= 3 ? Number(max) - Number(min) : 0;
      return Number(min) === 0 ? `?${'a?'.repeat(Math.max(0, more - 1))}` : 'a?'.repeat(Math.max(0, more));
    })
    .replaceAll(/(?<!\()([?*+])\?/g, '$1')
    .replaceAll('+', '');
  for (let before = ''; before !== parts;) {
    before = parts;
    parts = parts.replaceAll(
      /\((\?(?::|<?[=!]|<[^=!>]+>))?([^()]*)\)/g,
      (_group, kind: string | undefined, inner: string) => {
        if (/[=!]$/.test(kind ?? '')) return ''; // a lookaround matches no characters
        const runs = inner.split('|').filter((alternative) => /^(?:[^?*]?[?*])*$/.test(alternative));
        return runs.length === 0 ? 'a' : 'a?'.repeat(Math.max(1, ...runs.map(countOptional)));
      },
    );
  }
  return Math.max(0, ...[...parts.matchAll(/(?:[^?*|]?[?*])+/g)].map(([run]) => countOptional(run)));
}

function countOptional(parts: string): number {
  return parts.split('?').length - 1;
}

/** How a pattern can backtrack. */
type Backtracking = {
  /**
   * A repeated group contains a choice (a quantifier or an alternative), or there is a back reference, so the work
   * may grow exponentially.
   */
  nested: boolean;
  /** Quantifiers without an upper limit. Each one raises the exponent with which the work grows. */
  unbounded: number;
  /** Product of the limited choices: alternatives and the lengths of `?` and `{2,5}`. */
  ways: number;
};

/** Determines how a valid pattern can backtrack. */
export function backtracking(source: string): Backtracking {
  let nested = false;
  let unbounded = 0;
  let ways = 1;
  /**
   * One entry per open group: whether it contains a choice, and its alternatives. The first is the complete pattern.
   */
  const groups = [{ choice: false, alternatives: 1 }];
  const noteChoice = (): void => {
    const group = groups.at(-1);
    if (group !== undefined) group.choice = true;
  };
  let closed: { choice: boolean } | undefined; // the group that ended just before this position
  let inClass = false;
  for (let i = 0; i < source.length; i++) {
    const char = source.charAt(i);
    const justClosed = closed;
    closed = undefined;
    if (char === '\\') {
      const next = source.charAt(++i);
      if (!inClass && ((next >= '1' && next <= '9') || next === 'k')) nested = true;
    } else if (inClass) {
      if (char === ']') inClass = false;
    } else if (char === '[') {
      inClass = true;
    } else if (char === '(') {
      groups.push({ choice: false, alternatives: 1 });
      if (source.charAt(i + 1) === '?') i++; // (?: (?= (?! (?<: this question mark is not a quantifier
    } else if (char === ')') {
      const group = groups.pop();
      ways *= group?.alternatives ?? 1;
      if (group?.choice === true) noteChoice();
      closed = group;
    } else if (char === '|') {
      noteChoice();
      const group = groups.at(-1);
      if (group !== undefined) group.alternatives++;
    } else if (char === '?') {
      ways *= 2;
      noteChoice();
    } else if (char === '*' || char === '+' || char === '{') {
      const range = char === '{' ? /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(i, i + 40)) : null;
      if (char === '{' && range === null) continue; // a literal brace
      if (range === null || (range[2] === ',' && range[3] === '')) unbounded++;
      else if (range[2] === ',') ways *= Number(range[3]) - Number(range[1]) + 1;
      if (justClosed?.choice === true) nested = true;
      noteChoice();
      if (range !== null) i += range[0].length - 1;
      if (source.charAt(i + 1) === '?') i++; // lazy
    }
  }
  ways *= groups[0]?.alternatives ?? 1;
  return { nested, unbounded, ways };
}
