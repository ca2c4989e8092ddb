import { DnsMalformed, readName } from './message.ts';

/** Reads the data of one record field by field. Every method throws DnsMalformed at the end of the data. */
export class DnsReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  /** The complete message, because names may point back into it, and the position of the data in it. */
  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Bytes not read yet. */
  get left(): number {
    return this.#end - this.#at;
  }

  take(length: number): Buffer {
    if (length > this.left) throw new DnsMalformed('the data of a record end too early');
    const from = this.#at;
    this.#at += length;
    return this.#bytes.subarray(from, this.#at);
  }

  u8(): number {
    return this.take(1).readUInt8();
  }

  u16(): number {
    return this.take(2).readUInt16BE();
  }

  u32(): number {
    return this.take(4).readUInt32BE();
  }

  /** An absolute name in presentation form. */
  name(): string {
    const { name, end } = readName(this.#bytes, this.#at, this.#end);
    this.#at = end;
    return name;
  }

  /** A string with its length in the first byte (RFC 1035 section 3.3). */
  string(): Buffer {
    return this.take(this.u8());
  }

  rest(): Buffer {
    return this.take(this.left);
  }

  /** The rest in upper-case hexadecimal digits. */
  hex(): string {
    return this.rest().toString('hex').toUpperCase();
  }

  base64(): string {
    return this.rest().toString('base64');
  }
}
