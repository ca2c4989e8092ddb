import { isIP, type Socket } from 'node:net';
import { JobAborted, toError } from '../../errors.ts';
import type { ClientCertificate } from '../../protocol/job.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { Timings } from '../../protocol/result.ts';
import type { ExecutionContext } from '../interface/executor.ts';
import { openConnection, type ConnectionFacts, type Destination } from './connection.ts';
import type { RunCookies } from './cookies.ts';
import { exchange, type Received } from './exchange.ts';
import { reasonOfError } from './failures.ts';
import { clock, endPhases, startPhases, summed, timingsOf, type PhaseRecord } from './phases.ts';
import { basicAuthorization, type Proxy } from './proxy.ts';
import { isRedirect, maxRedirects, redirected, type HopRequest } from './redirects.ts';
import type { IpFamily } from '../interface/network.ts';
import { unbracketed } from '../interface/name.ts';
import type { ConnectAttempt } from '../tcp/connect.ts';
import type { CertificateFacts } from './tls-facts.ts';

/** One HTTP check's request with everything that decides how it is made. */
export type HttpRequest = HopRequest & {
  followRedirects: boolean;
  skipSsl: boolean;
  family: IpFamily;
  proxy: Proxy | null;
  clientCertificates: readonly ClientCertificate[];
  /** Keep the response's body; else it is only counted. */
  keepBody: boolean;
};

/** One request and its response, of the redirects and of the end. */
export type Hop = { url: string; status: number | null; timings: Timings; address: string | null };

/** What one run of a request saw. `failure` is null when a whole response came. */
export type HttpReport = {
  failure: Reason | null;
  response: Received | null;
  /** The URL that answered last. */
  finalUrl: URL;
  hops: Hop[];
  attempts: ConnectAttempt[];
  ipFallback: boolean;
  /** Of the last hop that had one. */
  certificate: CertificateFacts | null;
  clientCertificate: ClientCertificate | null;
  timings: Timings;
};

/** Bytes of a body, as sent and as decoded, that are read; the rest is left on the wire (`truncated`). */
export const maxBodyBytes = 25 * 1024 * 1024;

/**
 * Makes the request and follows its redirects, each hop over a fresh connection. What the target, the network or the
 * deadline does is in the report; rejects with `signal.reason` when the signal fired for another reason, or AgentError.
 */
export async function performRequest(request: HttpRequest, context: ExecutionContext): Promise<HttpReport> {
  // Before the clock starts: the time to load a library is not the target's.
  const createRunCookies = request.followRedirects ? await cookieLibrary() : null;
  const startedAt = clock();
  const records: PhaseRecord[] = [];
  let jar: RunCookies | null = null;
  const facts: ConnectionFacts = {
    address: null,
    attempts: [],
    ipFallback: false,
    certificate: null,
    clientCertificate: null,
  };
  const report: Omit<HttpReport, 'timings'> = {
    failure: null,
    response: null,
    finalUrl: request.url,
    hops: [],
    attempts: facts.attempts,
    ipFallback: false,
    certificate: null,
    clientCertificate: null,
  };
  let hop: HopRequest = request;
  for (;;) {
    const record = startPhases();
    records.push(record);
    report.response = null;
    report.finalUrl = hop.url;
    facts.address = null;
    try {
      await runHop(hop, request, { context, record, facts, jar, report });
    } catch (error: unknown) {
      report.failure = failureOf(error, { context, record, facts, report });
    }
    endPhases(record);
    // The compiler does not see that runHop assigns it.
    const response = report.response as Received | null;
    report.hops.push({
      url: shownUrl(hop.url),
      status: response?.status ?? null,
      timings: timingsOf(record),
      address: facts.address,
    });
    if (report.failure !== null || response === null) break;
    if (!request.followRedirects || !isRedirect(response)) break;
    if (report.hops.length > maxRedirects) {
      report.failure = reasonOf(
        'TOO_MANY_REDIRECTS',
        `more than ${maxRedirects} redirects, the last at ${shownUrl(hop.url)}`,
      );
      break;
    }
    const cookies = response.headers['set-cookie'];
    if (cookies !== undefined && createRunCookies !== null) {
      jar ??= createRunCookies();
      jar.keep(hop.url, Array.isArray(cookies) ? cookies : [cookies], context.now());
    }
    try {
      hop = redirected(hop, response);
    } catch (error: unknown) {
      report.failure = failureOf(error, { context, record, facts, report });
      break;
    }
  }
  report.ipFallback = facts.ipFallback;
  report.certificate = facts.certificate;
  report.clientCertificate = facts.clientCertificate;
  const endedAt = records[records.length - 1]?.endedAt ?? clock();
  return { ...report, timings: summed(records, endedAt - startedAt) };
}

