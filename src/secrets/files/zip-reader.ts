import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { constants, createInflateRaw, inflateRawSync, type InflateRaw } from 'node:zlib';
import { fromBufferPromise, fromFdPromise, type Entry } from 'yauzl';
import { Unscrubbable, singlePieceBytes } from './artifact-scrubbing.ts';
import { through, type Pieces } from './content.ts';
import { scrubChunkBytes } from '../scrubber/scrubber.ts';

/** An archive's bytes, in a file or a buffer. */
type Bytes = { readonly size: number; read(at: number, length: number): Buffer };

/** A zip archive that is read through its directory; data without a directory entry is ignored. */
export type ZipReader = {
  entries(): AsyncIterable<Entry>;
  /** The stored bytes of an entry. Throws Unscrubbable if the archive ends before them. */
  packed(entry: Entry): Pieces;
  /** An entry's content in one piece, and whether the compressed bytes contain that and nothing else. */
  inOnePiece(entry: Entry): { bytes: Buffer; exact: boolean };
  /** An entry's content. Throws if it does not match the directory. */
  content(entry: Entry): Pieces;
  /** Whether `content`, read to its end, used all compressed bytes. */
  readonly exact: boolean;
  close(): void;
};

const stored = 0;
const deflated = 8;
const localHeaderBytes = 30;

/** Opens the archive in a file or a buffer. Throws Unscrubbable if it is broken or not an archive. */
export async function openZip(given: string | Buffer): Promise<ZipReader> {
  // A small archive is read at once: it may have many entries, and each would cost several reads.
  const source =
    typeof given === 'string' && statSync(given).size <= singlePieceBytes ? readFileSync(given) : given;
  const fd = typeof source === 'string' ? openSync(source, 'r') : null;
  const close = (): void => {
    if (fd !== null) closeSync(fd);
  };
  try {
    const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
    const zip =
      typeof source === 'string'
        ? await fromFdPromise(fd ?? -1, options)
        : await fromBufferPromise(source, options);
    const bytes = typeof source === 'string' ? bytesOfFile(fd ?? -1) : bytesOfBuffer(source);
    return zipReader(bytes, () => readable(zip.eachEntry()), close);
  } catch (error) {
    close();
    throw broken(error);
  }
}

function broken(error: unknown): Error {
  if (error instanceof Unscrubbable) return error;
  const { code, message } = error as NodeJS.ErrnoException; // an error of the file system, zlib or yauzl
  if (code !== undefined && !code.startsWith('Z_') && !code.startsWith('ERR_')) return error as Error;
  // Messages of yauzl may quote names.
  return new Unscrubbable(/encrypt/.test(message) ? 'an encrypted archive' : 'a broken archive');
}

async function* readable(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  try {
    yield* entries;
  } catch (error) {
    throw broken(error);
  }
}

function bytesOfFile(fd: number): Bytes {
  return {
    size: fstatSync(fd).size,
    read(at, length) {
      const bytes = Buffer.allocUnsafe(length);
      return bytes.subarray(0, readSync(fd, bytes, 0, length, at));
    },
  };
}

function bytesOfBuffer(buffer: Buffer): Bytes {
  return { size: buffer.length, read: (at, length) => buffer.subarray(at, at + length) };
}

function zipReader(bytes: Bytes, entries: () => AsyncIterable<Entry>, close: () => void): ZipReader {
  let exact = true;

  function dataStart(entry: Entry): number {
    const header = bytes.read(entry.relativeOffsetOfLocalHeader, localHeaderBytes);
    if (header.length < localHeaderBytes || header.readUInt32LE(0) !== 0x04034b50) {
      throw new Unscrubbable('a broken archive');
    }
    const start =
      entry.relativeOffsetOfLocalHeader +
      localHeaderBytes +
      header.readUInt16LE(26) +
      header.readUInt16LE(28);
    if (start + entry.compressedSize > bytes.size) throw new Unscrubbable('an archive that is cut short');
    return start;
  }

  function check(entry: Entry): void {
    if (entry.isEncrypted()) throw new Unscrubbable('an encrypted entry of an archive');
    const { compressionMethod: method } = entry;
    if (method !== stored && method !== deflated) {
      throw new Unscrubbable(`an entry of an archive that is packed by method ${method}`);
    }
    if (method === stored && entry.compressedSize !== entry.uncompressedSize) {
      throw new Unscrubbable('a broken archive');
    }
  }

  // eslint-disable-next-line typescript/require-await -- asynchronous like all sources of pieces
  async function* packed(entry: Entry): AsyncGenerator<Buffer> {
    const start = dataStart(entry);
    for (let at = 0; at < entry.compressedSize; at += scrubChunkBytes) {
      yield bytes.read(start + at, Math.min(scrubChunkBytes, entry.compressedSize - at));
    }
  }

  return {
    entries,
    packed,
    inOnePiece(entry) {
      check(entry);
      const data = bytes.read(dataStart(entry), entry.compressedSize);
      if (entry.compressionMethod === stored) return { bytes: data, exact: true };
      try {
        // With `info` the result contains the engine, which knows how much of its input it used.
        const { buffer, engine } = inflateRawSync(data, {
          maxOutputLength: Math.max(1, entry.uncompressedSize),
          // One buffer with a little extra room: otherwise zlib would join many, and the content would be in memory
          // twice.
          chunkSize: entry.uncompressedSize + 64,
          info: true,
        } as object) as unknown as { buffer: Buffer; engine: InflateRaw };
        if (buffer.length !== entry.uncompressedSize) throw new Unscrubbable('a broken archive');
        return { bytes: buffer, exact: engine.bytesWritten === data.length };
      } catch (error) {
        throw broken(error);
      }
    },
    async *content(entry) {
      check(entry);
      exact = true;
      if (entry.compressionMethod === stored) {
        yield* packed(entry);
        return;
      }
      const inflate = createInflateRaw({ chunkSize: scrubChunkBytes, finishFlush: constants.Z_FINISH });
      let size = 0;
      try {
        for await (const piece of through(inflate, packed(entry))) {
          size += piece.length;
          if (size > entry.uncompressedSize) throw new Unscrubbable('a broken archive');
          yield piece;
        }
      } catch (error) {
        throw broken(error);
      }
      if (size !== entry.uncompressedSize) throw new Unscrubbable('a broken archive');
      exact = inflate.bytesWritten === entry.compressedSize;
    },
    get exact() {
      return exact;
    },
    close,
  };
}

/** Whether an entry is small enough to be read in one piece. */
export function isSmall(entry: Entry): boolean {
  return entry.uncompressedSize <= singlePieceBytes && entry.compressedSize <= singlePieceBytes;
}
