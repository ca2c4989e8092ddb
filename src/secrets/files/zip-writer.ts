import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import type { Pieces } from './content.ts';

/** The name of a new entry, and the fields of the old one. */
export type ZipEntryHead = {
  readonly name: Buffer;
  readonly utf8: boolean;
  readonly time: number;
  readonly date: number;
};

type Data = {
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly unpacked: number;
};

const stored = 0;
const deflated = 8;
const max32 = 0xffffffff;
const max16 = 0xffff;

// Level 1 compresses three times as fast as 6, and most changed content is a trace's lines, which compress well anyway.
const level = 1;
// Blocks are compressed separately, which costs little at this size.
const blockBytes = 1024 * 1024;

/** Writes a zip archive to a new file, entry by entry, in constant memory except for the directory. */
export class ZipWriter {
  readonly #fd: number;
  readonly #directory: Buffer[] = [];
  #end = 0;

  constructor(path: string) {
    this.#fd = openSync(path, 'wx', 0o600);
  }

  /** Copies an entry in its compressed form. */
  async copy(head: ZipEntryHead, data: Omit<Data, 'packed'>, packed: Pieces): Promise<void> {
    await this.#entry(head, async () => {
      let length = 0;
      for await (const piece of packed) {
        this.#write(piece);
        length += piece.length;
      }
      return { ...data, packed: length };
    });
  }

  /** Adds an entry; `pack` false: stores it uncompressed. If `pieces` throw an error, nothing of the entry is kept. */
  async add(head: ZipEntryHead, pieces: Pieces | Buffer, { pack }: { pack: boolean }): Promise<void> {
    await this.#entry(head, async () => {
      let crc = 0;
      let unpacked = 0;
      let packed = 0;
      const write = (block: Buffer, last: boolean): void => {
        const finishFlush = last ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
        packed += this.#write(pack ? deflateRawSync(block, { level, finishFlush }) : block);
      };
      if (Buffer.isBuffer(pieces)) {
        crc = crc32(pieces);
        unpacked = pieces.length;
        for (let at = 0; at === 0 || at < unpacked; at += blockBytes)
          write(pieces.subarray(at, at + blockBytes), at + blockBytes >= unpacked);
        return { method: pack ? deflated : stored, crc, unpacked, packed };
      }
      let waiting: Buffer[] = [];
      let waitingBytes = 0;
      const flush = (last: boolean): void => {
        write(waiting.length === 1 ? (waiting[0] ?? Buffer.alloc(0)) : Buffer.concat(waiting), last);
        waiting = [];
        waitingBytes = 0;
      };
      for await (const piece of pieces) {
        crc = crc32(piece, crc);
        unpacked += piece.length;
        waitingBytes += piece.length;
        // Copied, because a piece is valid only until the next one.
        waiting.push(Buffer.from(piece));
        if (waitingBytes >= blockBytes) flush(false);
      }
      flush(true);
      return { method: pack ? deflated : stored, crc, unpacked, packed };
    });
  }

  /** Writes the directory, which completes the archive. */
  finish(): void {
    const start = this.#end;
    const count = this.#directory.length;
    for (const record of this.#directory) this.#write(record);
    const size = this.#end - start;
    if (count >= max16 || start >= max32) this.#write(zip64End(count, size, start, this.#end));
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(Math.min(count, max16), 8);
    end.writeUInt16LE(Math.min(count, max16), 10);
    end.writeUInt32LE(Math.min(size, max32), 12);
    end.writeUInt32LE(Math.min(start, max32), 16);
    this.#write(end);
    this.close();
  }

  #closed = false;
  close(): void {
    if (!this.#closed) closeSync(this.#fd);
    this.#closed = true;
  }

  async #entry(head: ZipEntryHead, write: () => Promise<Data>): Promise<void> {
    const start = this.#end;
    this.#write(Buffer.alloc(30 + head.name.length));
    try {
      const data = await write();
      const header = headerOf(head, data, start);
      writeSync(this.#fd, header.local, 0, header.local.length, start);
      this.#directory.push(header.central);
    } catch (error) {
      ftruncateSync(this.#fd, start);
      this.#end = start;
      throw error;
    }
  }

  #write(bytes: Buffer): number {
    for (let at = 0; at < bytes.length;) {
      at += writeSync(this.#fd, bytes, at, bytes.length - at, this.#end + at);
    }
    this.#end += bytes.length;
    return bytes.length;
  }
}

/** An entry's header, before its data and in the directory. Sizes are below 4 GiB because artifacts are limited. */
function headerOf(
  { name, utf8, time, date }: ZipEntryHead,
  { method, crc, packed, unpacked }: Data,
  start: number,
): { local: Buffer; central: Buffer } {
  if (start >= max32) throw new RangeError('an archive of 4 GiB and more cannot be written');
  const shared = Buffer.alloc(26);
  shared.writeUInt16LE(20, 0);
  shared.writeUInt16LE(utf8 ? 0x0800 : 0, 2);
  shared.writeUInt16LE(method, 4);
  shared.writeUInt16LE(time, 6);
  shared.writeUInt16LE(date, 8);
  shared.writeUInt32LE(crc, 10);
  shared.writeUInt32LE(packed, 14);
  shared.writeUInt32LE(unpacked, 18);
  shared.writeUInt16LE(name.length, 22);
  const signature = Buffer.from([0x50, 0x4b, 0x03, 0x04]);
  const isFolder = name.at(-1) === 0x2f;
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50, 0);
  // Marked as made by Unix, so that readers apply the mode: private files, no links.
  central.writeUInt16LE((3 << 8) | 63, 4);
  shared.copy(central, 6);
  central.writeUInt32LE(((isFolder ? 0o40755 : 0o100644) << 16) >>> 0, 38);
  central.writeUInt32LE(start, 42);
  return { local: Buffer.concat([signature, shared, name]), central: Buffer.concat([central, name]) };
}

function zip64End(count: number, size: number, start: number, at: number): Buffer {
  const end = Buffer.alloc(76);
  end.writeUInt32LE(0x06064b50, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE((3 << 8) | 63, 12);
  end.writeUInt16LE(45, 14);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(size), 40);
  end.writeBigUInt64LE(BigInt(start), 48);
  end.writeUInt32LE(0x07064b50, 56);
  end.writeBigUInt64LE(BigInt(at), 64);
  end.writeUInt32LE(1, 72);
  return end;
}
