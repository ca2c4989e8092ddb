import { isFields } from '../../json-values.ts';
import { shortened } from '../../shortened.ts';
import type { Field, Schema } from './schema.ts';
import { fieldsOfForm } from './well-known.ts';
import { ProtoError, wireTypes, Writer } from './wire.ts';

/** JSON values as messages: the other direction of decode.ts. Both spellings of names are accepted. */

const maxDepth = 100;

/** The bytes of a message. Throws ProtoError, which names the field, if the value does not fit the type. */
export function messageFromJson(schema: Schema, typeName: string, value: unknown): Buffer {
  return write(schema, typeName, value, { path: '', depth: 0 });
}

type Place = { path: string; depth: number };

const at = ({ path, depth }: Place, name: string): Place => ({
  path: path === '' ? name : `${path}.${name}`,
  depth: depth + 1,
});
const fail = ({ path }: Place, expected: string, found: unknown): never => {
  const shown = shortened(JSON.stringify(found) ?? 'nothing', 60);
  throw new ProtoError(`${path === '' ? 'the message' : path} must be ${expected}, not ${shown}`);
};

function write(schema: Schema, typeName: string, value: unknown, place: Place): Buffer {
  if (place.depth > maxDepth) throw new ProtoError(`the message is nested more than ${maxDepth} levels deep`);
  const type = schema.messages.get(typeName);
  if (type === undefined) throw new ProtoError(`the type ${typeName} is unknown`);
  if (typeName === 'google.protobuf.Any') return writeAny(schema, value, place);
  const fields = fieldsOfForm(typeName, value) ?? value;
  if (!isFields(fields)) return fail(place, 'an object', value);
  const writer = new Writer();
  for (const [name, content] of Object.entries(fields)) {
    const field = type.byName.get(name);
    if (field === undefined) {
      const known = shortened(type.fields.map((each) => each.jsonName).join(', '), 300);
      throw new ProtoError(`${at(place, name).path} is no field of ${typeName}; its fields are ${known}`);
    }
    // Null is the default of every type but Value, which has a null of its own.
    if (content === null && field.typeName !== 'google.protobuf.Value') continue;
    writeField(schema, writer, { field, content, place: at(place, name) });
  }
  return writer.done();
}

/** `{"@type": "type.googleapis.com/NAME", …}`. */
function writeAny(schema: Schema, value: unknown, place: Place): Buffer {
  const url = isFields(value) ? value['@type'] : undefined;
  if (!isFields(value) || typeof url !== 'string') return fail(place, 'an object with @type', value);
  const name = url.slice(url.lastIndexOf('/') + 1);
  const { '@type': _type, ...rest } = value;
  const hasForm = name.startsWith('google.protobuf.') && Object.hasOwn(rest, 'value');
  const inner = write(schema, name, hasForm ? rest['value'] : rest, at(place, '@type'));
  return new Writer().text(1, url).bytes(2, inner).done();
}

type Part = { field: Field; content: unknown; place: Place };

function writeField(schema: Schema, writer: Writer, { field, content, place }: Part): void {
  const { number } = field;
  const entry = field.kind === 'message' ? schema.messages.get(field.typeName) : undefined;
  if (field.repeated && entry?.isMapEntry === true) {
    if (!isFields(content)) return void fail(place, 'an object', content);
    for (const [key, value] of Object.entries(content)) {
      writer.bytes(number, write(schema, field.typeName, { key, value }, at(place, key)));
    }
    return;
  }
  if (!field.repeated) {
    writeSingle(schema, writer, { field, content, place });
    return;
  }
  if (!Array.isArray(content)) return void fail(place, 'a list', content);
  const list = content as unknown[]; // Array.isArray gives any
  if (!field.packed) {
    for (const [index, each] of list.entries())
      writeSingle(schema, writer, { field, content: each, place: at(place, String(index)) });
    return;
  }
  const packed = new Writer();
  for (const [index, each] of list.entries())
    packed.raw(scalarBytes(schema, { field, content: each, place: at(place, String(index)) }).bytes);
  if (list.length > 0) writer.bytes(number, packed.done());
}

