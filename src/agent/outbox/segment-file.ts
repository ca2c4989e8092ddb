import { constants, promises as fs } from 'node:fs';
import { join } from 'node:path';
import { header, headerBytes, readFrames } from './segment.ts';

/** One segment of the store: a file, and how many of its results are sent. Sizes and positions in bytes. */
export type Segment = {
  path: string;
  size: number;
  acknowledged: number;
  /** For reading and acknowledging; opened when the segment is the next to send. */
  file: fs.FileHandle | null;
  /** Time of its oldest unacknowledged frame, if known. */
  oldestAt: number;
  /** Unacknowledged frames; null = an earlier agent wrote them, and they have not been counted yet. */
  frames: number | null;
};

/**
 * Creates an empty segment in `folder`. Names sort by time (milliseconds since the epoch), then by `number`. Rejects
 * with the file system's error and leaves no file then. Every write to the returned file waits for the disk.
 */
export async function createSegment(
  folder: string,
  { instanceId, number, time }: { instanceId: string; number: number; time: number },
): Promise<{ segment: Segment; file: fs.FileHandle }> {
  const order = `${String(time).padStart(15, '0')}-${String(number).padStart(6, '0')}`;
  const path = join(folder, `${order}-${instanceId.slice(0, 8)}.seg`);
  const { O_CREAT, O_EXCL, O_WRONLY, O_DSYNC } = constants;
  const file = await fs.open(path, O_CREAT | O_EXCL | O_WRONLY | O_DSYNC, 0o600);
  try {
    await file.write(header(), 0, headerBytes, 0);
    await syncFolder(folder);
  } catch (error) {
    await file.close();
    await fs.rm(path, { force: true });
    throw error;
  }
  const segment: Segment = {
    path,
    size: headerBytes,
    acknowledged: headerBytes,
    file: null,
    oldestAt: time,
    frames: 0,
  };
  return { segment, file };
}

/** Counts the unacknowledged frames by reading all of them. */
export async function countUnacknowledged({ file, acknowledged, size }: Segment): Promise<number> {
  if (file === null) return 0;
  const range = { from: acknowledged, to: size, maxItems: Infinity, maxBytes: size };
  return (await readFrames(file, range)).frames.length;
}

/** True if every result in it is acknowledged. */
export function isDrained(segment: Segment): boolean {
  return segment.acknowledged >= segment.size;
}

/** Makes the name of a new file survive a power failure too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await fs.open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
