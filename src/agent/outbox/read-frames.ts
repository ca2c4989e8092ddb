import type { promises as fs } from 'node:fs';
import type { Frame, FrameFormat } from './frames.ts';

/** A frame in its file: `end` is the position after it, `number` counts from 0 in both formats. */
export type FoundFrame = Omit<Frame, 'number'> & { number: number; end: number };

/** Bytes that are no frame, or a frame out of turn: reading continues at `to` with the frame `next`. */
export type Damage = {
  from: number;
  to: number;
  next: number;
  /** Frames that are missing; null = unknown, at least one unless the write was never finished. */
  lost: number | null;
};

export type FramesRead = { frames: FoundFrame[]; damage: Damage | null };

type Range = {
  /** Positions in the file; `to` is the end of the segment. */
  from: number;
  to: number;
  /** Number of the frame at `from`. */
  next: number;
  maxItems: number;
  maxBytes: number;
};

/** Bytes that one read fetches. */
const windowBytes = 1024 * 1024;

/**
 * The frames from `from`: at most `maxItems`, and at most `maxBytes` with a separator each, but at least one. Damage
 * ends the reading; it is returned, with the place of the next readable frame, once it is the first thing at `from`.
 */
export async function readFrames(
  file: fs.FileHandle,
  format: FrameFormat,
  range: Range,
): Promise<FramesRead> {
  const view = new View(file, range.to);
  const frames: FoundFrame[] = [];
  let { from, next } = range;
  let bytes = 0;
  while (from < range.to && frames.length < range.maxItems) {
    const frame = await frameAt(view, format, from);
    if (frame === null || (frame.number !== null && frame.number !== next)) {
      if (frames.length > 0) break;
      return { frames, damage: await measured(view, format, { from, next }) };
    }
    bytes += frame.payload.length + 1;
    if (frames.length > 0 && bytes > range.maxBytes) break;
    frames.push({ ...frame, number: next });
    from = frame.end;
    next += 1;
  }
  return { frames, damage: null };
}

/** True if a readable frame begins at `position`. */
export async function isFrameAt(
  file: fs.FileHandle,
  format: FrameFormat,
  { position, size }: { position: number; size: number },
): Promise<boolean> {
  return (await frameAt(new View(file, size), format, position)) !== null;
}

/** Position of the first readable frame from `position`; null = there is none. */
export async function findFrame(
  file: fs.FileHandle,
  format: FrameFormat,
  { position, size }: { position: number; size: number },
): Promise<number | null> {
  return (await seek(new View(file, size), format, position))?.at ?? null;
}

/** How far damage at `from` reaches, and what it costs. */
async function measured(
  view: View,
  format: FrameFormat,
  { from, next }: { from: number; next: number },
): Promise<Damage> {
  const found = await seek(view, format, from);
  if (found === null) return { from, to: view.size, next, lost: null };
  const { at, frame } = found;
  if (frame.number === null) return { from, to: at, next: next + 1, lost: null };
  // A copy of a frame from another place: skip it as well.
  const isCopy = frame.number < next || (await isFollowedByEarlier(view, format, { frame, next }));
  if (isCopy) return { from, to: frame.end, next, lost: 0 };
  return { from, to: at, next: frame.number, lost: frame.number - next };
}

/** Frames that are looked at to tell a gap from a frame in the wrong place. */
const maxLookAhead = 64;

/** Whether a frame that is not sent yet follows one with a higher number. */
async function isFollowedByEarlier(
  view: View,
  format: FrameFormat,
  { frame, next }: { frame: RawFrame; next: number },
): Promise<boolean> {
  let at = frame.end;
  for (let count = 0; count < maxLookAhead; count += 1) {
    const found = await seek(view, format, at);
    if (found?.frame.number === undefined || found.frame.number === null) return false;
    if (found.frame.number >= next && found.frame.number < (frame.number ?? 0)) return true;
    at = found.frame.end;
  }
  return false;
}

type RawFrame = Frame & { end: number };

async function seek(
  view: View,
  format: FrameFormat,
  from: number,
): Promise<{ at: number; frame: RawFrame } | null> {
  let at = from;
  while (at + format.headerBytes <= view.size) {
    const { bytes, offset } = await view.rest(at, format.headerBytes);
    const hit = format.seek(bytes, offset);
    if (hit < 0) {
      const end = at + bytes.length - offset;
      if (end >= view.size) return null;
      // A frame may begin in the last bytes and go on in the next window.
      at = Math.max(at + 1, end - format.headerBytes + 1);
      continue;
    }
    at += hit - offset;
    const frame = await frameAt(view, format, at);
    if (frame !== null) return { at, frame };
    at += 1;
  }
  return null;
}

async function frameAt(view: View, format: FrameFormat, position: number): Promise<RawFrame | null> {
  const { headerBytes } = format;
  if (position + headerBytes > view.size) return null;
  const head = view.loaded(position, headerBytes) ?? (await view.at(position, headerBytes));
  for (const length of format.lengths(head.bytes, head.offset)) {
    const size = headerBytes + length;
    if (position + size > view.size) continue;
    const whole = view.loaded(position, size) ?? (await view.at(position, size));
    const frame = format.parse(whole.bytes, whole.offset, length);
    if (frame !== null) return { ...frame, end: position + size };
  }
  return null;
}

type Place = { bytes: Buffer; offset: number };

/** A part of the file in memory that moves forward. Frames keep the parts that they lie in. */
class View {
  readonly size: number;
  readonly #file: fs.FileHandle;
  #bytes: Buffer = Buffer.alloc(0);
  #from = 0;

  constructor(file: fs.FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** `length` bytes at a position if they are in memory. */
  loaded(position: number, length: number): Place | null {
    const offset = position - this.#from;
    return offset >= 0 && offset + length <= this.#bytes.length ? { bytes: this.#bytes, offset } : null;
  }

  /** At least `length` bytes at a position, and all that are in memory after them. */
  async rest(position: number, length: number): Promise<Place> {
    return this.loaded(position, length) ?? this.at(position, length);
  }

  /** `length` bytes at a position; bytes that the file no longer has are zeros. */
  async at(position: number, length: number): Promise<Place> {
    const there = this.loaded(position, length);
    if (there !== null) return there;
    const wanted = Math.min(Math.max(length, windowBytes), this.size - position);
    const bytes = Buffer.allocUnsafe(wanted);
    let read = 0;
    while (read < wanted) {
      const { bytesRead } = await this.#file.read(bytes, read, wanted - read, position + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    this.#bytes = bytes.fill(0, read);
    this.#from = position;
    return { bytes, offset: 0 };
  }
}
