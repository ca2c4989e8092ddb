import type { Fields } from '../../json-values.ts';
import type { Field, MessageType, Schema } from './schema.ts';
import { isWrapper, ownForm } from './well-known.ts';
import { fieldsOf, ProtoError, readVarint, wireTypes, type WireField } from './wire.ts';

/**
 * Messages as JSON (the mapping of proto3): lowerCamelCase names, 64-bit integers as texts, bytes as base64, enums by
 * name. Fields that are not set are absent, and so are fields that the schema does not know.
 */

const maxDepth = 100;
/** Empty messages in lists cost two bytes each on the wire, and far more here. */
const maxValues = 500_000;

type Reading = { schema: Schema; values: number };

/** The JSON value of a message. Throws ProtoError if the bytes do not fit the type. */
export function messageToJson(schema: Schema, typeName: string, bytes: Buffer): unknown {
  return read(typeName, bytes, { schema, values: 0 }, 0);
}

function read(typeName: string, bytes: Buffer, reading: Reading, depth: number): unknown {
  if (depth > maxDepth) throw new ProtoError(`the message is nested more than ${maxDepth} levels deep`);
  const type = reading.schema.messages.get(typeName);
  if (type === undefined) throw new ProtoError(`the type ${typeName} is unknown`);
  const value: Fields = {};
  for (const wire of fieldsOf(bytes)) {
    const field = type.byNumber.get(wire.number);
    if (field === undefined) continue;
    if ((reading.values += 1) > maxValues)
      throw new ProtoError(`the message has more than ${maxValues} values`);
    if (field.repeated) addTo(value, field, wire, reading, depth);
    else {
      clearOneof(value, type, field);
      set(value, field.jsonName, single(field, wire, reading, depth));
    }
  }
  if (typeName === 'google.protobuf.Any') return anyToJson(value, reading, depth);
  if (isWrapper(typeName)) return value['value'] ?? defaultOf(type.fields[0]);
  return ownForm(typeName, value);
}

