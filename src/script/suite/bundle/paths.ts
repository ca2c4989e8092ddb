/**
 * Names and links within a code bundle, and which of them stay in its folder. The packer and the unpacker use the same
 * rules.
 */

/** Bytes of a path within a bundle, and of one name in it (Linux limits). */
export const maxPathBytes = 1024;
const maxNameBytes = 255;
/** Number of links that one link may go through; Linux stops at 40. */
const maxHops = 40;

/**
 * The path of an entry in its plain form (`a/b`, '' = the folder itself), or the error in it. The backslash is an
 * ordinary character.
 */
export function plainPath(name: string): { path: string } | { wrong: string } {
  if (name.includes('\0')) return { wrong: 'has a name with a zero byte' };
  if (name.startsWith('/')) return { wrong: 'has an absolute path' };
  if (Buffer.byteLength(name) > maxPathBytes)
    return { wrong: `has a path of more than ${maxPathBytes} bytes` };
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) return { wrong: 'has a path with ".."' };
  if (parts.some((part) => Buffer.byteLength(part) > maxNameBytes))
    return { wrong: `has a name of more than ${maxNameBytes} bytes` };
  return { path: parts.join('/') };
}

/** Whether a link's target may be in a bundle at all; null = no error so far. */
export function wrongTarget(target: string): string | null {
  if (target === '' || target.includes('\0')) return 'is a link without a usable target';
  if (target.startsWith('/')) return 'is a link to an absolute path';
  if (Buffer.byteLength(target) > maxPathBytes)
    return `is a link to a path of more than ${maxPathBytes} bytes`;
  return null;
}

/**
 * Follows links as the system would, without the system: `links` maps plain paths to targets. The returned function
 * gives the error in a link's destination, or null. Links may lead to missing files.
 */
export function linkJudge(links: ReadonlyMap<string, string>): (path: string) => string | null {
  /** Where a link leads in the end, free of links; a string = why it leads nowhere. */
  const ends = new Map<string, { parts: string[]; hops: number } | string>();
  const circle = 'is a link that leads back to itself';
  const outside = 'is a link that leads out of the folder';

  const resolve = (path: string, depth: number): { parts: string[]; hops: number } | string => {
    const known = ends.get(path);
    if (known !== undefined) return known;
    if (depth > maxHops) return circle;
    ends.set(path, circle); // coming here again means that the links form a circle
    const end = walk(path, depth);
    ends.set(path, end);
    return end;
  };

  const walk = (path: string, depth: number): { parts: string[]; hops: number } | string => {
    let parts = path.split('/').slice(0, -1);
    let hops = 1;
    for (const part of (links.get(path) ?? '').split('/')) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (parts.length === 0) return outside;
        parts.pop();
        continue;
      }
      parts.push(part);
      const here = parts.join('/');
      if (!links.has(here)) continue;
      const end = resolve(here, depth + 1);
      if (typeof end === 'string') return end;
      hops += end.hops;
      if (hops > maxHops) return `is a link through more than ${maxHops} others`;
      parts = [...end.parts];
    }
    return { parts, hops };
  };

  return (path) => {
    const end = resolve(path, 0);
    return typeof end === 'string' ? end : null;
  };
}
