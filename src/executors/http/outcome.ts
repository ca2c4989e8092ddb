import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { AssertionResult } from '../../protocol/assertions.ts';
import type { ExecutionContext, Outcome } from '../interface/executor.ts';
import { HttpFailure } from './failures.ts';
import { shownUrl, type HttpReport, type HttpRequest } from './request.ts';
import { parseProxy, type Proxy } from './proxy.ts';
import { clientCertificateFacts } from './tls-facts.ts';
import { version } from '../../version.ts';
import { isTemplate } from '../../templates/parse.ts';
import { shortened } from '../../shortened.ts';
import { rounded } from '../../rounding.ts';

/** The default User-Agent of requests. */
export const userAgent = `private-location-agent/${version}`;

/** The URL of a check; a missing scheme means http. Throws HttpFailure INVALID_URL if it is not an http(s) URL. */
export function parseTarget(text: string): URL {
  const trimmed = text.trim();
  let url: URL;
  try {
    url = new URL(/^[a-z][a-z\d+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`);
  } catch {
    throw new HttpFailure(
      'INVALID_URL',
      `not a URL: ${shortened(trimmed, 200)}; give http://host/path or https://host/path`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new HttpFailure(
      'INVALID_URL',
      `the scheme ${url.protocol.slice(0, -1)} is not supported; use http or https`,
    );
  }
  return url;
}

/**
 * The proxy of the job's location, or null. Variables in it are not encoded, because a variable may contain the
 * complete URL.
 */
export async function proxyOf(
  job: { proxyUrl: string | null; environmentVariables: readonly { key: string; value: string }[] },
  context: ExecutionContext,
): Promise<Proxy | null> {
  const { proxyUrl } = job;
  if (proxyUrl === null || proxyUrl === '') return null;
  if (!isTemplate(proxyUrl)) return parseProxy(proxyUrl);
  const { createRenderer } = await import('./templates.ts');
  const render = await createRenderer({
    variables: new Map(job.environmentVariables.map(({ key, value }) => [key, value])),
    now: context.now,
  });
  const rendered = render("the location's proxyUrl", proxyUrl, 'raw');
  // A location whose variable is empty has no proxy.
  return rendered.trim() === '' ? null : parseProxy(rendered.trim());
}

/** The result before assertions and limits: passed if there is a complete response with a status below 400. */
export function baseOutcome(report: HttpReport): Outcome['base'] {
  const { failure, response } = report;
  if (failure !== null) return { ok: false, reason: failure };
  if (response === null || response.status < 400) return { ok: true };
  const text = response.statusText === '' ? '' : ` ${shortened(response.statusText, 100)}`;
  return {
    ok: false,
    reason: reasonOf('HTTP_STATUS', `the response has the status ${response.status}${text}`),
  };
}

const maxAttempts = 50;

/** The fields that URL and API results share. */
export function commonDetails(
  report: HttpReport,
  request: HttpRequest,
  context: ExecutionContext,
): Record<string, unknown> {
  const { response, certificate, clientCertificate, failure } = report;
  const details: Record<string, unknown> = {
    request: { method: request.method, url: shownUrl(request.url) },
    response:
      response === null
        ? null
        : {
            status: response.status,
            statusText: shortened(response.statusText, 1024),
            headers: response.headers,
            truncated: response.cut,
            size: response.bytes,
            httpVersion: response.httpVersion,
            href: shownUrl(report.finalUrl),
          },
    hops: report.hops,
    addresses: report.attempts.slice(0, maxAttempts).map(({ address, ms, error }) => ({
      address,
      ms: rounded(ms, 3),
      ...(error === undefined ? {} : { error }),
    })),
    requestError: failure === null ? null : failure.message,
  };
  if (report.ipFallback) details['ipFallback'] = true;
  if (certificate !== null) details['certificate'] = certificate;
  if (clientCertificate !== null) {
    details['clientCertificate'] = clientCertificateFacts(clientCertificate, context.now());
  }
  return details;
}

/** Milliseconds with three decimals. */
/** The outcome of a check whose definition does not give a valid request. Rethrows any other error. */
export function invalidRequestOutcome(error: unknown, request: { method: string; url: string }): Outcome {
  if (!(error instanceof HttpFailure)) throw error;
  return {
    base: { ok: false, reason: reasonOf(error.code, error.message) },
    responseTime: 0,
    timings: null,
    assertions: [],
    details: { request, response: null, hops: [], addresses: [], requestError: error.message },
  };
}

/** Builds the outcome from its parts. */
export function outcomeOf(
  report: HttpReport,
  parts: {
    base: { ok: true } | { ok: false; reason: Reason };
    assertions: AssertionResult[];
    details: Record<string, unknown>;
  },
): Outcome {
  return { ...parts, responseTime: report.timings.total, timings: report.timings };
}
