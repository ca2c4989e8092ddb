import { useState } from 'preact/hooks';
import { resolved, type Schema, type Schemas } from './document.ts';
import { Prose } from './prose.tsx';

/** A schema as a list of fields. Objects inside of it fold, and are drawn when they are opened. */

type Of = { readonly schema: Schema; readonly schemas: Schemas };

const typesOf = (schema: Schema) => [schema.type ?? []].flat();
const isNull = (schema: Schema) => schema.type === 'null';
const alternativesOf = ({ anyOf, oneOf }: Schema) => anyOf ?? oneOf ?? [];

/** The only alternative besides null, or the schema itself. */
function withoutNull(schema: Schema): Schema {
  const others = alternativesOf(schema).filter((one) => !isNull(one));
  return others.length === 1 && others[0] !== undefined ? others[0] : schema;
}

/** The type in words: `string`, `list of UrlCheck`, `Error or null`. */
export function typeName(schema: Schema, schemas: Schemas): string {
  const { schema: own, name } = resolved(schema, schemas);
  if (name !== null) return name;
  const alternatives = alternativesOf(own);
  if (alternatives.length > 0)
    return [...new Set(alternatives.map((one) => (isNull(one) ? 'null' : typeName(one, schemas))))].join(
      ' or ',
    );
  if (own.items !== undefined) {
    const list = `list of ${typeName(own.items, schemas)}`;
    return typesOf(own).includes('null') ? `${list} or null` : list;
  }
  const types = typesOf(own);
  if (own['const'] !== undefined) return JSON.stringify(own['const']);
  return types.length === 0 ? 'any value' : types.join(' or ');
}

const limits: readonly (readonly [keyword: string, words: (value: string) => string])[] = [
  ['format', (value) => `format ${value}`],
  ['minimum', (value) => `at least ${value}`],
  ['maximum', (value) => `at most ${value}`],
  ['minLength', (value) => `at least ${value} characters`],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minItems', (value) => `at least ${value} entries`],
  ['maxItems', (value) => `at most ${value} entries`],
  ['pattern', (value) => `pattern \`${value}\``],
  ['default', (value) => `default \`${value}\``],
];
const shownValues = 30;

/** The limits of a value in words. */
export function limitsOf(schema: Schema, schemas: Schemas): string[] {
  const { schema: own } = resolved(withoutNull(schema), schemas);
  const all: Schema = { ...own, ...schema };
  const texts = limits.flatMap(([keyword, words]) => {
    const value = all[keyword];
    return value === undefined || value === null
      ? []
      : [words(typeof value === 'string' ? value : JSON.stringify(value))];
  });
  const values = all.enum ?? (own.items === undefined ? undefined : resolved(own.items, schemas).schema.enum);
  if (values === undefined) return texts;
  const shown = values.slice(0, shownValues).map((value) => `\`${String(value)}\``);
  const more = values.length > shownValues ? ` and ${values.length - shownValues} more` : '';
  return [`one of ${shown.join(', ')}${more}`, ...texts];
}

/** The object whose fields can be shown below a schema: its own, or those of its entries. */
function objectIn(schema: Schema, schemas: Schemas): Schema | null {
  const { schema: own } = resolved(withoutNull(schema), schemas);
  if (own.properties !== undefined && Object.keys(own.properties).length > 0) return own;
  if (own.items !== undefined) return objectIn(own.items, schemas);
  return alternativesOf(own).length > 1 ? own : null;
}

export function SchemaFields({ schema, schemas }: Of) {
  const own = objectIn(schema, schemas);
  if (own === null)
    return (
      <p>
        <span class="ref-type">{typeName(schema, schemas)}</span>
      </p>
    );
  const alternatives = alternativesOf(own);
  if (alternatives.length > 0)
    return (
      <div class="ref-fields">
        <p>One of:</p>
        {alternatives.map((one, index) => (
          <Folded key={index} title={typeName(one, schemas)} schema={one} schemas={schemas} />
        ))}
      </div>
    );
  return (
    <dl class="ref-fields">
      {Object.entries(own.properties ?? {}).map(([name, property]) => (
        <Field
          key={name}
          name={name}
          schema={property}
          schemas={schemas}
          isRequired={own.required?.includes(name) === true}
        />
      ))}
    </dl>
  );
}

function Field({ name, schema, schemas, isRequired }: Of & { name: string; isRequired: boolean }) {
  const { schema: own } = resolved(withoutNull(schema), schemas);
  const description = schema.description ?? own.description;
  const inner = objectIn(schema, schemas);
  return (
    <div class="ref-field">
      <dt>
        <code>{name}</code> <span class="ref-type">{typeName(schema, schemas)}</span>
        {isRequired && <span class="ref-required">required</span>}
      </dt>
      <dd>
        {description !== undefined && <Prose text={description} />}
        <Limits texts={limitsOf(schema, schemas)} />
        {inner !== null && <Folded title={`Fields of ${name}`} schema={inner} schemas={schemas} />}
      </dd>
    </div>
  );
}

export function Limits({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <p class="hint">
      <Prose text={texts.join('; ')} isInline />
    </p>
  );
}

/** Recursive schemas end here: only what is opened is drawn. */
function Folded({ title, schema, schemas }: Of & { title: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <SchemaFields schema={schema} schemas={schemas} />}
    </details>
  );
}
