import { attemptTimeoutMs } from '../protocol/check-types.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import { JobAborted } from '../errors.ts';
import { apiRequest } from './http/api-request.ts';
import type { AssertionSources } from './assertions/evaluate.ts';
import type { ScriptedRun } from './api-scripts.ts';
import type { ExecutionContext, Executor, Outcome } from './interface/executor.ts';
import { decodeBody, mediaTypeOf, storedBody, type DecodedBody } from './http/body.ts';
import { responseAssertions } from './http/body-assertions.ts';
import type { AssertedBody } from './http/body-sources.ts';
import { HttpFailure } from './http/failures.ts';
import type { Received } from './http/exchange.ts';
import { commonDetails, outcomeOf, invalidRequestOutcome, baseOutcome } from './http/outcome.ts';
import { maxBodyBytes, performRequest, type HttpReport, type HttpRequest } from './http/request.ts';

/**
 * One request of an API check, with its setup and teardown scripts. Passes if the status is below 400 and the body
 * can be decoded. A body over 25 MB is cut there (`truncated`), which affects only assertions on it.
 */
export const executeApi: Executor<'API'> = async (job, context) => {
  const { scripts } = job;
  if (scripts === undefined || scripts.setup.length + scripts.teardown.length === 0) {
    return runRequest(job, context, null);
  }
  const { openScriptedRun } = await import('./api-scripts.ts');
  const run = await openScriptedRun(job, scripts, context);
  try {
    return await runRequest(job, context, run);
  } finally {
    await run.close();
  }
};

async function runRequest(
  job: JobOf<'API'>,
  whole: ExecutionContext,
  run: ScriptedRun | null,
): Promise<Outcome> {
  const check = job.request;
  const prepared = await run?.setup();
  if (prepared !== undefined && prepared.failure !== null) return notSent(check, prepared.failure);
  const limit = run === null ? null : requestLimit(whole.signal);
  const context = limit === null ? whole : { ...whole, signal: limit.signal };
  let request: HttpRequest;
  let report: HttpReport;
  let body: ResponseBody | null;
  try {
    request = await apiRequest(job, context, prepared?.scripted);
    report = await performRequest(request, context);
    body = report.response === null ? null : await bodyOf(report.response, report, context);
  } catch (error: unknown) {
    return invalidRequestOutcome(error, { method: check.method, url: check.url });
  } finally {
    limit?.end();
  }
  const { response } = report;
  let failure: Reason | null = null;
  if (run !== null && response !== null && body !== null && !isFatal(report)) {
    const { charset } = mediaTypeOf(response.headers['content-type']);
    const torn = await run.teardown(request, { report, response, body: { bytes: body.bytes, charset } });
    failure = torn.failure;
    if (torn.body !== null)
      body = { bytes: Buffer.from(torn.body), cut: false, error: null, rewritten: true };
  }
  const details = commonDetails(report, request, context);
  const asText = check.assertions.some(({ source }) => source === 'TEXT_BODY');
  details['request'] = {
    ...(details['request'] as object), // built by commonDetails
    ...requestDetails(request),
    ...bodyDetails(request.body),
  };
  if (response !== null && body !== null) {
    const media = mediaOf(response, body);
    details['response'] = {
      ...(details['response'] as object), // built by commonDetails from the same response
      ...(response.headers['content-encoding'] === undefined ? {} : { decodedSize: body.bytes.length }),
      ...storedBody(body, media, asText),
    };
  }
  const assertions =
    response === null || body === null || isFatal(report)
      ? []
      : await responseAssertions(check.assertions, {
          body: assertedBody(response, body),
          others: otherSources(report, response),
          signal: whole.signal,
        });
  const base = failure === null ? baseOutcome(report) : { ok: false as const, reason: failure };
  return outcomeOf(report, { base, assertions, details });
}

/** Only the request has the time limit of an attempt without scripts, however long the scripts took. */
function requestLimit(whole: AbortSignal): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new JobAborted('deadline')), attemptTimeoutMs.API);
  const onAbort = () => controller.abort(whole.reason);
  if (whole.aborted) onAbort();
  whole.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    end: () => {
      clearTimeout(timer);
      whole.removeEventListener('abort', onAbort);
    },
  };
}

/** The details if setup failed and no request was sent. */
function notSent({ method, url }: JobOf<'API'>['request'], reason: Reason): Outcome {
  const details = { request: { method, url }, response: null, hops: [], addresses: [], requestError: null };
  return { base: { ok: false, reason }, responseTime: 0, timings: null, assertions: [], details };
}

/**
 * A response's body. If a teardown script has changed it (`rewritten`), it is UTF-8, whatever the response's own
 * charset.
 */
type ResponseBody = DecodedBody & { error: string | null; rewritten?: true };

function mediaOf(response: Received, body: ResponseBody): { type: string; charset: string | null } {
  const media = mediaTypeOf(response.headers['content-type']);
  return body.rewritten === true ? { ...media, charset: null } : media;
}

/** The response's body with its content codings removed. A body that cannot be decoded becomes the report's failure. */
async function bodyOf(
  response: Received,
  report: HttpReport,
  context: ExecutionContext,
): Promise<ResponseBody> {
  const bytes =
    response.chunks.length === 1 && response.chunks[0] !== undefined
      ? response.chunks[0]
      : Buffer.concat(response.chunks);
  // A partial body is shown as far as it was received.
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

/** True if there is no complete response for assertions. A response with an undecodable body is complete. */
function isFatal({ failure }: HttpReport): boolean {
  return failure !== null && failure.code !== 'HTTP_DECODING_FAILED';
}

function assertedBody(response: Received, body: ResponseBody): AssertedBody {
  const { type, charset } = mediaOf(response, body);
  return { bytes: body.bytes, cut: body.cut, error: body.error, mediaType: type, charset };
}

function otherSources(report: HttpReport, response: Received): AssertionSources {
  return {
    STATUS_CODE: () => ({ value: response.status }),
    RESPONSE_TIME: () => ({ value: report.timings.total }),
    HEADERS: () => ({ value: response.headers }),
  };
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
