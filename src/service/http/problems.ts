import type { ErrorAttributes } from './validation-errors.ts';

export type Problems = {
  add: (path: string, reason: string) => void;
  attributes: () => ErrorAttributes | null;
};

/** Collects the problems of a body by field path; `attributes` is null if there are none. */
export function createProblems(): Problems {
  const reasons = new Map<string, string[]>();
  return {
    add: (path, reason) => void reasons.set(path, [...(reasons.get(path) ?? []), reason]),
    attributes: () => (reasons.size === 0 ? null : Object.fromEntries(reasons)),
  };
}
