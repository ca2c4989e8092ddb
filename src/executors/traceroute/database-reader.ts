/** Reads the data section of a file in MMDB format, which may be damaged or hostile: every step is bounded. */

/** The file is no such database, or damaged. */
export class InvalidDatabase extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidDatabase';
  }
}

/** The values that callers need; anything else is skipped and reads as null. */
export type DatabaseValue = string | number | boolean | null;

const types = {
  extended: 0,
  pointer: 1,
  text: 2,
  double: 3,
  bytes: 4,
  uint16: 5,
  uint32: 6,
  map: 7,
  int32: 8,
  uint64: 9,
  uint128: 10,
  array: 11,
  boolean: 14,
  float: 15,
} as const;

const maxTextBytes = 1024;
/** Fields and elements that one lookup reads at most. */
const maxItems = 500;
const maxDepth = 8;
/** Sizes of pointers of 1 to 3 bytes begin after those of the shorter ones. */
const pointerOffsets = [0, 2048, 526_336, 0] as const;

type Control = { type: number; size: number; next: number };
type Budget = { items: number };

/** Values of one data section. */
export class DatabaseReader {
  readonly #bytes: Buffer;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The fields of the map at an offset whose values are texts, numbers or booleans. Throws InvalidDatabase. */
  fieldsAt(offset: number): Map<string, DatabaseValue> {
    const { at } = this.#resolve(offset);
    const { type, size, next } = this.#controlAt(at);
    if (type !== types.map) throw new InvalidDatabase('an entry is no map');
    const fields = new Map<string, DatabaseValue>();
    const budget = { items: maxItems };
    let place = next;
    for (let index = 0; index < size; index++) {
      const key = this.#valueAt(place, 0, budget);
      const value = this.#valueAt(key.next, 0, budget);
      if (typeof key.value !== 'string') throw new InvalidDatabase('a key is no text');
      fields.set(key.value, value.value);
      place = value.next;
    }
    return fields;
  }

  /** The place that a pointer leads to (pointers do not lead to pointers), and the place after it. */
  #resolve(offset: number): { at: number; next: number | null } {
    const { type, size, next } = this.#controlAt(offset);
    if (type !== types.pointer) return { at: offset, next: null };
    if (this.#controlAt(size).type === types.pointer)
      throw new InvalidDatabase('a pointer leads to another one');
    return { at: size, next };
  }

  #valueAt(offset: number, depth: number, budget: Budget): { value: DatabaseValue; next: number } {
    budget.items -= 1;
    if (budget.items < 0 || depth > maxDepth) throw new InvalidDatabase('an entry is too large');
    const { at, next: afterPointer } = this.#resolve(offset);
    const { type, size, next } = this.#controlAt(at);
    if (type === types.map || type === types.array) {
      // What a pointer leads to need not be read to find the place after the pointer.
      if (afterPointer !== null) return { value: null, next: afterPointer };
      let place = next;
      for (let index = 0; index < size * (type === types.map ? 2 : 1); index++) {
        place = this.#valueAt(place, depth + 1, budget).next;
      }
      return { value: null, next: place };
    }
    if (type === types.boolean) return { value: size !== 0, next: afterPointer ?? next };
    const body = this.#slice(next, size);
    return { value: scalar(type, body), next: afterPointer ?? next + size };
  }

  #controlAt(offset: number): Control {
    const first = this.#byte(offset);
    let next = offset + 1;
    let type: number = first >> 5;
    if (type === types.pointer) {
      const length = (first >> 3) & 3;
      const bytes = this.#slice(next, length + 1);
      const low = bytes.readUIntBE(0, length + 1);
      const high = length === 3 ? 0 : (first & 7) * 2 ** (8 * (length + 1));
      return { type, size: high + low + (pointerOffsets[length] ?? 0), next: next + length + 1 };
    }
    if (type === types.extended) {
      type = 7 + this.#byte(next);
      next += 1;
    }
    let size = first & 0x1f;
    if (size >= 29) {
      const length = size - 28;
      const more = this.#slice(next, length).readUIntBE(0, length);
      size = more + (length === 1 ? 29 : length === 2 ? 285 : 65_821);
      next += length;
    }
    return { type, size, next };
  }

  #byte(offset: number): number {
    const byte = this.#bytes[offset];
    if (byte === undefined) throw new InvalidDatabase('an entry is incomplete');
    return byte;
  }

  #slice(offset: number, length: number): Buffer {
    if (offset < 0 || offset + length > this.#bytes.length)
      throw new InvalidDatabase('an entry is incomplete');
    return this.#bytes.subarray(offset, offset + length);
  }
}

function scalar(type: number, body: Buffer): DatabaseValue {
  if (type === types.text) return body.toString('utf8', 0, maxTextBytes);
  if (type === types.uint16 || type === types.uint32) {
    if (body.length > 4) throw new InvalidDatabase('a number is too long');
    return body.length === 0 ? 0 : body.readUIntBE(0, body.length);
  }
  return null;
}
