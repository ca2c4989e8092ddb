import { isFields, itemsOf, type Fields } from '../../../json-values.ts';
import { checkTypes } from '../../../protocol/check-types.ts';
import { channelTypes } from '../../alert-channels/configs.ts';
import { sharedFields } from '../../checks/fields/fields.ts';
import { isIgnored } from '../../http/fields/ignored-fields.ts';
import { strictPartial } from '../../http/fields/strict-schema.ts';
import Type from 'typebox';
import { bodySchemas } from './body-schemas.ts';
import { resourceTypes, typeOfField, type ResourceType } from '../kinds.ts';
import { DeployBody } from '../schema.ts';

/** One JSON Schema of all files of a project, from the schemas of the API. Editors complete and check files with it. */

/** Its name, in the package and below `/schemas/`. */
export const fileSchemaName = 'checks.schema.json';

/**
 * Fields whose text may be in a file of its own, named by the field `<name>File`. The `content` of a check's dependency may be, too
 * (`contentFile`).
 */
export const textFields = ['script', 'localSetupScript', 'localTearDownScript'] as const;

const ref = (name: string): Fields => ({ $ref: `#/definitions/${name}` });
const constant = (value: string): Fields => ({ const: value });

const logicalId = DeployBody.properties.resources.items.properties.logicalId;

const usual: Fields = {
  reference: {
    description: 'Names a resource: of these files by its logicalId, or an existing one by its id.',
    oneOf: [
      { type: 'object', required: ['ref'], additionalProperties: false, properties: { ref: logicalId } },
      {
        type: 'object',
        required: ['fromId'],
        additionalProperties: false,
        properties: { fromId: { type: ['string', 'integer'] } },
      },
    ],
  },
  environment: {
    description: 'Stands for the value of an environment variable, so that secrets stay out of the files.',
    type: 'object',
    required: ['env'],
    additionalProperties: false,
    properties: { env: { type: 'string', minLength: 1 } },
  },
};

const isText = ({ type, enum: values }: Fields): boolean =>
  values === undefined && (type === 'string' || (Array.isArray(type) && type.includes('string')));

/** A schema of the API as files may write it: with references and variables in place of values. */
function ofFiles(schema: unknown, field: string): unknown {
  if (!isFields(schema)) return schema;
  const { properties, items, ...words } = schema;
  const own: Fields = {
    ...words,
    ...(isFields(properties) ? { properties: propertiesOf(properties) } : {}),
    ...(items === undefined ? {} : { items: ofFiles(items, field) }),
  };
  const isList = items !== undefined;
  if (typeOfField[field] !== undefined && !isList) return oneOfThese(own, ref('reference'));
  return isText(own) ? oneOfThese(own, ref('environment')) : own;
}

/** One of these branches. What a reader is shown stands next to them. */
const oneOfThese = ({ description, default: preset, ...own }: Fields, other: Fields): Fields => ({
  ...(description === undefined ? {} : { description }),
  ...(preset === undefined ? {} : { default: preset }),
  anyOf: [own, other],
});

const propertiesOf = (properties: Fields): Fields =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([, property]) => !isIgnored(property))
      .map(([name, property]) => [name, ofFiles(property, name)]),
  );

const path = (description: string): Fields => ({ type: 'string', minLength: 1, description });

/** The schema of a check's dependencies, with `contentFile` in place of `content`. */
function withContentFiles(schema: Fields): Fields {
  const items = schema['items'] as Fields;
  const properties = {
    ...(items['properties'] as Fields),
    contentFile: path('File with the content, relative to this one.'),
  };
  const required = itemsOf(items['required']).filter((name) => name !== 'content');
  return { ...schema, items: { ...items, properties, required } };
}

/** The schema of one kind of resource. `more`: properties that say which kind it is. */
function resourceOf(body: object, more: Fields): Fields {
  const { properties, required } = ofFiles(body, '') as Fields; // an object schema
  const fields: Fields = { ...(properties as Fields) };
  for (const name of textFields) {
    if (fields[name] !== undefined)
      fields[`${name}File`] = path(`File with the ${name}, relative to this one.`);
  }
  if (fields['dependencies'] !== undefined)
    fields['dependencies'] = withContentFiles(fields['dependencies'] as Fields);
  if (fields['codeBundlePath'] !== undefined)
    fields['suite'] = path(
      'Folder of the Playwright project, relative to this file. It replaces codeBundlePath.',
    );
  const { physicalId, member, protected: isProtected } = DeployBody.properties.resources.items.properties;
  // A text may be in a file, and the defaults of checks are in project.yaml.
  const needed = itemsOf(required).filter(
    (name) => !textFields.some((text) => text === name) && name !== 'codeBundlePath',
  );
  return {
    type: 'object',
    additionalProperties: false,
    required: [...Object.keys(more).filter((name) => name !== 'kind'), 'logicalId'],
    properties: { ...more, logicalId, physicalId, member, protected: isProtected, ...fields, ...more },
    // What exists already need not be described.
    if: { required: ['member'], properties: { member: { const: false } } },
    else: { required: needed },
  };
}

