import {
  isPackable,
  jsonNameOf,
  type EnumDeclaration,
  type FieldDeclaration,
  type FileDeclaration,
  type MessageDeclaration,
  type MethodDeclaration,
} from './schema.ts';
import { fieldsOf, ProtoError } from './wire.ts';

/** Reads compiled types: FileDescriptorProto and FileDescriptorSet (google/protobuf/descriptor.proto). */

const maxFiles = 1000;
const maxDepth = 32;

/** The files of a FileDescriptorSet, as `protoc --descriptor_set_out --include_imports` writes it. Throws ProtoError. */
export function readDescriptorSet(bytes: Buffer): FileDeclaration[] {
  const files: FileDeclaration[] = [];
  for (const field of fieldsOf(bytes)) {
    if (field.number !== 1) continue;
    if (files.length >= maxFiles) throw new ProtoError(`there are more than ${maxFiles} files`);
    files.push(readFileDescriptor(field.bytes));
  }
  if (files.length === 0) throw new ProtoError('the descriptor set has no file');
  return files;
}

/** Kinds by their numbers in FieldDescriptorProto.Type. */
const kinds: readonly (FieldDeclaration['kind'] | undefined)[] = [
  undefined,
  'double',
  'float',
  'int64',
  'uint64',
  'int32',
  'fixed64',
  'fixed32',
  'bool',
  'string',
  'group',
  'named',
  'bytes',
  'uint32',
  'named',
  'sfixed32',
  'sfixed64',
  'sint32',
  'sint64',
];

const text = (bytes: Buffer) => bytes.toString('utf8');

/** One file. Throws ProtoError. */
export function readFileDescriptor(bytes: Buffer): FileDeclaration {
  const file: FileDeclaration = { name: '', package: '', imports: [], messages: [], enums: [], services: [] };
  let syntax = 'proto2';
  const later: Buffer[] = [];
  for (const { number, bytes: content } of fieldsOf(bytes)) {
    if (number === 1) file.name = text(content);
    else if (number === 2) file.package = text(content);
    else if (number === 3) file.imports.push(text(content));
    else if (number === 4) later.push(content);
    else if (number === 5) file.enums.push(readEnum(content));
    else if (number === 6) file.services.push(readService(content));
    else if (number === 12) syntax = text(content);
  }
  // Repeated numbers are packed by default since proto3.
  for (const content of later) file.messages.push(readMessage(content, syntax !== 'proto2', 0));
  return file;
}

function readMessage(bytes: Buffer, isPackedByDefault: boolean, depth: number): MessageDeclaration {
  if (depth > maxDepth) throw new ProtoError('messages are declared too deeply inside of each other');
  const message: MessageDeclaration = { name: '', fields: [], messages: [], enums: [], isMapEntry: false };
  for (const { number, bytes: content } of fieldsOf(bytes)) {
    if (number === 1) message.name = text(content);
    else if (number === 2) message.fields.push(readFieldDescriptor(content, isPackedByDefault));
    else if (number === 3) message.messages.push(readMessage(content, isPackedByDefault, depth + 1));
    else if (number === 4) message.enums.push(readEnum(content));
    else if (number === 7)
      message.isMapEntry = [...fieldsOf(content)].some((o) => o.number === 7 && o.varint !== 0n);
  }
  return message;
}

function readFieldDescriptor(bytes: Buffer, isPackedByDefault: boolean): FieldDeclaration {
  const field: FieldDeclaration = {
    name: '',
    jsonName: '',
    number: 0,
    kind: 'string',
    typeName: '',
    repeated: false,
    packed: false,
    oneof: null,
  };
  let packed: boolean | null = null;
  let isOptional = false;
  for (const { number, varint, bytes: content } of fieldsOf(bytes)) {
    if (number === 1) field.name = text(content);
    else if (number === 3) field.number = Number(varint);
    else if (number === 4) field.repeated = varint === 3n;
    else if (number === 5) field.kind = kindOf(Number(varint));
    else if (number === 6) field.typeName = text(content);
    else if (number === 8) packed = packedOption(content) ?? packed;
    else if (number === 9) field.oneof = Number(varint);
    else if (number === 10) field.jsonName = text(content);
    else if (number === 17) isOptional = varint !== 0n;
  }
  // An optional field of proto3 is the only one of its oneof.
  if (isOptional) field.oneof = null;
  field.jsonName ||= jsonNameOf(field.name);
  field.packed = field.repeated && isPackable(field.kind) && (packed ?? isPackedByDefault);
  return field;
}

function kindOf(number: number): FieldDeclaration['kind'] {
  const kind = kinds[number];
  if (kind === undefined) throw new ProtoError(`a field has the unknown type ${number}`);
  return kind;
}

function packedOption(options: Buffer): boolean | null {
  const option = [...fieldsOf(options)].findLast(({ number }) => number === 2);
  return option === undefined ? null : option.varint !== 0n;
}

function readEnum(bytes: Buffer): EnumDeclaration {
  const declaration: EnumDeclaration = { name: '', values: [] };
  for (const { number, bytes: content } of fieldsOf(bytes)) {
    if (number === 1) declaration.name = text(content);
    if (number !== 2) continue;
    let name = '';
    let value = 0;
    for (const part of fieldsOf(content)) {
      if (part.number === 1) name = text(part.bytes);
      if (part.number === 2) value = Number(BigInt.asIntN(32, part.varint));
    }
    declaration.values.push([name, value]);
  }
  return declaration;
}

function readService(bytes: Buffer): FileDeclaration['services'][number] {
  const service: { name: string; methods: MethodDeclaration[] } = { name: '', methods: [] };
  for (const { number, bytes: content } of fieldsOf(bytes)) {
    if (number === 1) service.name = text(content);
    if (number !== 2) continue;
    const method = { name: '', input: '', output: '', clientStreaming: false, serverStreaming: false };
    for (const part of fieldsOf(content)) {
      if (part.number === 1) method.name = text(part.bytes);
      else if (part.number === 2) method.input = text(part.bytes);
      else if (part.number === 3) method.output = text(part.bytes);
      else if (part.number === 5) method.clientStreaming = part.varint !== 0n;
      else if (part.number === 6) method.serverStreaming = part.varint !== 0n;
    }
    service.methods.push(method);
  }
  return service;
}
