/** Bugs of ours are TypeErrors and the like; a refusal of anybody is another error. Throws the bugs. */
export function refuseBugs(error: unknown): void {
  const isBug =
    !(error instanceof Error) ||
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof SyntaxError ||
    error instanceof ReferenceError;
  if (isBug) throw error;
}
