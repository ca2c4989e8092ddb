import { crc32 } from 'node:zlib';

/**
 * Frames of a segment: one result each. A segment is a header (`segment-header.ts`), then frames, which are only
 * appended. Numbers are little-endian.
 *
 * Format 2, which this release writes; 28 bytes, then the payload:
 *
 * | bytes | content                                                                                    |
 * | ----- | ------------------------------------------------------------------------------------------ |
 * | 0–3   | mark; it has control characters, so it never occurs in JSON and each frame can be found again |
 * | 4–7   | length of the payload                                                                      |
 * | 8–11  | CRC-32 of everything from byte 16 to the end of the payload                                |
 * | 12–15 | length of the payload again                                                                |
 * | 16–19 | number of the frame in its segment, from 0; a gap shows how many frames were lost          |
 * | 20–27 | time of appending, milliseconds since the epoch (float64)                                  |
 *
 * Format 1, of earlier releases, is only read; 16 bytes, then the payload: length (0–3), CRC-32 of the payload (4–7),
 * time of appending (8–15).
 */
export type Frame = {
  payload: Buffer;
  time: number;
  /** Its number in the segment; null in format 1. */
  number: number | null;
};

export type FrameFormat = {
  readonly version: 1 | 2;
  readonly headerBytes: number;
  /** Possible lengths of the payload of a frame at `offset`, the most likely first. */
  lengths: (bytes: Buffer, offset: number) => number[];
  /** The frame at `offset` with a payload of `length` bytes; null if its checksum differs. */
  parse: (bytes: Buffer, offset: number, length: number) => Frame | null;
  /** The first position from `from` at which a frame may begin; -1 = none in `bytes`. */
  seek: (bytes: Buffer, from: number) => number;
};

/** A larger length means damage. */
export const maxPayloadBytes = 64 * 1024 * 1024;

const mark = Buffer.from([0x9d, 0x1a, 0x52, 0x0c]);
const checkedFrom = 16;

export const format2: FrameFormat = {
  version: 2,
  headerBytes: 28,
  lengths: (bytes, offset) => {
    const first = bytes.readUInt32LE(offset + 4);
    const second = bytes.readUInt32LE(offset + 12);
    return (first === second ? [first] : [first, second]).filter(isLength);
  },
  parse: (bytes, offset, length) => {
    const start = offset + format2.headerBytes;
    const checked = bytes.subarray(offset + checkedFrom, start + length);
    if (crc32(checked) !== bytes.readUInt32LE(offset + 8)) return null;
    return {
      payload: bytes.subarray(start, start + length),
      time: bytes.readDoubleLE(offset + 20),
      number: bytes.readUInt32LE(offset + 16),
    };
  },
  seek: (bytes, from) => bytes.indexOf(mark, from),
};

/** Times of frames that this format can be recognised by: the years 2014 to 2065. */
const firstTime = 1.4e12;
const lastTime = 3e12;

export const format1: FrameFormat = {
  version: 1,
  headerBytes: 16,
  lengths: (bytes, offset) => [bytes.readUInt32LE(offset)].filter(isLength),
  parse: (bytes, offset, length) => {
    const payload = bytes.subarray(offset + 16, offset + 16 + length);
    if (crc32(payload) !== bytes.readUInt32LE(offset + 4)) return null;
    return { payload, time: bytes.readDoubleLE(offset + 8), number: null };
  },
  seek: (bytes, from) => {
    for (let offset = from; offset + 16 <= bytes.length; offset += 1) {
      // The highest byte of every such time.
      if (bytes[offset + 15] !== 0x42) continue;
      const time = bytes.readDoubleLE(offset + 8);
      if (time > firstTime && time < lastTime && isLength(bytes.readUInt32LE(offset))) return offset;
    }
    return -1;
  },
};

/**
 * Payloads as frames of format 2 in one buffer for a single write; in `scratch` if it is long enough. `number`: of the
 * first.
 */
export function framed(
  payloads: readonly Buffer[],
  { time, number, scratch }: { time: number; number: number; scratch?: Buffer },
): Buffer {
  const { headerBytes } = format2;
  const size = framedBytes(payloads);
  const bytes =
    scratch !== undefined && scratch.length >= size ? scratch.subarray(0, size) : Buffer.allocUnsafe(size);
  let offset = 0;
  for (const [index, payload] of payloads.entries()) {
    const end = offset + headerBytes + payload.length;
    mark.copy(bytes, offset);
    bytes.writeUInt32LE(payload.length, offset + 4);
    bytes.writeUInt32LE(payload.length, offset + 12);
    bytes.writeUInt32LE(number + index, offset + 16);
    bytes.writeDoubleLE(time, offset + 20);
    payload.copy(bytes, offset + headerBytes);
    bytes.writeUInt32LE(crc32(bytes.subarray(offset + checkedFrom, end)), offset + 8);
    offset = end;
  }
  return bytes;
}

/** Length of `framed`. */
export function framedBytes(payloads: readonly Buffer[]): number {
  return payloads.reduce((sum, { length }) => sum + format2.headerBytes + length, 0);
}

function isLength(length: number): boolean {
  return length > 0 && length <= maxPayloadBytes;
}
