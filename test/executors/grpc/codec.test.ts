import { describe, expect, test } from 'vitest';
import { messageToJson } from '../../../src/executors/grpc/decode.ts';
import { readDescriptorSet } from '../../../src/executors/grpc/descriptor.ts';
import { messageFromJson } from '../../../src/executors/grpc/encode.ts';
import { parseProto } from '../../../src/executors/grpc/proto-text.ts';
import { link, type Schema } from '../../../src/executors/grpc/schema.ts';
import { wellKnownFile } from '../../../src/executors/grpc/well-known.ts';
import { ProtoError, Writer } from '../../../src/executors/grpc/wire.ts';

/** Types and messages of Protocol Buffers: every kind of value, and input that nobody should send. */

const wellKnown = ['timestamp', 'duration', 'struct', 'wrappers', 'any', 'field_mask', 'empty'].flatMap(
  (name) => wellKnownFile(`google/protobuf/${name}.proto`) ?? [],
);
const schemaOf = (text: string): Schema => link([parseProto(text), ...wellKnown]);

const everything = `
  // A comment; /* another */ one.
  syntax = "proto3";
  package all.kinds;
  import "google/protobuf/timestamp.proto";
  option java_package = "x.y";
  option (custom) = { a: 1 b: [2, 3] };
  message Every {
    option deprecated = true;
    reserved 100 to 199, 250; reserved "old";
    double a_double = 1; float a_float = 2; int64 an_int64 = 3; uint64 a_uint64 = 4; int32 an_int32 = 5;
    fixed64 a_fixed64 = 6; fixed32 a_fixed32 = 7; bool a_bool = 8; string a_string = 9; bytes some_bytes = 10;
    uint32 a_uint32 = 11; sfixed32 a_sfixed32 = 12; sfixed64 a_sfixed64 = 13; sint32 a_sint32 = 14; sint64 a_sint64 = 15;
    Color color = 16; Inner inner = 17; repeated int32 packed = 18; repeated int32 unpacked = 19 [packed = false];
    repeated string texts = 20; map<string, Inner> by_name = 21; map<int32, Color> by_number = 22;
    oneof choice { string left = 23; int32 right = 24; }
    optional int32 maybe = 25; string renamed = 26 [json_name = "otherName", deprecated = true];
    google.protobuf.Timestamp at = 27; .google.protobuf.Duration lasts = 28; google.protobuf.Struct free = 29;
    google.protobuf.Value value = 30; google.protobuf.Int64Value wrapped = 31; google.protobuf.Any any = 32;
    google.protobuf.FieldMask mask = 33; google.protobuf.ListValue list = 34;
    message Inner { string message = 1; Inner inner = 2; }
    enum Color { option allow_alias = true; RED = 0; BLUE = 1 [deprecated = true]; NAVY = 1; NEGATIVE = -5; reserved 7; }
  }
  service Things {
    option (x) = "y";
    rpc Get (Every) returns (Every.Inner) { option (google.api.http) = { get: "/v1/{name=things/*}" }; };
    rpc Watch (stream .all.kinds.Every) returns (stream Every);
  }`;
const schema = schemaOf(everything);
const type = 'all.kinds.Every';

const value = {
  aDouble: 1.5,
  aFloat: -0.25,
  anInt64: '-9223372036854775808',
  aUint64: '18446744073709551615',
  anInt32: -2147483648,
  aFixed64: '1',
  aFixed32: 4294967295,
  aBool: true,
  aString: 'größer',
  someBytes: 'AP8=',
  aUint32: 4294967295,
  aSfixed32: -1,
  aSfixed64: '-1',
  aSint32: -1,
  aSint64: '-9223372036854775808',
  color: 'BLUE',
  inner: { message: 'in', inner: { message: 'deeper' } },
  packed: [1, -2, 3],
  unpacked: [4, 5],
  texts: ['a', ''],
  byName: { x: { message: 'y' }, __proto: {} },
  byNumber: { 7: 'NEGATIVE' },
  right: 3,
  maybe: 0,
  otherName: 'z',
  at: '2026-01-02T03:04:05.000000006Z',
  lasts: '-1.500s',
  free: { a: [1, 'b', null, { c: true }] },
  value: null,
  wrapped: '12',
  any: { '@type': 'type.googleapis.com/all.kinds.Every.Inner', message: 'any' },
  mask: 'aName,other',
  list: [1, [2]],
};

test('every kind of value, there and back', () => {
  const back = messageToJson(schema, type, messageFromJson(schema, type, value));
  expect(back).toEqual({ ...value, lasts: '-1.5s' });
});

test('methods with their types and streams', () => {
  expect(Object.fromEntries(schema.methods)).toEqual({
    'all.kinds.Things/Get': {
      input: type,
      output: `${type}.Inner`,
      clientStreaming: false,
      serverStreaming: false,
    },
    'all.kinds.Things/Watch': { input: type, output: type, clientStreaming: true, serverStreaming: true },
  });
});

test('declared names, texts for numbers, and the last of a oneof', () => {
  const bytes = messageFromJson(schema, type, { an_int64: 5, aDouble: 'NaN', left: 'l' });
  const both = Buffer.concat([bytes, messageFromJson(schema, type, { right: 1 })]);
  expect(messageToJson(schema, type, both)).toEqual({ anInt64: '5', aDouble: 'NaN', right: 1 });
});

test('a name like __proto__ is a field and nothing else', () => {
  const odd = schemaOf('syntax = "proto3"; message M { map<string, string> m = 1; }');
  const sent = JSON.parse('{"m": {"__proto__": "x"}}') as unknown;
  const back = messageToJson(odd, 'M', messageFromJson(odd, 'M', sent));
  expect(JSON.stringify(back)).toBe('{"m":{"__proto__":"x"}}');
  expect(({} as { x?: unknown }).x).toBeUndefined();
});

