import { ProtoError } from './wire.ts';

/** Types of Protocol Buffers, whatever they were read from: reflection, a descriptor set or the text of a .proto file. */

export const scalarKinds = [
  'double',
  'float',
  'int64',
  'uint64',
  'int32',
  'fixed64',
  'fixed32',
  'bool',
  'string',
  'bytes',
  'uint32',
  'sfixed32',
  'sfixed64',
  'sint32',
  'sint64',
] as const;
export type ScalarKind = (typeof scalarKinds)[number];

/** A field as a file declares it; `typeName` is of messages and enums, as written. */
export type FieldDeclaration = {
  name: string;
  jsonName: string;
  number: number;
  /** `named`: a message or an enum, which only linking finds out. */
  kind: ScalarKind | 'named' | 'group';
  typeName: string;
  repeated: boolean;
  packed: boolean;
  oneof: number | null;
};
export type EnumDeclaration = { name: string; values: [name: string, number: number][] };
export type MessageDeclaration = {
  name: string;
  fields: FieldDeclaration[];
  messages: MessageDeclaration[];
  enums: EnumDeclaration[];
  isMapEntry: boolean;
};
export type MethodDeclaration = {
  name: string;
  input: string;
  output: string;
  clientStreaming: boolean;
  serverStreaming: boolean;
};
export type FileDeclaration = {
  name: string;
  package: string;
  imports: string[];
  messages: MessageDeclaration[];
  enums: EnumDeclaration[];
  services: { name: string; methods: MethodDeclaration[] }[];
};

export type Field = Omit<FieldDeclaration, 'kind'> & { kind: ScalarKind | 'message' | 'enum' | 'group' };
export type MessageType = {
  /** With its package, without a leading dot. */
  name: string;
  fields: Field[];
  byNumber: ReadonlyMap<number, Field>;
  /** By JSON name and by the declared one. */
  byName: ReadonlyMap<string, Field>;
  isMapEntry: boolean;
};
export type EnumType = { numbers: ReadonlyMap<string, number>; names: ReadonlyMap<number, string> };
export type Method = Omit<MethodDeclaration, 'name'>;
export type Schema = {
  messages: ReadonlyMap<string, MessageType>;
  enums: ReadonlyMap<string, EnumType>;
  /** By `package.Service/Method`. */
  methods: ReadonlyMap<string, Method>;
};

/** More types and fields than any API has; a hostile server may not cost more memory. */
const maxTypes = 20_000;
const maxFields = 200_000;
const maxDepth = 32;

const joined = (scope: string, name: string) => (scope === '' ? name : `${scope}.${name}`);

/** Makes types of declarations, and finds the type of each field. Throws ProtoError for names that nothing declares. */
export function link(files: readonly FileDeclaration[]): Schema {
  const declared = new Map<string, { declaration: MessageDeclaration; scope: string }>();
  const enums = new Map<string, EnumType>();
  let fieldCount = 0;
  const add = (messages: readonly MessageDeclaration[], scope: string, depth: number) => {
    if (depth > maxDepth) throw new ProtoError('messages are declared too deeply inside of each other');
    for (const declaration of messages) {
      const name = joined(scope, declaration.name);
      fieldCount += declaration.fields.length;
      if (declared.size + enums.size > maxTypes || fieldCount > maxFields)
        throw new ProtoError(`there are more than ${maxTypes} types or ${maxFields} fields`);
      declared.set(name, { declaration, scope: name });
      addEnums(declaration.enums, name);
      add(declaration.messages, name, depth + 1);
    }
  };
  const addEnums = (declarations: readonly EnumDeclaration[], scope: string) => {
    for (const { name, values } of declarations) {
      // Of several names for a number the first counts.
      const names = new Map<number, string>();
      for (const [text, number] of values) if (!names.has(number)) names.set(number, text);
      enums.set(joined(scope, name), { numbers: new Map(values), names });
    }
  };
  for (const file of files) {
    add(file.messages, file.package, 0);
    addEnums(file.enums, file.package);
  }
  const known = (name: string) => declared.has(name) || enums.has(name);
  const messages = new Map<string, MessageType>();
  for (const [name, { declaration, scope }] of declared) {
    const fields = declaration.fields.map((field): Field => {
      const { kind } = field;
      if (kind !== 'named') return { ...field, kind };
      const typeName = resolveName(field.typeName, scope, known);
      if (typeName === null)
        throw new ProtoError(`${name}.${field.name} has the type ${field.typeName}, which nothing declares`);
      const isEnum = enums.has(typeName);
      return { ...field, typeName, kind: isEnum ? 'enum' : 'message', packed: field.packed && isEnum };
    });
    messages.set(name, {
      name,
      fields,
      byNumber: new Map(fields.map((field) => [field.number, field])),
      byName: new Map([
        ...fields.map((field) => [field.name, field] as const),
        ...fields.map((field) => [field.jsonName, field] as const),
      ]),
      isMapEntry: declaration.isMapEntry,
    });
  }
  const methods = new Map<string, Method>();
  for (const file of files) {
    for (const service of file.services) {
      for (const { name, input, output, ...streaming } of service.methods) {
        const path = `${joined(file.package, service.name)}/${name}`;
        const [from, to] = [input, output].map((each) =>
          resolveName(each, joined(file.package, service.name), (type) => messages.has(type)),
        );
        if (!from || !to) throw new ProtoError(`${path} has a message type that nothing declares`);
        methods.set(path, { input: from, output: to, ...streaming });
      }
    }
  }
  return { messages, enums, methods };
}

/** The full name of a type that is named inside of `scope`: the innermost that exists. Null = there is none. */
function resolveName(name: string, scope: string, exists: (full: string) => boolean): string | null {
  if (name.startsWith('.')) return exists(name.slice(1)) ? name.slice(1) : null;
  for (let at = scope; ; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
    const full = joined(at, name);
    if (exists(full)) return full;
    if (at === '') return null;
  }
}

/** The name of a field in JSON: lowerCamelCase. */
export const jsonNameOf = (name: string): string =>
  name.replaceAll(/_+([a-zA-Z\d])?/g, (_all, letter: string | undefined) => (letter ?? '').toUpperCase());

const packable: ReadonlySet<string> = new Set(
  scalarKinds.filter((kind) => kind !== 'string' && kind !== 'bytes'),
);

/** Whether repeated values of the kind may lie in one field (enums too, which only linking knows). */
export const isPackable = (kind: FieldDeclaration['kind']): boolean => kind === 'named' || packable.has(kind);
