import type { Statement } from './syntax.ts';
import type { Value } from './values.ts';

/** A helper: a plain function of its arguments. `now` returns milliseconds since the epoch. */
export type Helper = (args: readonly Value[], context: { now: () => number }) => Value;

/** Maximum nesting of blocks, and of expressions within expressions. */
export const maxDepth = 32;

/** What one kind of template may contain, and its error messages. */
export type Dialect = {
  helpers: ReadonlyMap<string, Helper>;
  /** The number of characters that a helper processes in the worst case; the interpreter limits the sum. */
  workOf: (helper: string, args: readonly Value[]) => number;
  /** Whether a value makes `{{#if}}` write its block. */
  isTruthy: (value: Value) => boolean;
  /**
   * Rejects a statement that the dialect does not support. Blocks inside it are separate statements. Throws
   * TemplateError.
   */
  check: (statement: Statement, depth: number) => void;
  /** The maximum number of characters of a rendered template. */
  maxOutput: number;
  messages: {
    syntax: (problem: string) => string;
    tooMany: (things: string, most: number) => string;
    tooDeep: (most: number) => string;
    tooLarge: (most: number) => string;
  };
};
