import { promisify } from 'node:util';
import { gunzip as gunzipCallback, gzip as gzipCallback } from 'node:zlib';
import { ProtoError } from './wire.ts';

/** Messages in the body of a call: a flag, four bytes of length, and the message, compressed or not. */

const gunzip = promisify(gunzipCallback);
const gzip = promisify(gzipCallback);

export type Frame = { isCompressed: boolean; bytes: Buffer };

/** One message as it is sent. */
export async function frameOf(message: Buffer, compression: 'none' | 'gzip'): Promise<Buffer> {
  const content = compression === 'gzip' ? await gzip(message) : message;
  const head = Buffer.alloc(5);
  head[0] = compression === 'gzip' ? 1 : 0;
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** An answer that breaks the framing, or a message above the check's limit. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly isTooLarge: boolean;
  constructor(message: string, isTooLarge = false) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

/** Cuts a body into messages as it comes; keeps at most one incomplete message of `maxBytes`. */
export class FrameReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #have = 0;
  /** Bytes of the current frame with its head; null = the head is not complete. */
  #need: number | null = null;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether a message has begun that has not ended. */
  get isInside(): boolean {
    return this.#have > 0;
  }

  /** The messages that `chunk` completes. Throws FrameError. */
  push(chunk: Buffer): Frame[] {
    this.#parts.push(chunk);
    this.#have += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#need === null) {
        if (this.#have < 5) return frames;
        const head = this.#joined();
        const flag = head[0] ?? 0;
        if (flag > 1) throw new FrameError('the answer is not made of gRPC messages');
        const length = head.readUInt32BE(1);
        if (length > this.#maxBytes) {
          throw new FrameError(
            `a message has ${length} bytes, above maxMessageBytes (${this.#maxBytes})`,
            true,
          );
        }
        this.#need = 5 + length;
      }
      if (this.#have < this.#need) return frames;
      const all = this.#joined();
      frames.push({ isCompressed: all[0] === 1, bytes: all.subarray(5, this.#need) });
      const rest = all.subarray(this.#need);
      this.#parts = rest.length === 0 ? [] : [rest];
      this.#have = rest.length;
      this.#need = null;
    }
  }

  #joined(): Buffer {
    const [first] = this.#parts;
    const all = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    this.#parts = [all];
    return all;
  }
}

/** The message of a frame. A small one may unpack to a huge one, so the limit holds for the result. */
export async function unpacked(
  { isCompressed, bytes }: Frame,
  { encoding, maxBytes }: { encoding: string; maxBytes: number },
): Promise<Buffer> {
  if (!isCompressed || encoding === 'identity') return bytes;
  if (encoding !== 'gzip') throw new FrameError(`the answer is compressed by ${JSON.stringify(encoding)}`);
  try {
    return await gunzip(bytes, { maxOutputLength: maxBytes });
  } catch (error: unknown) {
    const isTooLarge = error instanceof RangeError;
    throw new FrameError(
      isTooLarge
        ? `a message unpacks to more than maxMessageBytes (${maxBytes})`
        : 'a message is no gzip data',
      isTooLarge,
    );
  }
}

/** JSON of the request. Throws ProtoError. */
export function parseMessage(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch (error: unknown) {
    throw new ProtoError(`the message is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
}
