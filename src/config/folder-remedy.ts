/**
 * How to fix a data directory that cannot be written, by the code of the file system's error. Names the user, because
 * the owner of a mounted volume is the most frequent cause.
 */
export function remedyForFolder(code: string | undefined, folder: string): string {
  const user = process.getuid?.();
  const owner = user === undefined ? null : `${user}:${process.getgid?.() ?? user}`;
  if (owner !== null && (code === 'EACCES' || code === 'EPERM'))
    return `change its owner (chown ${owner} ${folder}, or the same on the mounted volume), or choose a folder that user ${user} may write to`;
  if (code === 'EROFS') return 'it is mounted read-only; mount it read-write, or choose another folder';
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'free some disk space, or choose another folder';
  return 'choose a folder that this user may write to';
}
