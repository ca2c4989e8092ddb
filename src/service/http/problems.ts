import type { ErrorAttributes } from './validation-errors.ts';

export type Problems = {
  add: (path: string, reason: string) => void;
  attributes: () => ErrorAttributes | null;
};

export function createProblems(): Problems {
  const reasons = new Map<string, string[]>();
  return {
    add: (path, reason) => void reasons.set(path, [...(reasons.get(path) ?? []), reason]),
    attributes: () => (reasons.size === 0 ? null : Object.fromEntries(reasons)),
  };
}
