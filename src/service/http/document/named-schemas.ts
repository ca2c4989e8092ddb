import { at, isJson, jsonContent, operationsOf, type Json } from './json.ts';

/**
 * Gives names to the schemas of bodies and to objects and lists of values that the document repeats, and puts a `$ref`
 * in their places. Generated clients then have one type for each of them, and the document is a third of its size.
 */

/** A list of fewer values is shorter than its name. */
const namedValues = 4;

/** Names that a schema would not get from the field that holds it. */
const givenNames: { readonly [derived: string]: string } = {
  Location: 'LocationCode',
  Dependency: 'ScriptFile',
  Metadata: 'SessionMetadata',
  Light: 'PageColors',
  Service: 'ServiceReference',
};
/** Better names than those from the place where a schema comes first. */
const betterNames: { readonly [chosen: string]: string } = {
  UrlCheckAlertChannelSubscription: 'CheckSubscription',
  UrlCheckType: 'RetryType',
  UrlCheckEmail: 'CheckEmail',
  UrlCheckHeader: 'CheckWebhookHeader',
  UrlCheckWebhook: 'CheckWebhook',
  UrlCheckChata: 'CheckChat',
  UrlCheckSms: 'CheckPhone',
  Comparison: 'UrlComparison',
  ApiCheckComparison: 'ApiComparison',
  TcpCheckComparison: 'TcpComparison',
  IcmpCheckComparison: 'IcmpComparison',
  ApiCheckMethod: 'HttpMethod',
  ApiCheckSource: 'ApiSource',
  DnsCheckSource: 'DnsSource',
  DnsCheckProtocol: 'DnsProtocol',
  Assertion: 'ApiAssertion',
  AssertionInput: 'ApiAssertionInput',
  RequestInput: 'ApiRequestInput',
  CreateIcmpCheckBodyAssertion: 'IcmpAssertionInput',
  CreateIcmpCheckBodyRequest: 'IcmpRequestInput',
  SslCheckSource: 'SslSource',
  GrpcCheckSource: 'GrpcSource',
  CreateGrpcCheckBodyAssertion: 'GrpcAssertionInput',
  CreateGrpcCheckBodyRequest: 'GrpcRequestInput',
  CreateSslCheckBodyAssertion: 'SslAssertionInput',
  CreateSslCheckBodyRequest: 'SslRequestInput',
  CreateTcpCheckBodyAssertion: 'TcpAssertionInput',
  CreateTcpCheckBodyRequest: 'TcpRequestInput',
  CreateUrlCheckBodyAssertion: 'UrlAssertionInput',
  CreateUrlCheckBodyRequest: 'UrlRequestInput',
  CreateDnsCheckBodyAssertion: 'DnsAssertionInput',
  CreateDnsCheckBodyRequest: 'DnsRequestInput',
  CreateApiCheckBodyHeader: 'CheckHeaderInput',
  CreateAgenticCheckBodyRetryStrategy: 'CheckRetryStrategyInput',
  CreateAlertChannelBodySubscription: 'ChannelSubscriptionInput',
  CreateStatusPageBodyColors: 'StatusPageColorsInput',
  CreateStatusPageBodyServiceReference: 'CardServiceInput',
  CreateStatusPageBodyCard: 'CardInput',
  TimelineStatus: 'RunStatus',
};

type Kept = { readonly description?: unknown; readonly default?: unknown };
type Found = {
  /** Without what belongs to the place rather than to the schema. */
  readonly schema: Json;
  count: number;
  readonly derived: string;
  /** The component in which it comes first. */
  readonly owner: string;
};

/** Words that say too little alone: the name of the schema around them comes first. */
const vagueWords = new Set(
  'Type Status State Unit Key Level Log Source Method Result Card Totals Email Header Webhook Chata Sms Protocol Subscription Reason InProgress Colors'.split(
    ' ',
  ),
);

/** Schemas by keyword: those that hold one, a list, or one per name. */
const single = ['items', 'additionalProperties', 'not'];
const several = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const byName = ['properties', 'patternProperties'];

/** Calls `change` for each schema directly below this one and returns the schema with the results. */
function mapInner(schema: Json, change: (inner: Json, field: string | null) => unknown): Json {
  const result: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (single.includes(keyword) && isJson(value)) result[keyword] = change(value, keyword);
    else if (several.includes(keyword) && Array.isArray(value))
      result[keyword] = value.map((inner: unknown) => (isJson(inner) ? change(inner, null) : inner));
    else if (byName.includes(keyword) && isJson(value))
      result[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, isJson(inner) ? change(inner, name) : inner]),
      );
    else result[keyword] = value;
  }
  return result;
}

const pascal = (text: string) => text.charAt(0).toUpperCase() + text.slice(1).replace(/[^A-Za-z0-9]/g, '');

/** `assertions` → `assertion`, `entries` → `entry`, `addresses` → `address`; `sms` has no singular. */
export function singular(word: string): string {
  if (word.endsWith('ies')) return word.replace(/ies$/, 'y');
  if (/(ss|x|ch)es$/.test(word)) return word.replace(/es$/, '');
  return /[^s]s$/.test(word) && word !== 'sms' ? word.replace(/s$/, '') : word;
}

const typesOf = (schema: Json): unknown[] => [schema['type']].flat();
const isNullable = (schema: Json) => typesOf(schema).includes('null');

