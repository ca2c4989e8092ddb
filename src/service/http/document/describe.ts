import { details } from './details.ts';
import { isJson, operationsOf, type Json, type OperationAt } from './json.ts';

/** Describes operations and answers for readers: what a caller has to know besides the fields. */

const successes: { readonly [status: string]: string } = {
  200: 'The request succeeded.',
  201: 'The resource was created.',
  202: 'The request was accepted, and the work goes on.',
  204: 'The request succeeded. The answer has no body.',
};

const parametersOf = ({ operation }: OperationAt): string[] =>
  (Array.isArray(operation['parameters']) ? (operation['parameters'] as unknown[]) : []).flatMap(
    (parameter) => (isJson(parameter) && parameter['in'] === 'query' ? [String(parameter['name'])] : []),
  );

const statusesOf = ({ operation }: OperationAt): string[] =>
  Object.keys(isJson(operation['responses']) ? operation['responses'] : {});

/** What holds for all operations of a kind: lists, reads, creates, changes, deletions. */
function general(one: OperationAt): string {
  const { method, path } = one;
  const query = parametersOf(one);
  const statuses = statusesOf(one);
  if (method === 'get' && query.includes('nextId'))
    return 'To read the next page, send `nextId` of the answer as the query parameter `nextId`. The last page has `nextId` null.';
  if (method === 'get' && query.includes('limit') && query.includes('page'))
    return 'The answer is one page. The header `content-range` tells which entries it holds and how many there are.';
  if (method === 'get' && path.endsWith('}')) return 'An id that names nothing in the account gets 404.';
  if (method === 'post' && statuses.includes('201'))
    return 'The answer is what was created, with the defaults of all fields that the body left out.';
  if (method === 'put' || method === 'patch')
    return 'Send only the fields to change. The body may repeat what was read: fields that the service sets are ignored.';
  if (method === 'delete' && statuses.includes('204')) return 'Deleting the same resource again gets 404.';
  return '';
}

function roleOf({ operation }: OperationAt): string {
  const role = operation['x-role'];
  if (typeof role !== 'string') return 'This operation needs no API key.';
  return role === 'ADMIN'
    ? 'Needs an API key with the role ADMIN.'
    : `Needs an API key with the role ${role} or a higher one.`;
}

const asSentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Gives each operation a description, and each answer a sentence. Changes `document` in place. */
export function describeOperations(document: Json): void {
  for (const one of operationsOf(document)) {
    const { operation } = one;
    const own = details[String(operation['operationId'])] ?? '';
    operation['description'] = [
      asSentence(String(operation['description'] ?? operation['summary'] ?? '')),
      own,
      general(one),
      roleOf(one),
    ]
      .filter((text) => text !== '')
      .join('\n\n');
    const responses = operation['responses'];
    for (const [status, response] of Object.entries(isJson(responses) ? responses : {}))
      if (isJson(response) && response['description'] === 'Default Response')
        response['description'] = successes[status] ?? 'The answer.';
  }
}
