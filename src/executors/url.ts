import { evaluateAssertions } from './assertions/evaluate.ts';
import type { Executor } from './interface/executor.ts';
import { acceptEncoding } from './http/body.ts';
import {
  commonDetails,
  outcomeOf,
  parseTarget,
  proxyOf,
  invalidRequestOutcome,
  userAgent,
  baseOutcome,
} from './http/outcome.ts';
import { performRequest, type HttpRequest } from './http/request.ts';

const headers: readonly string[] = [
  'accept',
  '*/*',
  'accept-encoding',
  acceptEncoding,
  'user-agent',
  userAgent,
];

/**
 * One GET of a URL check. Up to 25 MB of the body are read and counted, but neither decoded nor kept. Passes if the
 * status is below 400.
 */
export const executeUrl: Executor<'URL'> = async (job, context) => {
  const check = job.request;
  let request: HttpRequest;
  try {
    request = {
      url: parseTarget(check.url),
      method: check.method,
      headers,
      body: null,
      followRedirects: check.followRedirects,
      skipSsl: check.skipSSL,
      family: check.ipFamily === 'IPv6' ? 6 : 4,
      proxy: job.proxyUrl === null ? null : await proxyOf(job, context),
      clientCertificates: [],
      keepBody: false,
    };
  } catch (error: unknown) {
    return invalidRequestOutcome(error, { method: check.method, url: check.url });
  }
  const report = await performRequest(request, context);
  const { response, failure } = report;
  const assertions =
    response === null || failure !== null || check.assertions.length === 0
      ? []
      : evaluateAssertions(check.assertions, { STATUS_CODE: () => ({ value: response.status }) });
  return outcomeOf(report, {
    base: baseOutcome(report),
    assertions,
    details: commonDetails(report, request, context),
  });
};