/** Whether the schema is worth a name: an object with fields, or a list of some values. */
function isNameable(schema: Json): boolean {
  if (isJson(schema['properties']) && typesOf(schema).includes('object'))
    return Object.keys(schema['properties']).length > 0;
  const values = schema['enum'];
  return (
    typesOf(schema).includes('string') && Array.isArray(values) && values.filter(isText).length >= namedValues
  );
}
const isText = (value: unknown) => typeof value === 'string';

/** The schema without what belongs to its place: whether null is allowed, its default and its description. */
function core(schema: Json): Json {
  const { description: _description, default: _default, title: _title, ...rest } = schema;
  if (!isNullable(schema)) return rest;
  const type = typesOf(schema).filter((one) => one !== 'null');
  const values = schema['enum'];
  return {
    ...rest,
    type: type.length === 1 ? type[0] : type,
    ...(Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {}),
  };
}

const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** A reference with what belongs to the place. */
function referenceAt(name: string, place: Json): Json {
  const kept: Kept = {
    ...(place['description'] === undefined ? {} : { description: place['description'] }),
    ...(place['default'] === undefined ? {} : { default: place['default'] }),
  };
  if (!isNullable(place)) return { ...reference(name), ...kept };
  return { anyOf: [reference(name), { type: 'null' }], ...kept };
}

/** Names the bodies of all operations: `createUrlCheck` → `CreateUrlCheckBody`. Equal bodies share the first name. */
function nameBodies(document: Json, schemas: Json): void {
  const known = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]));
  for (const { operation } of operationsOf(document)) {
    const media = jsonContent(operation['requestBody']);
    const schema = media?.['schema'];
    if (media === null || !isJson(schema) || schema['$ref'] !== undefined) continue;
    const text = JSON.stringify(schema);
    const name = known.get(text) ?? `${pascal(String(operation['operationId']))}Body`;
    known.set(text, name);
    schemas[name] = schema;
    media['schema'] = reference(name);
  }
}

/** The schemas of all answers. Those of parameters are short, and stay. */
function changePlaces(document: Json, change: (schema: Json, field: string) => unknown): void {
  for (const { operation } of operationsOf(document)) {
    const responses = operation['responses'];
    for (const response of Object.values(isJson(responses) ? responses : {})) {
      const media = jsonContent(response);
      if (media === null || !isJson(media['schema'])) continue;
      media['schema'] = change(media['schema'], `${String(operation['operationId'])}Answer`);
    }
  }
}

/** Moves schemas that the document repeats to `components.schemas`. Changes `document` in place. */
export function nameSchemas(document: Json): void {
  const schemas = at(document, 'components', 'schemas');
  if (!isJson(schemas)) return;
  nameBodies(document, schemas);

  const found = new Map<string, Found>();
  const collect = (schema: Json, field: string, owner: string): void => {
    mapInner(schema, (inner, name) => {
      // The items of a list have the singular of its name.
      const own = name === 'items' ? singular(field) : name === null || single.includes(name) ? field : name;
      collect(inner, own, owner);
      return inner;
    });
    if (!isNameable(schema)) return;
    const key = JSON.stringify(core(schema));
    const before = found.get(key);
    if (before === undefined)
      found.set(key, { schema: core(schema), count: 1, derived: derivedName(field), owner });
    else before.count++;
  };
  for (const [name, schema] of Object.entries(schemas))
    if (isJson(schema))
      mapInner(schema, (inner, field) => {
        collect(inner, field === null || single.includes(field) ? name : field, name);
        return inner;
      });
  changePlaces(document, (schema, field) => {
    collect(schema, field, pascal(field));
    return schema;
  });

  const names = chooseNames(found, new Set(Object.keys(schemas)));
  const replaced = (schema: Json): Json => {
    const inner = mapInner(schema, (one) => replaced(one));
    const name = isNameable(schema) ? names.get(JSON.stringify(core(schema))) : undefined;
    if (name === undefined) return inner;
    schemas[name] ??= core(inner);
    return referenceAt(name, schema);
  };
  for (const [name, schema] of Object.entries(schemas))
    if (isJson(schema)) schemas[name] = mapInner(schema, (inner) => replaced(inner));
  changePlaces(document, replaced);
}

function derivedName(field: string): string {
  const name = pascal(field);
  return givenNames[name] ?? name;
}

/** The name of each repeated schema. Different schemas of the same field are told apart by where they come first. */
function chooseNames(found: ReadonlyMap<string, Found>, taken: Set<string>): Map<string, string> {
  const repeated = [...found].filter(([, { count }]) => count > 1);
  const uses = new Map<string, number>();
  for (const [, { derived }] of repeated) uses.set(derived, (uses.get(derived) ?? 0) + 1);
  const names = new Map<string, string>();
  for (const [key, { schema, derived, owner }] of repeated) {
    const isAlone = uses.get(derived) === 1 && !taken.has(derived) && !vagueWords.has(derived);
    // Schemas of requests refuse unknown fields.
    const isSent = schema['additionalProperties'] === false;
    const shared = vagueWords.has(derived) ? [] : [isSent ? `${derived}Input` : derived];
    const candidates = isAlone ? [derived] : [...shared, `${owner}${derived}`];
    let name = candidates.find((candidate) => !taken.has(candidate)) ?? `${owner}${derived}`;
    const better = betterNames[name];
    if (better !== undefined && !taken.has(better)) name = better;
    for (let number = 2; taken.has(name); number++) name = `${owner}${derived}${number}`;
    taken.add(name);
    names.set(key, name);
  }
  return names;
}
