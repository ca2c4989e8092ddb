import { crc32 } from 'node:zlib';
import { format1, format2, type FrameFormat } from './frames.ts';

/**
 * The header of a segment. It records how far the service has acknowledged, so that little is sent twice after
 * a crash, and how much was written, so that a segment that was cut short is noticed.
 *
 * Format 2: two equal copies of 48 bytes. Each has: magic `LAOUTBX2` (0–7), acknowledged end (8–15, uint64 LE), written
 * end (16–23, uint64 LE), frames acknowledged (24–27), frames written (28–31), zeros (32–43), CRC-32 of the bytes before
 * (44–47). The header is written after the frames and not synchronised: if the machine stops, it may be older than the
 * frames, and results are sent twice, not lost.
 *
 * Format 1, of earlier releases: magic `LAOUTBX1` (0–7), acknowledged end (8–15), zeros up to byte 31.
 */
export type SegmentHeader = {
  /** Positions in bytes. */
  acknowledgedEnd: number;
  writtenEnd: number;
  acknowledgedFrames: number;
  writtenFrames: number;
};

const magic1 = Buffer.from('LAOUTBX1');
const magic2 = Buffer.from('LAOUTBX2');
const copyBytes = 48;
const crcAt = 44;

/** Bytes of the header, by format. */
export const headerBytes = { 1: 32, 2: 2 * copyBytes } as const;

/** Both copies of a header of format 2. */
export function encodeHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(headerBytes[2]);
  magic2.copy(bytes);
  bytes.writeBigUInt64LE(BigInt(header.acknowledgedEnd), 8);
  bytes.writeBigUInt64LE(BigInt(header.writtenEnd), 16);
  bytes.writeUInt32LE(header.acknowledgedFrames, 24);
  bytes.writeUInt32LE(header.writtenFrames, 28);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, crcAt)), crcAt);
  bytes.copy(bytes, copyBytes, 0, copyBytes);
  return bytes;
}

/** The acknowledged end as the header of format 1 holds it, and its position in the file. */
export function encodeAcknowledged1(offset: number): { bytes: Buffer; position: number } {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(offset), 0);
  return { bytes, position: 8 };
}

/**
 * What the first bytes of a segment say. `header` is null if neither copy is valid; `format` is null if it cannot be
 * recognised either.
 */
export function decodeHeader(bytes: Buffer): {
  format: FrameFormat | null;
  header: SegmentHeader | null;
  acknowledged1: number | null;
} {
  const copies = [0, copyBytes]
    .map((at) => bytes.subarray(at, at + copyBytes))
    .filter((copy) => copy.length === copyBytes && copy.subarray(0, 8).equals(magic2))
    .filter((copy) => crc32(copy.subarray(0, crcAt)) === copy.readUInt32LE(crcAt))
    .map((copy): SegmentHeader => ({
      acknowledgedEnd: Number(copy.readBigUInt64LE(8)),
      writtenEnd: Number(copy.readBigUInt64LE(16)),
      acknowledgedFrames: copy.readUInt32LE(24),
      writtenFrames: copy.readUInt32LE(28),
    }))
    // Both are written at once; after a crash one may be newer.
    .sort((a, b) => b.writtenEnd - a.writtenEnd || b.acknowledgedEnd - a.acknowledgedEnd);
  const [header = null] = copies;
  if (header !== null) return { format: format2, header, acknowledged1: null };
  const isFirst = bytes.length >= headerBytes[1] && bytes.subarray(0, 8).equals(magic1);
  if (isFirst) return { format: format1, header, acknowledged1: Number(bytes.readBigUInt64LE(8)) };
  return { format: null, header, acknowledged1: null };
}

/** True for a header of format 1 without frames, even if a crash cut it short. */
export function isUnused1(bytes: Buffer): boolean {
  if (bytes.length < magic1.length) return false;
  const unused = Buffer.alloc(headerBytes[1]);
  magic1.copy(unused);
  unused.writeBigUInt64LE(BigInt(headerBytes[1]), 8);
  return bytes.length <= unused.length && bytes.equals(unused.subarray(0, bytes.length));
}
