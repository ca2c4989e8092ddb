import type { Statement } from './syntax.ts';
import type { Value } from './values.ts';

/** A helper: a plain function of its arguments. `now` returns milliseconds since the epoch. */
export type Helper = (args: readonly Value[], context: { now: () => number }) => Value;

/** How deep blocks, and expressions within expressions, may nest. */
export const mostDepth = 32;

/** What one kind of template may contain, and the messages that its owner sees. */
export type Dialect = {
  helpers: ReadonlyMap<string, Helper>;
  /** How many characters a helper looks at in the worst case; the interpreter bounds the sum. */
  workOf: (helper: string, args: readonly Value[]) => number;
  /** Whether a value makes `{{#if}}` write its block. */
  isTruthy: (value: Value) => boolean;
  /** Refuses a statement that the dialect does not have. Blocks inside it are separate statements. Throws TemplateError. */
  check: (statement: Statement, depth: number) => void;
  /** The most characters that a template may render to. */
  mostOutput: number;
  messages: {
    syntax: (problem: string) => string;
    tooMany: (things: string, most: number) => string;
    tooDeep: (most: number) => string;
    tooLarge: (most: number) => string;
  };
};