function writeSingle(schema: Schema, writer: Writer, part: Part): void {
  const { field, content, place } = part;
  if (field.kind === 'group') throw new ProtoError(`${place.path} is a group, which is not supported`);
  if (field.kind === 'message') {
    writer.bytes(field.number, write(schema, field.typeName, content, place));
    return;
  }
  if (field.kind === 'string') {
    writer.text(field.number, typeof content === 'string' ? content : fail(place, 'a text', content));
    return;
  }
  if (field.kind === 'bytes') {
    const isBase64 = typeof content === 'string' && /^[\w+/-]*={0,2}$/.test(content);
    writer.bytes(field.number, isBase64 ? Buffer.from(content, 'base64') : fail(place, 'base64', content));
    return;
  }
  const { wireType, bytes } = scalarBytes(schema, part);
  writer.tag(field.number, wireType).raw(bytes);
}

/** A number, truth value or enum. Keys of maps are texts in JSON, whatever their type. */
function scalarBytes(schema: Schema, { field, content, place }: Part): { wireType: number; bytes: Buffer } {
  const { kind } = field;
  const varint = (value: bigint) => ({
    wireType: wireTypes.varint,
    bytes: new Writer().varint(value).done(),
  });
  const integer = (bits: 32 | 64, isSigned: boolean): bigint => {
    const isText = typeof content === 'string' && /^-?\d{1,20}$/.test(content);
    if (!isText && !(typeof content === 'number' && Number.isSafeInteger(content)))
      return fail(place, `an integer (${kind})`, content);
    const value = BigInt(content as string | number); // one of the two, as tested
    const fits = isSigned ? BigInt.asIntN(bits, value) === value : BigInt.asUintN(bits, value) === value;
    return fits ? value : fail(place, `a number that fits ${kind}`, content);
  };
  const float = (): number => {
    const value =
      typeof content === 'string' && /^(?:NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.test(content)
        ? Number(content)
        : content;
    return typeof value === 'number' ? value : fail(place, 'a number', content);
  };
  const fixed = (size: 4 | 8, put: (bytes: Buffer) => void) => {
    const bytes = Buffer.alloc(size);
    put(bytes);
    return { wireType: size === 4 ? wireTypes.fixed32 : wireTypes.fixed64, bytes };
  };
  switch (kind) {
    case 'bool': {
      const truth = content === 'true' ? true : content === 'false' ? false : content;
      return varint(typeof truth === 'boolean' ? BigInt(truth) : fail(place, 'true or false', content));
    }
    case 'enum': {
      if (typeof content === 'number') return varint(integer(32, true));
      const names = schema.enums.get(field.typeName)?.numbers;
      const number = typeof content === 'string' ? names?.get(content) : undefined;
      const known = shortened([...(names?.keys() ?? [])].join(', '), 200);
      return varint(BigInt(number ?? fail(place, `one of ${known}`, content)));
    }
    case 'int32':
      return varint(integer(32, true));
    case 'int64':
      return varint(integer(64, true));
    case 'uint32':
      return varint(integer(32, false));
    case 'uint64':
      return varint(integer(64, false));
    case 'sint32':
    case 'sint64': {
      const value = integer(kind === 'sint32' ? 32 : 64, true);
      return varint(value < 0n ? -2n * value - 1n : 2n * value);
    }
    case 'fixed32':
      return fixed(4, (bytes) => bytes.writeUInt32LE(Number(integer(32, false))));
    case 'sfixed32':
      return fixed(4, (bytes) => bytes.writeInt32LE(Number(integer(32, true))));
    case 'fixed64':
      return fixed(8, (bytes) => bytes.writeBigUInt64LE(integer(64, false)));
    case 'sfixed64':
      return fixed(8, (bytes) => bytes.writeBigInt64LE(integer(64, true)));
    case 'float':
      return fixed(4, (bytes) => bytes.writeFloatLE(float()));
    case 'double':
      return fixed(8, (bytes) => bytes.writeDoubleLE(float()));
    default:
      return fail(place, 'a number', content);
  }
}