test.each([
  [{ anInt32: 2147483648 }, /anInt32 must be a number that fits int32/],
  [{ anInt32: 1.5 }, /anInt32 must be an integer/],
  [{ aUint32: -1 }, /fits uint32/],
  [{ aUint64: '18446744073709551616' }, /fits uint64/],
  [{ color: 'GREEN' }, /color must be one of RED, BLUE, NAVY, NEGATIVE/],
  [{ someBytes: 'ü' }, /someBytes must be base64/],
  [{ inner: { message: 1 } }, /inner\.message must be a text/],
  [{ texts: 'a' }, /texts must be a list/],
  [{ texts: ['a', 1] }, /texts\.1 must be a text/],
  [{ byName: [] }, /byName must be an object/],
  [{ at: 'yesterday' }, /needs a time/],
  [{ lasts: '1' }, /needs a duration/],
  [{ any: {} }, /with @type/],
  [[], /the message must be an object/],
  ['text', /the message must be an object/],
])('%j does not fit', (wrong, message) => {
  expect(() => messageFromJson(schema, type, wrong)).toThrow(message);
});

describe('malformed texts', () => {
  test.each([
    ['message M {', /expected a field/],
    ['message M { string = 1; }', /expected a name/],
    ['message M { string a 1; }', /expected "="/],
    ['message M { string a = 0; }', /number of a field/],
    ['message M { string a = 1 }', /expected ";"/],
    ['message M { Nothing a = 1; }', /type Nothing, which nothing declares/],
    ['service S { rpc A (Nothing) returns (Nothing); }', /message type that nothing declares/],
    ['import "a.proto"; nonsense', /expected a declaration/],
    ['message M { string a = 1; } §', /unexpected "§"/],
    ['/* open', /unexpected/],
    ['message M { repeated group G = 1 {} }', /no group/],
    ['option x = {', /expected ";"/],
    ['extend M {', /expected "}"/],
  ])('%j', (text, message) => {
    expect(() => schemaOf(text)).toThrow(message);
    expect(() => schemaOf(text)).toThrow(ProtoError);
  });

  test('cut off anywhere, a text is a ProtoError or a schema', () => {
    for (let at = 0; at < everything.length; at += 3) {
      try {
        schemaOf(everything.slice(0, at));
      } catch (error: unknown) {
        expect(error).toBeInstanceOf(ProtoError);
      }
    }
  });

  test('too deep, too many', () => {
    const deep = `${'message M {'.repeat(5000)}${'}'.repeat(5000)}`;
    expect(() => schemaOf(deep)).toThrow(/too deeply/);
    const many = Array.from({ length: 21_000 }, (_, at) => `message M${at} {}`).join('\n');
    expect(() => schemaOf(many)).toThrow(/more than 20000 types/);
    expect(() => parseProto(';'.repeat(520_000))).toThrow(/more than 500000 words/);
  });
});

describe('bombs', () => {
  test('descriptors inside of descriptors', () => {
    let nested: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 1000; depth++) nested = new Writer().text(1, 'M').bytes(3, nested).done();
    const file = new Writer().bytes(4, nested).done();
    expect(() => readDescriptorSet(new Writer().bytes(1, file).done())).toThrow(/too deeply/);
  });

  test('100,000 files, and types without end', () => {
    const file = new Writer().text(1, 'a').done();
    const files = Buffer.concat(Array.from({ length: 100_000 }, () => new Writer().bytes(1, file).done()));
    expect(() => readDescriptorSet(files)).toThrow(/more than 1000 files/);
    const message = new Writer().bytes(4, new Writer().text(1, 'M').done()).done();
    const types = Array.from({ length: 100_000 }, (_, at) =>
      new Writer().bytes(4, new Writer().text(1, `M${at}`).done()).done(),
    );
    const large = readDescriptorSet(new Writer().bytes(1, Buffer.concat([message, ...types])).done());
    expect(() => link(large)).toThrow(/more than 20000 types/);
  });

  test('messages inside of messages, and lists of empty ones', () => {
    const nest = schemaOf('syntax = "proto3"; message N { N n = 1; repeated N list = 2; }');
    let nested: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 500; depth++) nested = new Writer().bytes(1, nested).done();
    expect(() => messageToJson(nest, 'N', nested)).toThrow(/more than 100 levels/);
    const empty = Buffer.alloc(4 * 1024 * 1024);
    for (let at = 0; at < empty.length; at += 2) empty[at] = 0x12; // an empty message of the list
    const before = process.memoryUsage.rss();
    expect(() => messageToJson(nest, 'N', empty)).toThrow(/more than 500000 values/);
    expect((process.memoryUsage.rss() - before) / 1024 / 1024).toBeLessThan(300);
  });

  test('groups inside of groups', () => {
    const groups = Buffer.alloc(10_000, 0x0b);
    expect(() => messageToJson(schema, type, groups)).toThrow(/nested too deeply/);
  });

  test('cut off or changed anywhere, bytes are a ProtoError or a value', () => {
    const bytes = messageFromJson(schema, type, value);
    for (let at = 0; at < bytes.length; at++) {
      for (const wrong of [bytes.subarray(0, at), changed(bytes, at)]) {
        try {
          messageToJson(schema, type, wrong);
        } catch (error: unknown) {
          expect(error).toBeInstanceOf(ProtoError);
        }
      }
    }
  });
});

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0xff;
  return copy;
}
