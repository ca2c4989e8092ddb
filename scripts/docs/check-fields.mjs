/** The fields of a check as a table, from the schema of its body. */
import { meanings } from './check-meanings.mjs';

/** The entry of a table; throws if there is none. */
export const known = (table, name) => {
  if (!Object.hasOwn(table, name))
    throw new Error(`${name} has no meaning in scripts/docs/check-meanings.mjs`);
  return table[name];
};

/** The branch of a nullable schema that is not null. */
const solid = (schema) => schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;

/** Every field of a schema with its path, except fields that the service sets. */
export function fieldsOf(schema, path = '', isRequired = true) {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    // Each section names its type.
    if (path === '' && name === 'checkType') return [];
    if (Object.keys(property).every((key) => key === 'description')) return [];
    const full = path === '' ? name : `${path}.${name}`;
    const required = isRequired && (schema.required ?? []).includes(name) && property.default === undefined;
    const own = { path: full, property, required };
    const inner = solid(property);
    const below =
      inner.items === undefined ? fieldsOf(inner, full) : fieldsOf(solid(inner.items), `${full}[]`);
    return [own, ...below];
  });
}

/** The text in the font of code. */
export const code = (text) => `\`${text}\``;

function typeOf(property) {
  const inner = solid(property);
  const types = [inner.type].flat().filter((type) => type !== 'null' && type !== undefined);
  const isNullable = inner !== property || [inner.type].flat().includes('null');
  const item = inner.items === undefined ? null : typeOf(inner.items).replace(/ or null$/, '');
  const word = item === null ? types.join(' or ') : `list of ${item}`;
  return `${word === 'list of object' ? 'list of objects' : word}${isNullable ? ' or null' : ''}`;
}

function limitsOf(property) {
  const inner = solid(property);
  const { minimum, maximum, minLength, maxLength, maxItems, pattern } = { ...property, ...inner };
  const values = inner.enum ?? inner.items?.enum;
  const listed = values?.filter((value) => value !== null);
  const range = (low, high, unit) =>
    low === undefined && high === undefined
      ? []
      : low === undefined
        ? [`at most ${high}${unit}`]
        : high === undefined || high === Number.MAX_SAFE_INTEGER
          ? [`at least ${low}${unit}`]
          : [`${low} to ${high}${unit}`];
  return [
    ...(listed === undefined ? [] : [listed.map(code).join(', ')]),
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...(maxItems === undefined || listed !== undefined ? [] : [`at most ${maxItems} items`]),
    ...(pattern === undefined || listed !== undefined ? [] : [`pattern ${code(pattern)}`]),
  ].join('; ');
}

function defaultOf({ property, required }) {
  if (required) return 'required';
  if (property.default === undefined) return 'none';
  const text = JSON.stringify(property.default);
  return typeof property.default === 'object' && property.default !== null && !Array.isArray(property.default)
    ? 'the defaults below'
    : code(text);
}

const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const sentence = (text) => {
  const whole = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
};
function meaningOf({ path, property }) {
  return sentence(property.description ?? known(meanings, path));
}
/** The fields as rows of a table. */
export const table = (fields) => [
  '| field | type | default | limits | meaning |',
  '| --- | --- | --- | --- | --- |',
  ...fields
    .map((field) =>
      [code(field.path), typeOf(field.property), defaultOf(field), limitsOf(field.property), meaningOf(field)]
        .map(cell)
        .join(' | '),
    )
    .map((row) => `| ${row} |`),
];
