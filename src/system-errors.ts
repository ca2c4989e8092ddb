/** The `code` of an error from the system (ENOENT, ECONNRESET), Node.js or a library; undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** True if the disk is full, or the user has reached a quota. */
export function isOutOfSpace(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}
