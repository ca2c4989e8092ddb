import type { ErrorAttributes } from '../http/validation-errors.ts';

/** Collects what is wrong with a body: `path` names the field, and `attributes` goes into the answer (null = nothing is wrong). */
export type Problems = {
  add: (path: string, reason: string) => void;
  attributes: () => ErrorAttributes | null;
};

/** An empty collection of problems. */
export function createProblems(): Problems {
  const reasons = new Map<string, string[]>();
  return {
    add: (path, reason) => void reasons.set(path, [...(reasons.get(path) ?? []), reason]),
    attributes: () => (reasons.size === 0 ? null : Object.fromEntries(reasons)),
  };
}
