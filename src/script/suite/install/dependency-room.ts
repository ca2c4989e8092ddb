import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { dayMs } from '../../../durations.ts';

/** Selects the entries of the dependency cache that must be deleted. */

/** Days that an unused entry is kept. */
const unusedDays = 30;

/**
 * Entries that were not used for 30 days, and the least recently used others until the rest takes at most `room` bytes.
 * `keep` is about to be replaced and does not count. Rejects with errors of the file system for `folder`.
 */
export async function entriesToDrop(options: {
  folder: string;
  keep: string;
  room: number;
  now: number;
}): Promise<string[]> {
  const { folder, keep, now } = options;
  const names = (await readdir(folder)).filter((name) => /^[0-9a-f]{64}$/.test(name) && name !== keep);
  const found = await Promise.all(names.map((name) => entryOf(folder, name)));
  // Newest first; an unreadable entry counts as the oldest.
  const entries = found.sort((a, b) => b.usedMs - a.usedMs);
  let room = options.room;
  return entries
    .filter(({ bytes, usedMs }) => {
      room -= bytes;
      return room < 0 || now - usedMs > unusedDays * dayMs;
    })
    .map(({ name }) => name);
}

async function entryOf(
  folder: string,
  name: string,
): Promise<{ name: string; bytes: number; usedMs: number }> {
  const file = join(folder, name, 'manifest.json');
  try {
    const { mtimeMs } = await stat(file);
    const parts = Object.values(
      JSON.parse(await readFile(file, 'utf8')) as { [part: string]: { bytes: number } },
    );
    return { name, bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), usedMs: mtimeMs };
  } catch {
    return { name, bytes: 0, usedMs: 0 };
  }
}
