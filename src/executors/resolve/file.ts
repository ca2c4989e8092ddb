import { readFileSync, statSync } from 'node:fs';

/** Larger files are not hosts or resolv.conf files; reading one would block the event loop. */
const maxBytes = 16 * 1024 * 1024;
const statEveryMs = 1000;

/**
 * A small configuration file, parsed again when it changes. It is checked on use, at most once a second. A missing or
 * unreadable file counts as empty. Synchronous on purpose: a hit costs no turn of the event loop, and the thread pool
 * of asynchronous file calls may be busy for seconds.
 */
export function cachedFile<T>(path: string, parse: (text: string) => T, now: () => number): () => T {
  let stamp = '';
  let checkedAt = -Infinity;
  let value: T | undefined;
  return () => {
    const time = now();
    if (value !== undefined && time - checkedAt < statEveryMs) return value;
    checkedAt = time;
    const stat = statSync(path, { throwIfNoEntry: false });
    const newStamp = stat === undefined ? 'absent' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    if (value !== undefined && newStamp === stamp) return value;
    stamp = newStamp;
    value = parse(stat === undefined || !stat.isFile() || stat.size > maxBytes ? '' : readOrEmpty(path));
    return value;
  };
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
