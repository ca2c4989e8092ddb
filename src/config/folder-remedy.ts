/**
 * What mends a data directory that can't be written, by the code of the file system's error. Names the user, since the owner of a
 * mounted volume is what is wrong most often.
 */
export function remedyForFolder(code: string | undefined, folder: string): string {
  const user = process.getuid?.();
  const owner = user === undefined ? null : `${user}:${process.getgid?.() ?? user}`;
  if (owner !== null && (code === 'EACCES' || code === 'EPERM'))
    return `make it this user's (chown ${owner} ${folder}, or on the volume that is mounted there), or name a folder that user ${user} may write in`;
  if (code === 'EROFS') return 'it is mounted read-only: mount it for writing, or name another folder';
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'free some space there, or name another folder';
  return 'name a folder that this user may write in';
}
