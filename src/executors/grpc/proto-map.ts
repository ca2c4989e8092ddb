import {
  jsonNameOf,
  scalarKinds,
  type FieldDeclaration,
  type MessageDeclaration,
  type ScalarKind,
} from './schema.ts';

/** Maps of .proto files: each is a list of messages with a key and a value. */

const scalars: ReadonlySet<string> = new Set(scalarKinds);

const part = (name: string, typeName: string, number: number): FieldDeclaration => ({
  name,
  jsonName: name,
  number,
  kind: scalars.has(typeName) ? (typeName as ScalarKind) : 'named', // it is one of the list
  typeName: scalars.has(typeName) ? '' : typeName,
  repeated: false,
  packed: false,
  oneof: null,
});

/** The field of a map, and the message of its entries. `key` and `value` are names of types. */
export function mapOf(map: {
  name: string;
  number: number;
  jsonName: string | null;
  key: string;
  value: string;
}): { field: FieldDeclaration; entry: MessageDeclaration } {
  const { name, number, jsonName, key, value } = map;
  const entry = `${jsonNameOf(`_${name}`)}Entry`;
  return {
    field: { ...part(name, entry, number), jsonName: jsonName ?? jsonNameOf(name), repeated: true },
    entry: {
      name: entry,
      fields: [part('key', key, 1), part('value', value, 2)],
      messages: [],
      enums: [],
      isMapEntry: true,
    },
  };
}
