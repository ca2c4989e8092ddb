import Type from 'typebox';

/** The body of every error (specification, "Errors"). */
export const ErrorBody = Type.Object(
  {
    statusCode: Type.Integer({ description: 'The status of the answer.' }),
    error: Type.String({ description: 'The status in words, like "Not Found".' }),
    message: Type.String(),
    attributes: Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'Reasons by dotted path of the field, like "request.assertions.0.comparison".',
    }),
  },
  { $id: 'Error', title: 'Error' },
);

const descriptions = {
  400: 'The request is not valid; attributes names each bad field',
  401: 'The API key is missing or not valid',
  403: "The API key's role is not enough (x-role), or x-service-account names another account",
  404: 'Not found',
  408: 'Not done in time: ask, or send, again',
  409: 'In conflict with what is stored',
  411: 'The length of the body is missing',
  413: 'The body is too large',
  415: 'The body is of another content type',
  416: 'The range begins after the end of the file',
  429: 'Too many requests, or too much is under way: ask again later (the header retry-after says when)',
  507: 'The disk of the service is full',
} as const;

type ErrorStatus = keyof typeof descriptions;

/**
 * The error responses of a route: those of every authenticated route, plus the given ones. 400 is always included,
 * because the path may be invalid.
 */
export function errorResponses(...statuses: ErrorStatus[]) {
  return Object.fromEntries(
    [...new Set([400, ...statuses, 401, 403, 429] as const)].map((status) => [
      status,
      Type.Ref('Error', { description: descriptions[status] }),
    ]),
  );
}
