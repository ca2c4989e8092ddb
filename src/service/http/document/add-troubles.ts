import { at, isJson, jsonContent, operationsOf, type Json } from './json.ts';

/**
 * Adds the answers that every operation may give without a fault of its own or of the client: the service stops, its
 * database does not answer, or its disk is full. Also names the header that says when to ask again.
 */

const troubles: { readonly [status: string]: string } = {
  503: 'The service is stopping, or its database or artifact store cannot be used at the moment: send the request again',
  507: 'The disk of the service is full: send the request again when there is space',
};

const errorName = '#/components/schemas/Error';

// New objects for each answer: YAML would write shared ones as aliases, and readers limit the number of these.
const error = (): Json => ({ $ref: errorName });

/** `isAlways`: false = the status is also that of an outcome, which has no such header. */
const headers = ({ isAlways }: { isAlways: boolean }): Json => ({
  'retry-after': {
    description: `Seconds until the request may be sent again.${isAlways ? '' : ' Only errors have it.'}`,
    schema: { type: 'integer', minimum: 1 },
    ...(isAlways ? { required: true } : {}),
  },
});

/** The answer of an operation for a status of trouble, in addition to what it says itself. */
function withTrouble(own: unknown, description: string): Json {
  const always = { headers: headers({ isAlways: true }) };
  if (!isJson(own)) return { description, ...always, content: { 'application/json': { schema: error() } } };
  const schema = jsonContent(own)?.['schema'];
  if (isJson(schema) && schema['$ref'] === errorName) return { ...own, ...always };
  // An outcome of the operation's own shares the status.
  return {
    ...own,
    headers: headers({ isAlways: false }),
    content: { 'application/json': { schema: { anyOf: [schema, error()] } } },
  };
}

/** Changes `document` in place. */
export function addTroubles(document: Json): void {
  for (const { operation } of operationsOf(document)) {
    const responses = operation['responses'];
    if (!isJson(responses)) continue;
    for (const [status, description] of Object.entries(troubles))
      responses[status] = withTrouble(responses[status], description);
    const tooMany = at(responses, '429');
    if (isJson(tooMany)) tooMany['headers'] = headers({ isAlways: true });
  }
}
