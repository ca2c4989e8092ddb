import { bodyExamples, exampleIds } from './examples.ts';
import { at, isJson, jsonContent, operationsOf, type Json } from './json.ts';
import { sampleOf } from './sample.ts';

/** Puts examples into the document: of bodies, answers, errors and parameters of paths. */

/** Resources whose ids are numbers, by the beginning of their path. */
const numbered: readonly (readonly [path: RegExp, parameter: RegExp, id: number])[] = [
  [/check-groups|badges\/groups/, /^(id|groupId)$/, exampleIds.group],
  [/alert-channels/, /^id$/, exampleIds.alertChannel],
  [/alert-channels/, /^subscriptionId$/, 17],
  [/snippets/, /^id$/, exampleIds.snippet],
];

/** Parameters of paths that are no ids. */
const named: { readonly [parameter: string]: string } = {
  code: 'eu-west-1',
  key: 'SHOP_TOKEN',
  logicalId: 'shop',
  name: 'trace.zip',
  token: '8f1c2d3e4a5b',
  url: 'shop-status',
};

function parameterExample(path: string, name: string): string {
  if (path.includes('/runtimes/')) return '2026.04';
  const number = numbered.find(([place, parameter]) => place.test(path) && parameter.test(name))?.[2];
  return number === undefined ? (named[name] ?? exampleIds.check) : String(number);
}

/** Titles and sentences of errors, as the service words them. */
const errors: { readonly [status: string]: readonly [error: string, message: string, attributes: Json] } = {
  400: ['Bad Request', 'request.url is required.', { 'request.url': ['is required'] }],
  401: [
    'Unauthorized',
    'The API key is missing: send it as "Authorization: Bearer <API key>".',
    { authorization: ['is missing'] },
  ],
  403: [
    'Forbidden',
    'This request needs an API key with the role READ_WRITE; yours is READ_RUN.',
    { authorization: ['has the role READ_RUN; this request needs READ_WRITE'] },
  ],
  404: ['Not Found', `There is no check ${exampleIds.check}.`, { id: ['names nothing in this account'] }],
  408: ['Request Timeout', 'The runs are not over yet: send the request again.', {}],
  409: ['Conflict', 'The name is taken.', { name: ['is taken'] }],
  411: ['Length Required', 'The length of the body is missing.', { 'content-length': ['is missing'] }],
  413: ['Payload Too Large', 'The body is too large.', { body: ['is larger than this endpoint accepts'] }],
  415: [
    'Unsupported Media Type',
    'The body must be sent as application/json.',
    { 'content-type': ['must be application/json'] },
  ],
  429: ['Too Many Requests', 'Too many requests: ask again in 12 s.', {}],
  503: ['Service Unavailable', 'The database does not answer.', {}],
  416: ['Range Not Satisfiable', 'The file has 1024 bytes.', { range: ['must begin before 1024'] }],
  507: ['Insufficient Storage', 'The disk of the service is full.', {}],
};

/** The fields of `example` that the schema has too, on top of what was made from the schema. */
function overlaid(made: unknown, example: Json): unknown {
  if (!isJson(made)) return made;
  return Object.fromEntries(
    Object.entries(made).map(([field, value]) => {
      const own = example[field];
      if (own === undefined || own === null) return [field, value];
      if (isJson(value) && isJson(own)) return [field, overlaid(value, own)];
      // Values of another form are those of requests only.
      return [field, typeof value === typeof own && !Array.isArray(own) && !isJson(own) ? own : value];
    }),
  );
}

/** Schemas of answers, and the operation whose body describes the same resource. */
function namedExamples(document: Json, schemas: Json): { [name: string]: unknown } {
  const found: { [name: string]: unknown } = {};
  for (const { operation } of operationsOf(document)) {
    const body = bodyExamples[String(operation['operationId'])];
    const schema = at(operation, 'responses', '201', 'content', 'application/json', 'schema', '$ref');
    const name = typeof schema === 'string' ? (schema.split('/').at(-1) ?? '') : '';
    if (body === undefined || schemas[name] === undefined || found[name] !== undefined) continue;
    found[name] = overlaid(sampleOf(schemas[name], { schemas, named: {} }), body);
  }
  return found;
}

/** Changes `document` in place. */
export function addExamples(document: Json): void {
  const components = document['components'];
  const schemas = at(components, 'schemas');
  if (!isJson(components) || !isJson(schemas)) return;
  components['examples'] = Object.fromEntries(
    Object.entries(errors).map(([status, [error, message, attributes]]) => [
      `Error${status}`,
      { summary: error, value: { statusCode: Number(status), error, message, attributes } },
    ]),
  );
  const whole = namedExamples(document, schemas);
  for (const { path, operation } of operationsOf(document)) {
    const body = jsonContent(operation['requestBody']);
    const example = bodyExamples[String(operation['operationId'])];
    if (body !== null && example !== undefined) body['example'] = example;
    const parameters = operation['parameters'];
    for (const parameter of Array.isArray(parameters) ? (parameters as unknown[]) : [])
      if (isJson(parameter) && parameter['in'] === 'path')
        parameter['example'] = parameterExample(path, String(parameter['name']));
    const responses = operation['responses'];
    for (const [status, response] of Object.entries(isJson(responses) ? responses : {})) {
      const media = jsonContent(response);
      if (media === null) continue;
      if (at(media, 'schema', '$ref') === '#/components/schemas/Error') {
        if (errors[status] !== undefined)
          media['examples'] = { error: { $ref: `#/components/examples/Error${status}` } };
        continue;
      }
      const sample = sampleOf(media['schema'], { schemas, named: whole });
      if (sample !== undefined) media['example'] = sample;
    }
  }
}
