/**
 * Two polynomial hashes modulo 2^32, 64 bits together: equal texts always have equal hashes, different ones practically
 * never. A collision would only mask one text too many.
 */

const base1 = 0x2c1b3c6d;
const base2 = 0x9e3779b1;

export type Hash = { first: number; second: number };

/** The hash of `bytes[from, to)`, continued from `start`. */
export function hashBytes(bytes: Uint8Array, from: number, to: number, start?: Hash): Hash {
  let first = start?.first ?? 0;
  let second = start?.second ?? 0;
  for (let i = from; i < to; i++) {
    const byte = (bytes[i] ?? 0) + 1;
    first = (Math.imul(first, base1) + byte) | 0;
    second = (Math.imul(second, base2) + byte) | 0;
  }
  return { first, second };
}

/** Hashes any part of a text in constant time, after one pass over the text. */
export class PrefixHashes {
  #first = new Int32Array(0);
  #second = new Int32Array(0);
  #power1 = new Int32Array(0);
  #power2 = new Int32Array(0);
  #from = 0;

  /** Reads `text[from, to)`: parts within it can be hashed until the next call. */
  read(text: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (this.#first.length <= length) this.#grow(length + 1);
    const first = this.#first;
    const second = this.#second;
    let h1 = 0;
    let h2 = 0;
    for (let i = 0; i < length; i++) {
      const byte = (text[from + i] ?? 0) + 1;
      h1 = (Math.imul(h1, base1) + byte) | 0;
      h2 = (Math.imul(h2, base2) + byte) | 0;
      first[i + 1] = h1;
      second[i + 1] = h2;
    }
    this.#from = from;
  }

  first(start: number, length: number): number {
    const at = start - this.#from;
    return ((this.#first[at + length] ?? 0) - Math.imul(this.#first[at] ?? 0, this.#power1[length] ?? 0)) | 0;
  }

  second(start: number, length: number): number {
    const at = start - this.#from;
    return (
      ((this.#second[at + length] ?? 0) - Math.imul(this.#second[at] ?? 0, this.#power2[length] ?? 0)) | 0
    );
  }

  #grow(length: number): void {
    this.#first = new Int32Array(length);
    this.#second = new Int32Array(length);
    this.#power1 = powers(base1, length);
    this.#power2 = powers(base2, length);
  }
}

function powers(base: number, length: number): Int32Array<ArrayBuffer> {
  const table = new Int32Array(length);
  table[0] = 1;
  for (let i = 1; i < length; i++) table[i] = Math.imul(table[i - 1] ?? 0, base);
  return table;
}