/** Names come from outside, so that even `__proto__` is a field and nothing else. */
function set(target: Fields, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Of the fields of a oneof the last one counts. */
function clearOneof(value: Fields, type: MessageType, { oneof, number }: Field): void {
  if (oneof === null) return;
  for (const other of type.fields) {
    if (other.oneof === oneof && other.number !== number) delete value[other.jsonName];
  }
}

function addTo(value: Fields, field: Field, wire: WireField, reading: Reading, depth: number): void {
  const entry = field.kind === 'message' ? reading.schema.messages.get(field.typeName) : undefined;
  if (entry?.isMapEntry === true) {
    const map = (Object.hasOwn(value, field.jsonName) ? value[field.jsonName] : {}) as Fields; // made here
    const pair = read(field.typeName, wire.bytes, reading, depth + 1) as Fields; // an entry has no form of its own
    const [keyField, valueField] = entry.fields;
    const key = pair['key'] ?? defaultOf(keyField);
    set(map, String(key), pair['value'] ?? emptyOf(valueField, reading, depth));
    set(value, field.jsonName, map);
    return;
  }
  const list = (Object.hasOwn(value, field.jsonName) ? value[field.jsonName] : []) as unknown[]; // made here
  if (wire.wireType === wireTypes.bytes && wireTypeOf(field) !== wireTypes.bytes) {
    for (const one of unpacked(field, wire)) {
      if ((reading.values += 1) > maxValues)
        throw new ProtoError(`the message has more than ${maxValues} values`);
      list.push(single(field, one, reading, depth));
    }
  } else list.push(single(field, wire, reading, depth));
  set(value, field.jsonName, list);
}

/** The values of a packed list, each as if it had come on its own. */
function* unpacked(field: Field, { bytes, number }: WireField): Generator<WireField> {
  const wireType = wireTypeOf(field);
  const size = wireType === wireTypes.fixed64 ? 8 : 4;
  for (let at = 0; at < bytes.length;) {
    if (wireType === wireTypes.varint) {
      const { value, end } = readVarint(bytes, at);
      yield { number, wireType, varint: value, bytes: bytes.subarray(0, 0) };
      at = end;
    } else {
      if (at + size > bytes.length) throw new ProtoError('a list is cut off');
      yield { number, wireType, varint: 0n, bytes: bytes.subarray(at, at + size) };
      at += size;
    }
  }
}

function wireTypeOf({ kind }: Field): number {
  switch (kind) {
    case 'string':
    case 'bytes':
    case 'message':
      return wireTypes.bytes;
    case 'double':
    case 'fixed64':
    case 'sfixed64':
      return wireTypes.fixed64;
    case 'float':
    case 'fixed32':
    case 'sfixed32':
      return wireTypes.fixed32;
    case 'group':
      return wireTypes.startGroup;
    default:
      return wireTypes.varint;
  }
}

function single(field: Field, wire: WireField, reading: Reading, depth: number): unknown {
  if (wire.wireType !== wireTypeOf(field)) {
    throw new ProtoError(`the field ${field.name} is not what the definition declares (${field.kind})`);
  }
  const { varint, bytes } = wire;
  switch (field.kind) {
    case 'message':
      return read(field.typeName, bytes, reading, depth + 1);
    case 'enum': {
      const number = Number(BigInt.asIntN(32, varint));
      return reading.schema.enums.get(field.typeName)?.names.get(number) ?? number;
    }
    case 'string':
      return bytes.toString('utf8');
    case 'bytes':
      return bytes.toString('base64');
    case 'bool':
      return varint !== 0n;
    case 'double':
      return numberToJson(bytes.readDoubleLE());
    case 'float':
      return numberToJson(Number(bytes.readFloatLE().toPrecision(7)));
    case 'int32':
      return Number(BigInt.asIntN(32, varint));
    case 'uint32':
      return Number(BigInt.asUintN(32, varint));
    case 'sint32':
      return Number(BigInt.asIntN(32, (varint >> 1n) ^ -(varint & 1n)));
    case 'fixed32':
      return bytes.readUInt32LE();
    case 'sfixed32':
      return bytes.readInt32LE();
    case 'int64':
      return BigInt.asIntN(64, varint).toString();
    case 'uint64':
      return varint.toString();
    case 'sint64':
      return BigInt.asIntN(64, (varint >> 1n) ^ -(varint & 1n)).toString();
    case 'fixed64':
      return bytes.readBigUInt64LE().toString();
    case 'sfixed64':
      return bytes.readBigInt64LE().toString();
    case 'group':
      throw new ProtoError(`the field ${field.name} is a group, which is not supported`);
  }
}

/** JSON has no NaN and no infinity. */
const numberToJson = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

function defaultOf(field: Field | undefined): unknown {
  switch (field?.kind) {
    case 'string':
    case 'bytes':
      return '';
    case 'bool':
      return false;
    case 'int64':
    case 'uint64':
    case 'fixed64':
    case 'sfixed64':
    case 'sint64':
      return '0';
    default:
      return 0;
  }
}

/** The value of a map's entry that has none. */
function emptyOf(field: Field | undefined, reading: Reading, depth: number): unknown {
  if (field?.kind === 'message') return read(field.typeName, Buffer.alloc(0), reading, depth + 1);
  if (field?.kind === 'enum') return reading.schema.enums.get(field.typeName)?.names.get(0) ?? 0;
  return defaultOf(field);
}

/** A message of a type that its URL names: with its fields if the schema knows the type, else as it is. */
function anyToJson(value: Fields, reading: Reading, depth: number): Fields {
  const url = String(value['typeUrl'] ?? '');
  const name = url.slice(url.lastIndexOf('/') + 1);
  const content = Buffer.from(String(value['value'] ?? ''), 'base64');
  if (!reading.schema.messages.has(name)) return { '@type': url, value: content.toString('base64') };
  const inner = read(name, content, reading, depth + 1);
  const isPlain = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  return isPlain ? { '@type': url, ...inner } : { '@type': url, value: inner };
}
