import { closeSync, openSync, readSync } from 'node:fs';
import { pipeline, type Transform } from 'node:stream';
import { scrubChunkBytes } from './scrubber.ts';

/** Bytes in pieces, in order. */
export type Pieces = AsyncIterable<Buffer>;

/** Something to scrub that can be read more than once. Pieces are valid until the next one is asked for. */
export type Content = {
  /** Path within its archive, or the artifact's name. */
  readonly name: string;
  readonly pieces: () => Pieces;
  /** All of it, where it is small. */
  readonly whole: Buffer | null;
  /** The file that is this content, where there is one. */
  readonly path: string | null;
};

export function contentOfBuffer(name: string, whole: Buffer): Content {
  return { name, pieces: () => inPieces(whole), whole, path: null };
}

export function contentOfFile(name: string, path: string): Content {
  return { name, pieces: () => filePieces(path), whole: null, path };
}

// Asynchronous, since what else yields pieces is.
// eslint-disable-next-line typescript/require-await -- see above
export async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += scrubChunkBytes) yield bytes.subarray(at, at + scrubChunkBytes);
}

// eslint-disable-next-line typescript/require-await -- as above
export async function* filePieces(path: string, from = 0, to = Infinity): AsyncGenerator<Buffer> {
  const fd = openSync(path, 'r');
  try {
    // A new buffer each time: transforms hold on to what they are given.
    for (let at = from; at < to;) {
      const chunk = Buffer.allocUnsafe(Math.min(scrubChunkBytes, to - at));
      const read = readSync(fd, chunk, 0, chunk.length, at);
      if (read === 0) return;
      at += read;
      yield chunk.subarray(0, read);
    }
  } finally {
    closeSync(fd);
  }
}

/** `pieces` as `transform` changes them; its error, or theirs, is thrown. */
export async function* through(transform: Transform, pieces: Pieces): AsyncGenerator<Buffer> {
  // The transform is read below, and hands on every error there.
  pipeline(pieces, transform, () => undefined);
  for await (const piece of transform) yield piece as Buffer; // a byte stream yields buffers
}

/** All of `pieces` in one buffer. */
export async function joined(pieces: Pieces): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return all.length === 1 ? (all[0] ?? Buffer.alloc(0)) : Buffer.concat(all);
}

/** The first bytes of `content`, at most `length`. */
export async function headOf(content: Content, length: number): Promise<Buffer> {
  if (content.whole !== null) return content.whole.subarray(0, length);
  for await (const piece of content.pieces()) return Buffer.from(piece.subarray(0, length));
  return Buffer.alloc(0);
}
