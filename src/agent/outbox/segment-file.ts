import { constants, promises as fs } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../system-errors.ts';
import { format1, format2, type FrameFormat } from './frames.ts';
import { findFrame, isFrameAt, readFrames } from './read-frames.ts';
import {
  decodeHeader,
  encodeAcknowledged1,
  encodeHeader,
  headerBytes,
  isUnused1,
  type SegmentHeader,
} from './segment-header.ts';

/** One segment of the store: a file, and how many of its results are sent. Sizes and positions in bytes. */
export type Segment = {
  path: string;
  format: FrameFormat;
  size: number;
  acknowledged: number;
  /** For reading and acknowledging; opened when the segment is the next to send. */
  file: fs.FileHandle | null;
  /** Time of its oldest unacknowledged frame, if known. */
  oldestAt: number;
  /** Number of the frame at `acknowledged`. */
  next: number;
  /** Frames in it; null = not known: an earlier release wrote it, or its header is damaged. */
  total: number | null;
  isHeaderDamaged: boolean;
};

export const segmentEnding = '.seg';

/**
 * Creates an empty segment in `folder`. Names sort by time (milliseconds since the epoch), then by `number`. Rejects
 * with the file system's error and leaves no file then. Every write to the returned file waits for the disk.
 */
export async function createSegment(
  folder: string,
  { instanceId, number, time }: { instanceId: string; number: number; time: number },
): Promise<{ segment: Segment; file: fs.FileHandle }> {
  const order = `${String(time).padStart(15, '0')}-${String(number).padStart(6, '0')}`;
  const path = join(folder, `${order}-${instanceId.slice(0, 8)}${segmentEnding}`);
  const { O_CREAT, O_EXCL, O_WRONLY, O_DSYNC } = constants;
  const size = headerBytes[2];
  const segment: Segment = {
    path,
    format: format2,
    size,
    acknowledged: size,
    file: null,
    oldestAt: time,
    next: 0,
    total: 0,
    isHeaderDamaged: false,
  };
  // Under another name until its header is on disk: a segment without a header has then lost something.
  const unfinished = `${path}.new`;
  const file = await fs.open(unfinished, O_CREAT | O_EXCL | O_WRONLY | O_DSYNC, 0o600);
  try {
    await file.write(encodeHeader(headerOf(segment)), 0, size, 0);
    await fs.rename(unfinished, path);
    await syncFolder(folder);
    segment.file = await openFile(path);
    return { segment, file };
  } catch (error) {
    await file.close();
    await fs.rm(unfinished, { force: true }).catch(() => undefined);
    await fs.rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Opens a segment of an earlier agent. 'empty' if it never had a frame; `lost`: results that are missing at its end,
 * or null if it cannot be read at all and their number is unknown. Rejects with the file system's error.
 */
export async function openSegment(
  path: string,
  oldestAt: number,
): Promise<Segment | 'empty' | { lost: number | null }> {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    const start = Buffer.alloc(Math.min(size, headerBytes[2]));
    await file.read(start, 0, start.length, 0);
    if (isUnused1(start)) return 'empty';
    const common = { path, size, file: null, oldestAt, isHeaderDamaged: false };
    const { format, header, acknowledged1 } = decodeHeader(start);
    if (header !== null) {
      const { acknowledgedEnd, acknowledgedFrames: next, writtenFrames: total } = header;
      // Everything that was not acknowledged is missing.
      if (size < acknowledgedEnd || (size === acknowledgedEnd && next < total)) return { lost: total - next };
      return { ...common, format: format2, acknowledged: acknowledgedEnd, next, total };
    }
    if (format !== null && acknowledged1 !== null) {
      const position = await checkedPosition1(file, { position: acknowledged1, size });
      return { ...common, format, acknowledged: position, next: 0, total: null };
    }
    // Its header is damaged: whatever can be found is sent, even if the service has some of it.
    for (const each of [format2, format1]) {
      const found = await findFrame(file, each, { position: 0, size });
      if (found === null) continue;
      const acknowledged = Math.min(headerBytes[each.version], found);
      return { ...common, format: each, acknowledged, next: 0, total: null, isHeaderDamaged: true };
    }
    return { lost: null };
  } finally {
    await file.close();
  }
}

/** Opens a segment to read and acknowledge, or only to read if the disk is read-only. */
export async function openFile(path: string): Promise<fs.FileHandle> {
  try {
    return await fs.open(path, constants.O_RDWR);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw error;
    return fs.open(path, constants.O_RDONLY);
  }
}

/**
 * Records how far the service has acknowledged and how much was written. Not synchronised: if the record is lost,
 * results are sent twice, not lost. Never rejects.
 */
export async function writeHeader(segment: Segment): Promise<void> {
  const { file, format, acknowledged } = segment;
  if (file === null) return;
  const { bytes, position } =
    format.version === 1
      ? encodeAcknowledged1(acknowledged)
      : { bytes: encodeHeader(headerOf(segment)), position: 0 };
  await file.write(bytes, 0, bytes.length, position).catch(() => undefined);
}

function headerOf({ acknowledged, size, next, total }: Segment): SegmentHeader {
  return {
    acknowledgedEnd: acknowledged,
    writtenEnd: size,
    acknowledgedFrames: next,
    writtenFrames: total ?? next,
  };
}

/** Counts the unacknowledged frames by reading all of them up to the first damage. */
export async function countUnacknowledged({
  file,
  format,
  acknowledged,
  size,
  next,
}: Segment): Promise<number> {
  if (file === null) return 0;
  let count = 0;
  let from = acknowledged;
  for (;;) {
    const range = { from, to: size, next: next + count, maxItems: 1000, maxBytes: 1024 * 1024 };
    const { frames } = await readFrames(file, format, range);
    count += frames.length;
    const last = frames.at(-1);
    if (last === undefined) return count;
    from = last.end;
  }
}

/** True if every result in it is acknowledged. */
export function isDrained(segment: Segment): boolean {
  return segment.acknowledged >= segment.size;
}

/** Format 1 does not protect this position: if it is no beginning of a frame, everything is sent again. */
async function checkedPosition1(
  file: fs.FileHandle,
  { position, size }: { position: number; size: number },
): Promise<number> {
  const first = headerBytes[1];
  if (position === size) return position;
  const isIn = position >= first && position < size;
  return isIn && (await isFrameAt(file, format1, { position, size })) ? position : first;
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
