import { evaluateAssertions } from './assertions/evaluate.ts';
import type { Executor } from './interface/executor.ts';
import { acceptEncoding } from './http/body.ts';
import {
  commonDetails,
  outcomeOf,
  parseTarget,
  proxyOf,
  unsendable,
  userAgent,
  verdictOf,
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
 * One GET of a URL check. The body is read and counted, up to 25 MB, but neither decoded nor kept. Passes with a status
 * below 400.
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
    return unsendable(error, { method: check.method, url: check.url });
  }
  const report = await performRequest(request, context);
  const { response, failure } = report;
  const assertions =
    response === null || failure !== null || check.assertions.length === 0
      ? []
      : evaluateAssertions(check.assertions, { STATUS_CODE: () => ({ value: response.status }) });
  return outcomeOf(report, {
    base: verdictOf(report),
    assertions,
    details: commonDetails(report, request, context),
  });
};
