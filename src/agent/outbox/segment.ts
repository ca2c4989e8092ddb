import { constants, promises as fs, type PathLike } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * One file of the outbox: a header, then frames, each with its length and checksum. Frames are only appended. The
 * header holds how many bytes the service has acknowledged, so that little is sent twice after a crash.
 *
 * Header, 32 bytes: magic (8), acknowledged end (uint64 LE), zeroes. Frame: payload length (uint32 LE), CRC-32 of the
 * payload (uint32 LE), time of appending in ms since the epoch (float64 LE), payload.
 */

const magic = Buffer.from('LAOUTBX1');
export const headerBytes = 32;
export const frameHeaderBytes = 16;
/** A larger length means damage. */
export const maxPayloadBytes = 64 * 1024 * 1024;

export type Frame = { payload: Buffer; time: number; end: number };

/** The readable frames, and why reading stopped: at the end, at a torn last frame, or at damage at `at`. */
export type FramesRead = {
  frames: Frame[];
  stop: null | { kind: 'torn' } | { kind: 'damaged'; at: number; resumeAt: number | null };
};

export function header(): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  magic.copy(bytes);
  bytes.writeBigUInt64LE(BigInt(headerBytes), 8);
  return bytes;
}

/** Payloads as frames in one buffer for a single write; in `scratch` if it is long enough. */
export function framed(payloads: readonly Buffer[], time: number, scratch?: Buffer): Buffer {
  let size = 0;
  for (const payload of payloads) size += frameHeaderBytes + payload.length;
  const bytes =
    scratch !== undefined && scratch.length >= size ? scratch.subarray(0, size) : Buffer.allocUnsafe(size);
  let offset = 0;
  for (const payload of payloads) {
    bytes.writeUInt32LE(payload.length, offset);
    bytes.writeUInt32LE(crc32(payload), offset + 4);
    bytes.writeDoubleLE(time, offset + 8);
    payload.copy(bytes, offset + frameHeaderBytes);
    offset += frameHeaderBytes + payload.length;
  }
  return bytes;
}

/**
 * Opens a segment for reading and acknowledging. 'empty' if it contains no frame, as after a crash before its header
 * was written; 'damaged' if its header is not valid.
 */
export async function openSegment(
  path: PathLike,
): Promise<{ file: fs.FileHandle; size: number; acknowledged: number } | 'empty' | 'damaged'> {
  const file = await fs.open(path, constants.O_RDWR);
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
  // Cut short while it was written, so no frame follows.
  if (size <= headerBytes && buffer.subarray(0, size).equals(header().subarray(0, size))) {
    await file.close();
    return 'empty';
  }
  const acknowledged = Number(buffer.readBigUInt64LE(8));
  const ours = bytesRead === headerBytes && buffer.subarray(0, magic.length).equals(magic);
  if (!ours || acknowledged < headerBytes || acknowledged > size) {
    await file.close();
    return 'damaged';
  }
  return { file, size, acknowledged };
}

/**
 * Records how far the service has acknowledged. Not synced: if the record is lost, results are sent twice, not lost.
 */
export async function writeAcknowledged(file: fs.FileHandle, offset: number): Promise<void> {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(offset), 0);
  await file.write(bytes, 0, 8, 8);
}

/**
 * Frames from `from` up to `to`, at most `maxItems` and about `maxBytes` (but at least one). A last frame that does
 * not end at `to` was torn by a crash.
 */
export async function readFrames(
  file: fs.FileHandle,
  range: { from: number; to: number; maxItems: number; maxBytes: number },
): Promise<FramesRead> {
  const { from, to } = range;
  const window = Math.min(to - from, Math.max(range.maxBytes, frameHeaderBytes));
  let bytes = await readFully(file, from, window);
  const frames: Frame[] = [];
  let offset = 0;
  while (from + offset < to && frames.length < range.maxItems) {
    const left = to - from - offset;
    if (left < frameHeaderBytes) return { frames, stop: { kind: 'torn' } };
    if (bytes.length - offset < frameHeaderBytes) break;
    const length = bytes.readUInt32LE(offset);
    const at = from + offset;
    // A file system may have reserved the space and never filled it.
    if (length === 0 && bytes.subarray(offset).every((byte) => byte === 0))
      return { frames, stop: { kind: 'torn' } };
    if (length === 0 || length > maxPayloadBytes)
      return { frames, stop: { kind: 'damaged', at, resumeAt: null } };
    const end = offset + frameHeaderBytes + length;
    if (from + end > to) return { frames, stop: { kind: 'torn' } };
    if (end > bytes.length) {
      if (frames.length > 0) break;
      bytes = await readFully(file, from, end);
      if (bytes.length < end) return { frames, stop: { kind: 'torn' } };
    }
    const payload = bytes.subarray(offset + frameHeaderBytes, end);
    if (crc32(payload) !== bytes.readUInt32LE(offset + 4)) {
      // The last frame of all, which was being written when the machine stopped.
      if (from + end === to) return { frames, stop: { kind: 'torn' } };
      return { frames, stop: { kind: 'damaged', at, resumeAt: from + end } };
    }
    frames.push({ payload, time: bytes.readDoubleLE(offset + 8), end: from + end });
    offset = end;
  }
  return { frames, stop: null };
}

async function readFully(file: fs.FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}
