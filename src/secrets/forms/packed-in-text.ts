import { mask } from '../secret.ts';

// Base64 of the first bytes of zip and gzip, long enough to identify an archive.
const archive = /(?<![A-Za-z0-9+/])(?:UEsDB|H4sI)[A-Za-z0-9+/\\]{25,}={0,2}/g;

/**
 * Masks archives that a JSON tree contains as base64. Archives in a result are not unpacked, so their content would
 * leave unscrubbed. Never changes `tree` in place; returns the same reference if there are none.
 */
export function withoutArchives<T>(tree: T): T {
  return without(tree) as T; // same shape, with masks in some strings
}

function without(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.includes('UEsDB') || value.includes('H4sI') ? value.replaceAll(archive, mask) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const list: unknown[] = value;
    const clean = list.map(without);
    return clean.some((item, i) => item !== list[i]) ? clean : list;
  }
  let changed = false;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const clean = without(item);
    changed ||= clean !== item;
    return [key, clean];
  });
  return changed ? Object.fromEntries(entries) : value;
}
