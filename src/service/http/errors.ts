import type { ConnectionError, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Socket } from 'node:net';
import { sqlState } from '../db/database.ts';
import { StoreUnavailable } from '../artifacts/unavailable.ts';
import { databaseTrouble } from '../db/trouble.ts';
import { errorBody } from './error-body.ts';
import { rememberMethods } from './methods.ts';
import { mayBeSlow } from './slow-body.ts';
import { validationAttributes, type ErrorAttributes } from './validation-errors.ts';

/** An error answer of the API. Throw it anywhere in a route; `errorHandler` sends it. */
export class HttpError extends Error {
  readonly statusCode: number;
  readonly attributes: ErrorAttributes;
  constructor(statusCode: number, message: string, attributes: ErrorAttributes = {}) {
    super(message);
    this.name = 'HttpError';
    this.statusCode = statusCode;
    this.attributes = attributes;
  }
}

/** 429 with `retry-after`. `what` is the beginning of the message. */
export class TooManyRequests extends HttpError {
  readonly retryAfterSeconds: number;
  constructor(what: string, retryAfterSeconds: number) {
    super(429, `${what}: try again in ${retryAfterSeconds} s.`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 400 that names each invalid field. `message` summarises them for clients that read only that. */
export function badRequest(attributes: ErrorAttributes, message?: string): HttpError {
  return new HttpError(400, message ?? summary(attributes), attributes);
}

/**
 * 404 for a resource that does not exist or belongs to another account; the answer does not distinguish the two.
 * `parameter` is the path parameter that names it.
 */
export function notFound(what: string, id: string, parameter = 'id'): HttpError {
  return new HttpError(404, `There is no ${what} ${id}.`, {
    [parameter]: [`names no ${what} of this account`],
  });
}

/** 409 for a request that contradicts the stored state. */
export function conflict(message: string, attributes: ErrorAttributes = {}): HttpError {
  return new HttpError(409, message, attributes);
}

function summary(attributes: ErrorAttributes): string {
  const [first, ...others] = Object.entries(attributes);
  if (first === undefined) return 'The request is not valid.';
  const [field, [reason = 'is not valid']] = first;
  // A reason with a capital letter is a sentence about several fields, and each of them has it.
  const isSentence = /^[A-Z][a-z]+ /.test(reason);
  const more = others.filter(([, reasons]) => !isSentence || !reasons.includes(reason)).length;
  const named = isSentence ? reason : `${field} ${reason}`;
  return more === 0 ? `${named}.` : `${named} (and ${more} more; see attributes).`;
}

/** Fastify's own errors, by code. The status is Fastify's, the text is ours. */
const refusals: { readonly [code: string]: { message: string; attributes: ErrorAttributes } } = {
  FST_ERR_CTP_INVALID_JSON_BODY: {
    message: 'The body is not valid JSON.',
    attributes: { body: ['is not valid JSON'] },
  },
  FST_ERR_CTP_EMPTY_JSON_BODY: {
    message: 'The body is empty, but its content type says JSON.',
    attributes: { body: ['must not be empty'] },
  },
  FST_ERR_CTP_BODY_TOO_LARGE: {
    message: 'The body is too large.',
    attributes: { body: ['is larger than this endpoint accepts'] },
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    message: 'The body must be sent as application/json.',
    attributes: { 'content-type': ['must be application/json'] },
  },
  FST_ERR_BAD_URL: {
    message: 'The path is not valid: a percent sign must be followed by two hex digits.',
    attributes: { path: ['is not a valid path of a URL'] },
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    message: 'The length of the body differs from its content-length.',
    attributes: { 'content-length': ['is not the length of the body'] },
  },
};

/**
 * Sends every error in the form of `errorBody`. Errors that are not the client's fault are logged, and sent without
 * details.
 */
export function errorHandler(error: FastifyError | HttpError, request: FastifyRequest, reply: FastifyReply) {
  const { statusCode, message, attributes } = describe(error, request);
  if (statusCode >= 500) {
    request.log.error({ err: error, route: request.routeOptions.url }, 'request failed');
  }
  if (error instanceof TooManyRequests) void reply.header('retry-after', String(error.retryAfterSeconds));
  const seconds = retryAfterSeconds[statusCode];
  if (seconds !== undefined && !reply.hasHeader('retry-after'))
    void reply.header('retry-after', String(seconds));
  return reply.code(statusCode).send(errorBody(statusCode, message, attributes));
}

/** When a client may try again, by status, unless the error knows better. Agents wait longer from failure to failure. */
const retryAfterSeconds: { readonly [statusCode: number]: number } = { 429: 10, 503: 2, 507: 2 };

/** Answers while the database is in trouble. The service has stored nothing of the request, or does not know it. */
const troubles = {
  full: {
    statusCode: 507,
    message:
      "The service's disk is full. The service continues when there is space again; its log reports the details.",
    attributes: {},
  },
  temporary: {
    statusCode: 503,
    message: "The service's database does not answer, or cannot write at the moment. Try again.",
    attributes: {},
  },
};

function describe(
  error: FastifyError | HttpError,
  request: FastifyRequest,
): { statusCode: number; message: string; attributes: ErrorAttributes } {
  if (error instanceof HttpError || error instanceof StoreUnavailable) return error;
  if (error.validation !== undefined) {
    const attributes = validationAttributes(
      error.validation,
      error.validationContext ?? 'body',
      request.body,
    );
    return { statusCode: 400, message: summary(attributes), attributes };
  }
  // Two concurrent requests created the same resource, which must be unique within the account.
  if (sqlState(error) === '23505') {
    return {
      statusCode: 409,
      message: 'Another request has just made a resource of that name; read it again.',
      attributes: {},
    };
  }
  const trouble = databaseTrouble(error);
  if (trouble !== null) return troubles[trouble];
  const refusal = refusals[error.code];
  const status = error.statusCode ?? 500;
  if (refusal !== undefined) return { statusCode: status, ...refusal };
  // JSON that contains __proto__ and similar keys: the parser refuses it with a SyntaxError of status 400.
  if (status >= 400 && status < 500) return { statusCode: status, message: error.message, attributes: {} };
  return {
    statusCode: 500,
    message: 'The service failed to answer this request; see its log for the reason.',
    attributes: {},
  };
}

/**
 * Answers a request that is not HTTP, or whose head is too large or too slow. There is no route and no reply object
 * yet.
 */
export function clientErrorHandler(error: ConnectionError, socket: Socket): void {
  // The server reports the timeout once and then ignores this request.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && mayBeSlow(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? errorBody(408, 'The request took too long to arrive.')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? errorBody(431, 'The headers are too large.')
        : errorBody(400, 'The request is not valid HTTP.');
  const body = JSON.stringify(answer);
  socket.end(
    `HTTP/1.1 ${answer.statusCode} ${answer.error}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/**
 * Makes every error of `app` take the API's form, including requests that no route serves. Call it before the routes.
 */
export function registerErrorHandlers(app: FastifyInstance): void {
  const methodsOf = rememberMethods(app);

  /** Answers 404 for an unknown path. For a method that the path lacks: 405, or the allowed methods for OPTIONS. */
  function unserved(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { method, url } = request;
    const path = url.split('?', 1)[0] ?? '';
    const methods = methodsOf(path.length > 1 ? path.replace(/\/$/, '') : path);
    const shown = path.slice(0, 200);
    const allow = methods.join(', ');
    // A route has the method, but its folder has no such file.
    const isServed = method !== 'OPTIONS' && methods.includes(method);
    if (methods.length === 0 || isServed) throw new HttpError(404, `There is no ${method} ${shown}.`);
    void reply.header('allow', allow);
    if (method === 'OPTIONS') return reply.code(204).send();
    throw new HttpError(405, `There is no ${method} ${shown}: this path takes ${allow}.`);
  }

  app.setErrorHandler(errorHandler);
  // Runs before the body is parsed, because the body may have any type.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) return unserved(request, reply);
  });
  app.setNotFoundHandler(unserved);
}