type Branch = { name: string; type: ResourceType; when: Fields; schema: Fields };

/** The schema of each kind of resource; checks and channels have one for each of their types. */
export function branches(): Branch[] {
  const of = (type: ResourceType, payload: Fields, more: Fields): Branch => {
    const body = bodySchemas[type](payload);
    if (body === null) throw new Error(`${type} has no schema`);
    const kind = { ...constant(type), description: 'What this is.' };
    const when = { properties: { kind: constant(type), ...more }, required: Object.keys(more) };
    const name = [type, ...Object.values(payload).map(String)].join('-').toLowerCase().replaceAll('_', '-');
    return { name, type, when, schema: resourceOf(body, { kind, ...more }) };
  };
  return resourceTypes.flatMap((type) => {
    if (type === 'check')
      return checkTypes.map((checkType) => of(type, { checkType }, { checkType: constant(checkType) }));
    if (type === 'alert-channel')
      return channelTypes.map((channel) => of(type, { type: channel }, { type: constant(channel) }));
    return [of(type, {}, {})];
  });
}

/** Parts that occur more than once become definitions, named after the field where they are. */
function hoisted(root: Fields, definitions: Fields): Fields {
  const counts = new Map<string, number>();
  const count = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(count);
    if (!isFields(value)) return;
    const text = JSON.stringify(value);
    const seen = counts.get(text) ?? 0;
    counts.set(text, seen + 1);
    if (seen === 0) Object.values(value).forEach(count);
  };
  count(root);
  const names = new Map<string, string>();
  const nameOf = (field: string): string => {
    let name = field;
    for (let number = 2; definitions[name] !== undefined; number++) name = `${field}${number}`;
    definitions[name] = {};
    return name;
  };
  const visit = (value: unknown, field: string, isSchema: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown) => visit(item, field, isSchema));
    if (!isFields(value)) return value;
    const inner = (): Fields =>
      Object.fromEntries(
        Object.entries(value).map(([word, member]) =>
          isSchema && !['properties', 'items', 'anyOf', 'oneOf', 'else'].includes(word)
            ? [word, member]
            : [word, visit(member, isSchema ? field : word, !isSchema || word !== 'properties')],
        ),
      );
    const text = JSON.stringify(value);
    if (!isSchema || text.length < shortest || (counts.get(text) ?? 0) < 2) return inner();
    let name = names.get(text);
    if (name === undefined) {
      name = nameOf(field);
      names.set(text, name);
      definitions[name] = inner();
    }
    return ref(name);
  };
  return visit(root, 'part', true) as Fields; // an object in, an object out
}
/** Shorter parts stay where they are. */
const shortest = 150;

/** The schema of `project.yaml`. */
export const projectSchema = (): Fields => ({
  type: 'object',
  additionalProperties: false,
  required: ['logicalId'],
  properties: {
    logicalId,
    projectName: { type: 'string', minLength: 1, maxLength: 255 },
    repoUrl: { type: ['string', 'null'], maxLength: 2048 },
    checks: ofFiles(strictPartial(Type.Object(sharedFields)), '') as Fields,
  },
});

/** The schema as a JSON value. */
export function fileSchema(): Fields {
  const all = branches();
  const definitions: Fields = { ...usual };
  for (const { name } of all) definitions[name] = {};
  const shared: Fields = Object.fromEntries(all.map(({ name, schema }) => [name, schema]));
  const whole = hoisted({ type: 'object', properties: shared }, definitions);
  const parts = (whole['properties'] ?? {}) as Fields;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Files of a project: checks and other resources',
    definitions: {
      ...definitions,
      ...parts,
      project: projectSchema(),
      adoption: {
        description: 'Written by export: ids of existing resources, which apply takes over.',
        type: 'object',
        additionalProperties: false,
        required: ['account', 'resources'],
        properties: {
          account: { type: 'string' },
          resources: { type: 'object', additionalProperties: { type: ['string', 'integer'] } },
        },
      },
      resource: {
        type: 'object',
        properties: { kind: { enum: [...resourceTypes] }, checkType: { enum: [...checkTypes] } },
        allOf: all.map(({ name, when }) => choice(whenOf(when), ref(name))),
      },
    },
    ...choice(
      { type: 'array' },
      { items: ref('resource') },
      choice(
        { anyOf: [{ required: ['kind'] }, { required: ['checkType'] }] },
        ref('resource'),
        choice({ required: ['account'] }, ref('adoption'), ref('project')),
      ),
    ),
  };
}

/** Schema words that depend on a condition. */
const choice = (condition: Fields, yes: Fields, no?: Fields): Fields =>
  Object.fromEntries([
    ['if', condition],
    // eslint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
    ['then', yes],
    ...(no === undefined ? [] : [['else', no] as const]),
  ]);

/** A check needs no `kind`, because it has `checkType`. */
function whenOf({ properties, required }: Fields): Fields {
  const names = itemsOf(required);
  return { properties, required: names.includes('checkType') ? names : ['kind', ...names] };
}

/** The text of the schema's file. */
export const fileSchemaText = (): string => `${JSON.stringify(fileSchema(), null, 1)}\n`;
