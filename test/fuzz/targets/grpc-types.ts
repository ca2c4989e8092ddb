import { messageToJson } from '../../../src/executors/grpc/decode.ts';
import { readDescriptorSet } from '../../../src/executors/grpc/descriptor.ts';
import { messageFromJson } from '../../../src/executors/grpc/encode.ts';
import { FrameError, FrameReader } from '../../../src/executors/grpc/frames.ts';
import { parseProto } from '../../../src/executors/grpc/proto-text.ts';
import { link, type FileDeclaration, type Schema } from '../../../src/executors/grpc/schema.ts';
import { ProtoError, Writer } from '../../../src/executors/grpc/wire.ts';

/** gRPC: the server writes descriptors, messages and frames, and a customer the text of a .proto file. */

export const name = 'grpc-types';

const text = `syntax = "proto3"; package p; message M { int32 a = 1; repeated sint64 b = 2; map<string, M> c = 3;
  oneof d { string e = 4; bytes f = 5; } E g = 6; double h = 7; enum E { Z = 0; Y = -1; } }
  service S { rpc Get (M) returns (stream M); }`;
const schema: Schema = link([parseProto(text)]);

/** Only these two are expected; their message is for people. */
function expected(error: unknown): void {
  if (!(error instanceof ProtoError) && !(error instanceof FrameError)) throw error;
}

function attempt(work: () => void): void {
  try {
    work();
  } catch (error: unknown) {
    expected(error);
  }
}

const linked = (files: readonly FileDeclaration[]) => void link(files);

/** The first byte chooses the reader. */
export function run(data: Buffer): void {
  const content = data.subarray(1);
  switch ((data[0] ?? 0) % 4) {
    case 0:
      attempt(() => linked(readDescriptorSet(content)));
      break;
    case 1:
      attempt(() => linked([parseProto(content.toString('utf8'))]));
      break;
    case 2:
      attempt(() => {
        const value = messageToJson(schema, 'p.M', content);
        const again = messageToJson(schema, 'p.M', messageFromJson(schema, 'p.M', value));
        if (JSON.stringify(again) !== JSON.stringify(value)) throw new Error('the value changed on its way');
      });
      break;
    default:
      attempt(() => {
        const reader = new FrameReader(65_536);
        for (let at = 0; at < content.length; at += 7) reader.push(content.subarray(at, at + 7));
      });
  }
}

const field = (number: number, label: number, type: number) =>
  new Writer()
    .text(1, `f${number}`)
    .tag(3, 0)
    .varint(BigInt(number))
    .tag(4, 0)
    .varint(BigInt(label))
    .tag(5, 0)
    .varint(BigInt(type))
    .done();
const message = new Writer()
  .text(1, 'M')
  .bytes(2, field(1, 1, 5))
  .bytes(2, field(2, 3, 18))
  .done();
const method = new Writer().text(1, 'Get').text(2, '.p.M').text(3, '.p.M').done();
const service = new Writer().text(1, 'S').bytes(2, method).done();
const file = new Writer()
  .text(1, 'a.proto')
  .text(2, 'p')
  .bytes(4, message)
  .bytes(6, service)
  .text(12, 'proto3')
  .done();
const kind = (first: number, content: Buffer) => Buffer.concat([Buffer.from([first]), content]);

export const seeds = (): Buffer[] => [
  kind(0, new Writer().bytes(1, file).done()),
  kind(1, Buffer.from(text)),
  kind(
    2,
    messageFromJson(schema, 'p.M', { a: 1, b: ['-1', '2'], c: { x: { a: 2 } }, e: 'x', g: 'Y', h: 1.5 }),
  ),
  kind(3, Buffer.from([0, 0, 0, 0, 3, 1, 2, 3, 1, 0, 0, 0, 0])),
];

export const dictionary = [
  'message M { ',
  'repeated ',
  'map<',
  'oneof x { ',
  ' = 1;',
  'rpc A (',
  '/*',
  '"',
].map((each) => Buffer.from(each));
