import { fieldsOf, isFields, itemsOf, type Fields } from '../../../json-values.ts';
import { branches, projectSchema } from './file-schema.ts';
import { resourceTypes, typeOfField } from '../kinds.ts';

/** TypeScript types of all resources, from the same schemas as the file schema. Constructs are typed with them. */

/** Name of their file, next to the schema. */
export const fileTypesName = 'resources.d.ts';

/** Values of a construct that are no fields: its constructor names them, or its class does. */
const ofConstructs = ['kind', 'logicalId', 'member'];

/** Shorter types stay where they are, also if they occur more than once. */
const shortest = 60;

const pascal = (text: string): string =>
  text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/** Gives a type a name of its own, or leaves it as it is. */
type Naming = (text: string, field: string) => string;

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ') || 'never';

function typeOf(schema: unknown, field: string, naming: Naming): string {
  if (!isFields(schema)) return 'unknown';
  const { $ref, const: constant, enum: values, anyOf, oneOf, type } = schema;
  if (typeof $ref === 'string') {
    return $ref.endsWith('/environment')
      ? 'Environment'
      : `Reference<${JSON.stringify(typeOfField[field] ?? 'check')}>`;
  }
  if (constant !== undefined) return JSON.stringify(constant);
  if (Array.isArray(values)) return naming(union(values.map((value) => JSON.stringify(value))), field);
  const choices = itemsOf(anyOf ?? oneOf);
  if (choices.length > 0) return union(choices.map((choice) => typeOf(choice, field, naming)));
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return union(types.map((one) => plainType(one, schema, { field, naming })));
}

function plainType(
  type: unknown,
  schema: Fields,
  { field, naming }: { field: string; naming: Naming },
): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return naming(`readonly (${typeOf(schema['items'], field, naming)})[]`, field);
    case 'object':
      return isFields(schema['properties'])
        ? naming(objectType(schema, naming, []), field)
        : 'Readonly<Record<string, unknown>>';
    default:
      return 'unknown';
  }
}

function objectType(schema: Fields, naming: Naming, without: readonly string[]): string {
  // What a resource needs unless it only names an existing one.
  const needed = [...itemsOf(schema['required']), ...itemsOf(fieldsOf(schema['else'])['required'])];
  const members = Object.entries(fieldsOf(schema['properties']))
    .filter(([name]) => !without.includes(name))
    .map(([name, property]) => {
      const optional = needed.includes(name) ? '' : '?';
      return `${commentOf(property)}${name}${optional}: ${typeOf(property, name, naming)};`;
    });
  return `{\n${members.join('\n')}\n}`;
}

function commentOf(property: unknown): string {
  const { description, default: preset, deprecated } = fieldsOf(property);
  const parts = [
    ...(typeof description === 'string' ? [description] : []),
    ...(preset === undefined || preset === null ? [] : [`@default ${JSON.stringify(preset)}`]),
    ...(deprecated === true ? ['@deprecated'] : []),
  ];
  // A comment must not end early.
  return parts.length === 0 ? '' : `/** ${parts.join(' ').replaceAll('*/', '*\\/')} */\n`;
}

/** Indents by the depth of braces. No text of a schema has an unpaired brace at the end of a line. */
function indented(text: string): string {
  let depth = 0;
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('}')) depth -= 1;
      const result = `${'  '.repeat(depth)}${line}`;
      if (line.endsWith('{')) depth += 1;
      return result;
    })
    .join('\n');
}

type Part = { name: string; schema: Fields; without: readonly string[] };

/** The text of the file with the types. */
export function fileTypesText(): string {
  const all = branches();
  const parts: Part[] = [
    ...all.map(({ name, schema }) => ({ name: `${pascal(name)}Fields`, schema, without: ofConstructs })),
    { name: 'ProjectFields', schema: projectSchema(), without: ofConstructs },
  ];
  // A type that occurs more than once gets a name, after the field where it is first.
  const counts = new Map<string, number>();
  const count: Naming = (text) => {
    counts.set(text, (counts.get(text) ?? 0) + 1);
    return text;
  };
  for (const { schema, without } of parts) objectType(schema, count, without);
  const taken = new Set(parts.map(({ name }) => name));
  const names = new Map<string, string>();
  const shared: string[] = [];
  const counted = new Map<string, string>();
  const nameOf: Naming = (text, field) => {
    // Types within it may have names already; it was counted without them.
    const whole = expanded(text, counted);
    if (text.length < shortest || (counts.get(whole) ?? 0) < 2) return text;
    const known = names.get(whole);
    if (known !== undefined) return marked(known);
    let name = pascal(field);
    for (let number = 2; taken.has(name); number++) name = `${pascal(field)}${number}`;
    taken.add(name);
    names.set(whole, name);
    counted.set(name, whole);
    shared.push(`export type ${name} = ${text};`);
    return marked(name);
  };
  const own = parts.map(
    ({ name, schema, without }) => `export type ${name} = ${objectType(schema, nameOf, without)};`,
  );
  const kinds = resourceTypes.map((type) => {
    const fields = all.filter((branch) => branch.type === type).map(({ name }) => `${pascal(name)}Fields`);
    return `${JSON.stringify(type)}: ${fields.join(' | ')};`;
  });
  const texts = [head, ...shared, ...own, `export type FieldsOf = {\n${kinds.join('\n')}\n};`];
  return `${indented(texts.join('\n\n')).replaceAll(/[«»]/g, '')}\n`;
}

/** A type as it was counted: without the names of its parts. */
const expanded = (text: string, counted: ReadonlyMap<string, string>): string =>
  text.replaceAll(/«(\w+)»/g, (mark, name: string) => counted.get(name) ?? mark);

/** A name that is no word of a comment. */
const marked = (name: string): string => `«${name}»`;

const head = `/** Fields of all resources. Written by scripts/file-schema.mjs from the schemas of the API. */

/** A resource of the project, by which another one refers to it. */
export type Reference<Kind extends string> = { readonly kind: Kind; readonly logicalId: string };

/** Stands for the value of an environment variable. */
export type Environment = { readonly env: string };`;
