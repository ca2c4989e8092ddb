/** The wire format of Protocol Buffers: tags, lengths and numbers. What they mean is the schema's matter. */

/** Bytes that are no message, a schema that contradicts itself, or a JSON value that does not fit a type. */
export class ProtoError extends Error {
  override readonly name = 'ProtoError';
}

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** One field as it lies on the wire. `value` is a number for varint, fixed32 and fixed64, else bytes. */
export type WireField = { number: number; wireType: number; varint: bigint; bytes: Buffer };

const none = Buffer.alloc(0);
/** Groups may contain groups; servers do not nest them deeper. */
const maxGroups = 32;

/** A varint at `at`, and where it ends. */
export function readVarint(bytes: Buffer, at: number): { value: bigint; end: number } {
  let value = 0n;
  // Most are short, and bigints are slow.
  const first = bytes[at];
  if (first !== undefined && first < 0x80) return { value: BigInt(first), end: at + 1 };
  for (let index = 0; index < 10; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) throw new ProtoError('a message is cut off');
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: at + index + 1 };
  }
  throw new ProtoError('a number has more than 10 bytes');
}

/** The fields of a message, one at a time. The content of groups is skipped. Throws ProtoError. */
export function* fieldsOf(bytes: Buffer): Generator<WireField> {
  for (let at = 0; at < bytes.length;) {
    const { field, end } = readField(bytes, at, 0);
    at = end;
    if (field !== null) yield field;
  }
}

function readField(bytes: Buffer, from: number, groups: number): { field: WireField | null; end: number } {
  const tag = readVarint(bytes, from);
  const number = Number(tag.value >> 3n);
  const wireType = Number(tag.value & 7n);
  if (number < 1 || number > 536_870_911) throw new ProtoError('a field has an impossible number');
  let at = tag.end;
  switch (wireType) {
    case wireTypes.varint: {
      const { value, end } = readVarint(bytes, at);
      return { field: { number, wireType, varint: value, bytes: none }, end };
    }
    case wireTypes.fixed64:
    case wireTypes.fixed32: {
      const end = at + (wireType === wireTypes.fixed64 ? 8 : 4);
      if (end > bytes.length) throw new ProtoError('a message is cut off');
      return { field: { number, wireType, varint: 0n, bytes: bytes.subarray(at, end) }, end };
    }
    case wireTypes.bytes: {
      const length = readVarint(bytes, at);
      const end = length.end + Number(length.value);
      if (end > bytes.length) throw new ProtoError('a message is cut off');
      return { field: { number, wireType, varint: 0n, bytes: bytes.subarray(length.end, end) }, end };
    }
    case wireTypes.startGroup:
      if (groups >= maxGroups) throw new ProtoError('groups are nested too deeply');
      for (;;) {
        const next = readVarint(bytes, at);
        if (Number(next.value & 7n) === wireTypes.endGroup) return { field: null, end: next.end };
        at = readField(bytes, at, groups + 1).end;
      }
    default:
      throw new ProtoError(`a field has the unknown wire type ${wireType}`);
  }
}

/** Collects the parts of a message. */
export class Writer {
  readonly #parts: Buffer[] = [];

  varint(value: bigint): this {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, value);
    do {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      bytes.push(rest === 0n ? low : low | 0x80);
    } while (rest !== 0n);
    this.#parts.push(Buffer.from(bytes));
    return this;
  }

  tag(number: number, wireType: number): this {
    return this.varint((BigInt(number) << 3n) | BigInt(wireType));
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  /** A field with a length: text, bytes or a message. */
  bytes(number: number, content: Buffer): this {
    return this.tag(number, wireTypes.bytes).varint(BigInt(content.length)).raw(content);
  }

  text(number: number, content: string): this {
    return this.bytes(number, Buffer.from(content));
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
