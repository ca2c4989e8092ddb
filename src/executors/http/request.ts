import { isIP, type Socket } from 'node:net';
import { JobAborted, toError } from '../../errors.ts';
import type { ClientCertificate } from '../../protocol/job.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { Timings } from '../../protocol/result.ts';
import type { ExecutionContext } from '../interface/executor.ts';
import { openConnection, type ConnectionFacts, type Destination, type OwnTls } from './connection.ts';
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

/** The request of one HTTP check with all its settings. */
export type HttpRequest = HopRequest & {
  followRedirects: boolean;
  skipSsl: boolean;
  family: IpFamily;
  proxy: Proxy | null;
  /** Takes the place of `proxy` if each hop has its own. */
  proxyFor?: (url: URL) => Proxy | null;
  clientCertificates: readonly ClientCertificate[];
  /** Keep the response's body; otherwise its bytes are only counted. */
  keepBody: boolean;
  /** At most this many bytes of the body are read; absent = maxBodyBytes. */
  maxBytes?: number;
  /** False = HTTP/2 is not offered; absent = it is. */
  http2?: boolean;
  /** Takes the place of the agent's own settings of TLS. An empty name = that of the hop. */
  tls?: OwnTls & { serverName: string };
};

/** One request and its response: a redirect or the last hop. */
export type Hop = { url: string; status: number | null; timings: Timings; address: string | null };

/** The result of one run of a request. `failure` is null if a complete response was received. */
export type HttpReport = {
  failure: Reason | null;
  response: Received | null;
  /** The URL of the last response. */
  finalUrl: URL;
  hops: Hop[];
  attempts: ConnectAttempt[];
  ipFallback: boolean;
  /** From the last hop that had one. */
  certificate: CertificateFacts | null;
  clientCertificate: ClientCertificate | null;
  timings: Timings;
};

/**
 * Maximum number of bytes of a body that are read, both as received and as decoded. The rest is not read
 * (`truncated`).
 */
export const maxBodyBytes = 25 * 1024 * 1024;

/**
 * Makes the request and follows its redirects, each hop over a new connection. Failures of the target, the network or
 * the deadline are in the report. Rejects with `signal.reason` if the signal fired for another reason, or with
 * AgentError.
 */
export async function performRequest(request: HttpRequest, context: ExecutionContext): Promise<HttpReport> {
  // Before the clock starts, because loading a library is not the target's time.
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
      const { proxyFor } = request;
      const own = proxyFor === undefined ? request : { ...request, proxy: proxyFor(hop.url) };
      await runHop(hop, own, { context, record, facts, jar, report });
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

/** Loads the cookie jar's library, which an idle agent does not load. */
function cookieLibrary(): Promise<() => RunCookies> {
  createCookies ??= import('./cookies.ts').then(({ createRunCookies }) => createRunCookies);
  return createCookies;
}

/** A URL for display: without user and password. */
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
    serverName: request.tls?.serverName || serverName(hop),
    family: request.family,
    skipSsl: request.skipSsl,
    // The library cannot send a body over HTTP/2 with any other method.
    http2:
      request.http2 !== false &&
      (hop.body === null || hop.method === 'POST' || hop.method === 'PUT' || hop.method === 'PATCH'),
    proxy: request.proxy,
    clientCertificates: request.clientCertificates,
    ...(request.tls === undefined ? {} : { tls: request.tls }),
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
        limit: request.maxBytes ?? maxBodyBytes,
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

/**
 * The check's own Host header sets the virtual host for TLS too, as if a browser had resolved that name to this
 * address.
 */
function serverName(hop: HopRequest): string {
  const index = indexOfHeader(hop.headers, 'host');
  const host = index < 0 ? hop.url.hostname : (hop.headers[index + 1] ?? '').replace(/:\d+$/, '');
  return unbracketed(host);
}

/** The reason for an error. Throws the error itself if the target did not cause it. */
function failureOf(error: unknown, state: HopState): Reason {
  const { context, record, report } = state;
  const peer = peerOf(report.finalUrl, state.facts);
  if (context.signal.aborted) {
    const { reason } = context.signal as { reason: unknown }; // the platform's type is any
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

/** Address and port of the hop, or the host's name before an address is known. */
function peerOf(url: URL, facts: ConnectionFacts): string {
  const host = facts.address ?? unbracketed(url.hostname);
  return `${isIP(host) === 6 ? `[${host}]` : host}:${portOf(url)}`;
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
