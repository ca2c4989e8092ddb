import type { Assertion } from '../protocol/assertions.ts';
import { reasonOf } from '../protocol/reasons.ts';
import { JobAborted, toError } from '../errors.ts';
import { apiRequest } from './http/api-request.ts';
import { parseJsonDocument } from './assertions/json-path-document.ts';
import { evaluateAssertions, type Found } from './assertions/evaluate.ts';
import type { ExecutionContext, Executor } from './executor.ts';
import { decodeBody, mediaTypeOf, storedBody, textOf, type DecodedBody } from './http/body.ts';
import { HttpFailure } from './http/failures.ts';
import type { Received } from './http/exchange.ts';
import { commonDetails, outcomeOf, unsendable, verdictOf } from './http/outcome.ts';
import { maxBodyBytes, performRequest, type HttpReport, type HttpRequest } from './http/request.ts';
import { shortened } from './shorten.ts';

/**
 * One request of an API check. Passes with a status below 400 and a body that can be decoded; a body over 25 MB is cut
 * there (`truncated`), which only assertions on it notice.
 */
export const executeApi: Executor<'API'> = async (job, context) => {
  const check = job.request;
  let request: HttpRequest;
  try {
    request = await apiRequest(job, context);
  } catch (error: unknown) {
    return unsendable(error, { method: check.method, url: check.url });
  }
  const report = await performRequest(request, context);
  const { response } = report;
  const body = response === null ? null : await bodyOf(response, report, context);
  const details = commonDetails(report, request, context);
  const asText = check.assertions.some(({ source }) => source === 'TEXT_BODY');
  details['request'] = {
    ...(details['request'] as object), // commonDetails made it
    ...requestDetails(request),
    ...bodyDetails(request.body),
  };
  if (response !== null && body !== null) {
    const media = mediaTypeOf(response.headers['content-type']);
    details['response'] = {
      ...(details['response'] as object), // commonDetails made it from the same response
      ...(response.headers['content-encoding'] === undefined ? {} : { decodedSize: body.bytes.length }),
      ...storedBody(body, media, asText),
    };
  }
  const assertions =
    response === null || body === null || isFatal(report)
      ? []
      : evaluateAssertions(check.assertions, sourcesOf(report, response, body));
  return outcomeOf(report, { base: verdictOf(report), assertions, details });
};

/** The response's body without its codings. A body that can't be decoded becomes the report's failure. */
async function bodyOf(
  response: Received,
  report: HttpReport,
  context: ExecutionContext,
): Promise<DecodedBody & { error: string | null }> {
  const bytes =
    response.chunks.length === 1 && response.chunks[0] !== undefined
      ? response.chunks[0]
      : Buffer.concat(response.chunks);
  // A body that broke off is shown as far as it came.
  const cut = response.cut || report.failure !== null;
  const { signal } = context;
  try {
    const decoded = await decodeBody(
      { bytes, cut, contentEncoding: response.headers['content-encoding'] },
      { limit: maxBodyBytes, signal },
    );
    return { ...decoded, error: null };
  } catch (error: unknown) {
    const failure = decodingFailure(error, signal);
    report.failure ??= failure;
    return { bytes, cut, error: failure.message };
  }
}

function decodingFailure(error: unknown, signal: AbortSignal) {
  if (error instanceof HttpFailure) return reasonOf(error.code, error.message);
  if (error instanceof JobAborted && error.code === 'deadline' && signal.aborted) {
    return reasonOf('TIMEOUT', 'the deadline passed while the body was decoded');
  }
  throw error;
}

/** True when there is no whole response that assertions could look at; an undecodable body is one, headers and all. */
function isFatal({ failure }: HttpReport): boolean {
  return failure !== null && failure.code !== 'HTTP_DECODING_FAILED';
}

type Sources = Parameters<typeof evaluateAssertions>[1];

function sourcesOf(
  report: HttpReport,
  response: Received,
  body: DecodedBody & { error: string | null },
): Sources {
  const media = mediaTypeOf(response.headers['content-type']);
  let text: string | null = null;
  const wholeText = () => (text ??= textOf(body.bytes, media.charset));
  let json: Found | null = null;
  const unreadable = body.error;
  return {
    STATUS_CODE: () => ({ value: response.status }),
    RESPONSE_TIME: () => ({ value: report.timings.total }),
    HEADERS: (_assertion: Assertion) => ({ value: response.headers }),
    TEXT_BODY: () => (unreadable === null ? { value: wholeText() } : { error: unreadable }),
    JSON_BODY: () =>
      (json ??= unreadable === null ? jsonOf(body, media.type, wholeText) : { error: unreadable }),
  };
}

function jsonOf(body: DecodedBody, type: string, text: () => string): Found {
  if (type !== 'application/json' && !type.endsWith('+json')) {
    const shown = type === '' ? 'has no Content-Type' : `has the Content-Type ${shortened(type, 100)}`;
    return { error: `the response ${shown}; JSON_BODY needs application/json` };
  }
  if (body.cut)
    return { error: 'the body is larger than 25 MB and was cut there, so it is no whole JSON document' };
  try {
    return { value: parseJsonDocument(text()) };
  } catch (error: unknown) {
    return {
      error: `the body is no JSON: ${withoutExcerpt(toError(error).message)}`,
    };
  }
}

/** What JSON.parse complains of, without the piece of the text that it shows: that may be a piece of a secret. */
function withoutExcerpt(message: string): string {
  return shortened(message.replace(/, (?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON$/, ''), 200);
}

function requestDetails(request: HttpRequest): { headers: Record<string, string | string[]> } {
  const headers: Record<string, string | string[]> = {};
  for (let i = 0; i < request.headers.length; i += 2) {
    const name = request.headers[i] ?? '';
    const value = request.headers[i + 1] ?? '';
    const known = Object.hasOwn(headers, name) ? headers[name] : undefined;
    headers[name] = known === undefined ? value : [known, value].flat();
  }
  return { headers };
}

function bodyDetails(body: Buffer | null): { body: string; truncated?: true } {
  if (body === null) return { body: '' };
  const { body: text, truncated } = storedBody(
    { bytes: body, cut: false },
    { type: '', charset: null },
    true,
  );
  return truncated ? { body: text, truncated } : { body: text };
}
