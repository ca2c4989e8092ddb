/** The `code` of an error of the system (ENOENT, ECONNRESET), of Node.js, or of a library; undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** True if the disk has no room, or the user has used up a quota. */
export function isOutOfSpace(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}
