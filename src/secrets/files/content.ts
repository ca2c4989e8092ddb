import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { pipeline, type Transform } from 'node:stream';
import { scrubChunkBytes } from '../scrubber/scrubber.ts';

/** Bytes in pieces, in order. */
export type Pieces = AsyncIterable<Buffer>;

/** Content to scrub that can be read more than once. A piece is valid until the next one is read. */
export type Content = {
  /** Path within its archive, or the artifact's name. */
  readonly name: string;
  readonly pieces: () => Pieces;
  /** The complete content, if it is small. */
  readonly buffer: Buffer | null;
  /** The file that contains this content, if there is one. */
  readonly path: string | null;
};

export function contentOfBuffer(name: string, buffer: Buffer): Content {
  return { name, pieces: () => inPieces(buffer), buffer, path: null };
}

export function contentOfFile(name: string, path: string): Content {
  return { name, pieces: () => filePieces(path), buffer: null, path };
}

// Asynchronous, because other sources of pieces are.
// eslint-disable-next-line typescript/require-await -- see above
export async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += scrubChunkBytes) yield bytes.subarray(at, at + scrubChunkBytes);
}

// eslint-disable-next-line typescript/require-await -- as above
export async function* filePieces(path: string, from = 0, to = Infinity): AsyncGenerator<Buffer> {
  const fd = openSync(path, 'r');
  try {
    // A new buffer each time, because transforms keep their input.
    const until = Math.min(to, fstatSync(fd).size);
    for (let at = from; at < until;) {
      const chunk = Buffer.allocUnsafe(Math.min(scrubChunkBytes, until - at));
      const read = readSync(fd, chunk, 0, chunk.length, at);
      if (read === 0) return;
      at += read;
      yield chunk.subarray(0, read);
    }
  } finally {
    closeSync(fd);
  }
}

/** Passes `pieces` through `transform`; throws errors of either. */
export async function* through(transform: Transform, pieces: Pieces): AsyncGenerator<Buffer> {
  // The transform is read below and reports every error there.
  pipeline(pieces, transform, () => undefined);
  for await (const piece of transform) yield piece as Buffer; // a byte stream yields buffers
}

/** Joins `pieces` in one buffer; `expected` = the approximate number of bytes. */
export async function joined(pieces: Pieces, expected = 0): Promise<Buffer> {
  let all = Buffer.allocUnsafe(expected);
  let length = 0;
  for await (const piece of pieces) {
    if (length + piece.length > all.length) {
      const larger = Buffer.allocUnsafe(Math.ceil((length + piece.length) * 1.25));
      all.copy(larger, 0, 0, length);
      all = larger;
    }
    length += piece.copy(all, length);
  }
  return all.subarray(0, length);
}

/** The first bytes of `content`, at most `length`. */
export async function headOf(content: Content, length: number): Promise<Buffer> {
  if (content.buffer !== null) return content.buffer.subarray(0, length);
  const pieces = content.path === null ? content.pieces() : filePieces(content.path, 0, length);
  for await (const piece of pieces) return Buffer.from(piece.subarray(0, length));
  return Buffer.alloc(0);
}
