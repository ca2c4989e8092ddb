import { isFields, type Fields } from '../../json-values.ts';
import { jsonNameOf, type FileDeclaration } from './schema.ts';
import { parseProto } from './proto-text.ts';
import { ProtoError } from './wire.ts';

/** The types of google/protobuf that every file may import, and their own forms in JSON. */

const file = (declarations: string) => `syntax = "proto3"; package google.protobuf; ${declarations}`;
const wrapper = (name: string, type: string) => `message ${name} { ${type} value = 1; }`;

const sources: { readonly [path: string]: string | undefined } = {
  'google/protobuf/timestamp.proto': file('message Timestamp { int64 seconds = 1; int32 nanos = 2; }'),
  'google/protobuf/duration.proto': file('message Duration { int64 seconds = 1; int32 nanos = 2; }'),
  'google/protobuf/empty.proto': file('message Empty {}'),
  'google/protobuf/any.proto': file('message Any { string type_url = 1; bytes value = 2; }'),
  'google/protobuf/field_mask.proto': file('message FieldMask { repeated string paths = 1; }'),
  'google/protobuf/struct.proto': file(`
    message Struct { map<string, Value> fields = 1; }
    message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = 3;
      bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; } }
    enum NullValue { NULL_VALUE = 0; }
    message ListValue { repeated Value values = 1; }`),
  'google/protobuf/wrappers.proto': file(
    [
      ['DoubleValue', 'double'],
      ['FloatValue', 'float'],
      ['Int64Value', 'int64'],
      ['UInt64Value', 'uint64'],
      ['Int32Value', 'int32'],
      ['UInt32Value', 'uint32'],
      ['BoolValue', 'bool'],
      ['StringValue', 'string'],
      ['BytesValue', 'bytes'],
    ]
      .map(([name = '', type = '']) => wrapper(name, type))
      .join(' '),
  ),
};

/** A file that every compiler has with it; null = there is no such file. */
export function wellKnownFile(path: string): FileDeclaration | null {
  const source = Object.hasOwn(sources, path) ? sources[path] : undefined;
  return source === undefined ? null : { ...parseProto(source), name: path };
}

const wrappers: ReadonlySet<string> = new Set(
  ['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes'].map(
    (name) => `google.protobuf.${name}Value`,
  ),
);
export const isWrapper = (type: string): boolean => wrappers.has(type);

const seconds = (value: unknown) => BigInt(typeof value === 'string' ? value : 0);
const nanos = (value: unknown) => (typeof value === 'number' ? value : 0);
const fraction = (value: number) =>
  value === 0 ? '' : `.${String(Math.abs(value)).padStart(9, '0').replace(/0+$/, '')}`;

/** The own form in JSON of a message that was read field by field; unchanged if its type has none. */
export function ownForm(type: string, value: Fields): unknown {
  switch (type) {
    case 'google.protobuf.Timestamp': {
      const at = new Date(Number(seconds(value['seconds'])) * 1000);
      if (Number.isNaN(at.getTime())) return value;
      return `${at.toISOString().replace(/\.\d+Z$/, '')}${fraction(nanos(value['nanos']))}Z`;
    }
    case 'google.protobuf.Duration': {
      const [whole, part] = [seconds(value['seconds']), nanos(value['nanos'])];
      const sign = whole < 0n || part < 0 ? '-' : '';
      return `${sign}${whole < 0n ? -whole : whole}${fraction(part)}s`;
    }
    case 'google.protobuf.FieldMask':
      return Array.isArray(value['paths'])
        ? value['paths'].map((path) => jsonNameOf(String(path))).join(',')
        : '';
    case 'google.protobuf.Struct':
      return isFields(value['fields']) ? value['fields'] : {};
    case 'google.protobuf.ListValue':
      return Array.isArray(value['values']) ? value['values'] : [];
    case 'google.protobuf.Value':
      for (const kind of ['numberValue', 'stringValue', 'boolValue', 'structValue', 'listValue'])
        if (Object.hasOwn(value, kind)) return value[kind];
      return null;
    default:
      return value;
  }
}

/** The fields of a message that JSON shows in a form of its own. Null = the type has none. Throws ProtoError. */
export function fieldsOfForm(type: string, value: unknown): Fields | null {
  switch (type) {
    case 'google.protobuf.Timestamp': {
      const match =
        typeof value === 'string' ? /^(.{19})(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(value) : null;
      const at = match === null ? Number.NaN : Date.parse(`${match[1]}${match[3]}`);
      if (match === null || Number.isNaN(at))
        throw new ProtoError(`${type} needs a time such as 2026-01-31T12:00:00Z`);
      return { seconds: String(at / 1000), nanos: Number((match[2] ?? '').padEnd(9, '0')) };
    }
    case 'google.protobuf.Duration': {
      const match = typeof value === 'string' ? /^(-?)(\d{1,15})(?:\.(\d{1,9}))?s$/.exec(value) : null;
      if (match === null) throw new ProtoError(`${type} needs a duration such as 1.5s`);
      const sign = match[1] === '-' ? -1 : 1;
      return {
        seconds: String(sign * Number(match[2])),
        nanos: sign * Number((match[3] ?? '').padEnd(9, '0')),
      };
    }
    case 'google.protobuf.FieldMask': {
      if (typeof value !== 'string') throw new ProtoError(`${type} needs a text such as name,price`);
      const snake = (path: string) => path.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return { paths: value === '' ? [] : value.split(',').map(snake) };
    }
    case 'google.protobuf.Struct':
      return { fields: value };
    case 'google.protobuf.ListValue':
      return { values: value };
    case 'google.protobuf.Value':
      return { [kindOfValue(value)]: value === null ? 'NULL_VALUE' : value };
    default:
      return isWrapper(type) ? { value } : null;
  }
}

function kindOfValue(value: unknown): string {
  if (value === null) return 'nullValue';
  if (Array.isArray(value)) return 'listValue';
  const kinds: { readonly [type: string]: string | undefined } = {
    number: 'numberValue',
    string: 'stringValue',
    boolean: 'boolValue',
  };
  return kinds[typeof value] ?? 'structValue';
}