let createCookies: Promise<() => RunCookies> | null = null;

/** The cookie jar's library, which an agent without work does not load. */
function cookieLibrary(): Promise<() => RunCookies> {
  createCookies ??= import('./cookies.ts').then(({ createRunCookies }) => createRunCookies);
  return createCookies;
}

/** A URL for people to read: without user and password. */
export function shownUrl(url: URL): string {
  if (url.username === '' && url.password === '') return url.href;
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  return copy.href;
}

type HopState = {
  context: ExecutionContext;
  record: PhaseRecord;
  facts: ConnectionFacts;
  report: Omit<HttpReport, 'timings'>;
};

async function runHop(
  hop: HopRequest,
  request: HttpRequest,
  state: HopState & { jar: RunCookies | null },
): Promise<void> {
  const { context, record, facts, report } = state;
  const { url } = hop;
  const secure = url.protocol === 'https:';
  const headers = hopHeaders(hop, request, state.jar);
  const destination: Destination = {
    host: unbracketed(url.hostname),
    port: portOf(url),
    secure,
    serverName: serverName(hop),
    family: request.family,
    skipSsl: request.skipSsl,
    // The library can't send a body by HTTP/2 with any other method.
    http2: hop.body === null || hop.method === 'POST' || hop.method === 'PUT' || hop.method === 'PATCH',
    proxy: request.proxy,
    clientCertificates: request.clientCertificates,
  };
  const io = { network: context.network, signal: context.signal, now: context.now, facts, record };
  const socket: Socket = await openConnection(destination, io);
  await exchange(
    socket,
    {
      origin: url.origin,
      path:
        request.proxy !== null && !secure
          ? `${url.origin}${url.pathname}${url.search}`
          : url.pathname + url.search,
      method: hop.method,
      headers,
      body: hop.body,
    },
    {
      intake: {
        limit: maxBodyBytes,
        keep: request.keepBody,
        wantsBody: (received) => !(request.followRedirects && isRedirect(received)),
      },
      record,
      signal: context.signal,
      onHead: (received) => {
        report.response = received;
      },
    },
  );
}

/** The hop's headers with the run's cookies, the URL's own credentials and the proxy's. */
function hopHeaders(hop: HopRequest, request: HttpRequest, jar: RunCookies | null): string[] {
  const headers = [...hop.headers];
  if (jar !== null) {
    const cookies = jar.headerFor(hop.url);
    const own = indexOfHeader(headers, 'cookie');
    if (cookies !== null && own >= 0) headers[own + 1] = `${headers[own + 1] ?? ''}; ${cookies}`;
    else if (cookies !== null) headers.push('cookie', cookies);
  }
  const credentials = basicAuthorization(hop.url);
  if (credentials !== null && indexOfHeader(headers, 'authorization') < 0)
    headers.push('authorization', credentials);
  if (request.proxy !== null && request.proxy.authorization !== null && hop.url.protocol === 'http:') {
    headers.push('proxy-authorization', request.proxy.authorization);
  }
  return headers;
}

function indexOfHeader(headers: readonly string[], name: string): number {
  for (let i = 0; i < headers.length; i += 2) if (headers[i]?.toLowerCase() === name) return i;
  return -1;
}

/** The check's own Host header names the virtual host for TLS too, as a browser would that had resolved it so. */
function serverName(hop: HopRequest): string {
  const index = indexOfHeader(hop.headers, 'host');
  const host = index < 0 ? hop.url.hostname : (hop.headers[index + 1] ?? '').replace(/:\d+$/, '');
  return unbracketed(host);
}

/** The reason of an error, or the error itself thrown when it is not the target's. */
function failureOf(error: unknown, state: HopState): Reason {
  const { context, record, report } = state;
  const peer = peerOf(report.finalUrl, state.facts);
  if (context.signal.aborted) {
    const { reason } = context.signal as { reason: unknown }; // typed any by the platform
    if (!(reason instanceof JobAborted) || reason.code !== 'deadline') throw reason;
    const where = record.current === null ? 'between phases' : `in the phase ${record.current}`;
    return reasonOf('TIMEOUT', `the deadline passed ${where} (${peer})`);
  }
  return reasonOfError(toError(error), {
    peer,
    secure: report.finalUrl.protocol === 'https:',
    headers: report.response !== null,
  });
}

/** Address and port of the hop, or the host's name while no address is known. */
function peerOf(url: URL, facts: ConnectionFacts): string {
  const host = facts.address ?? unbracketed(url.hostname);
  return `${isIP(host) === 6 ? `[${host}]` : host}:${portOf(url)}`;
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
