import { decodeBody } from '../../executors/http/body.ts';
import type { Received } from '../../executors/http/exchange.ts';
import { userAgent } from '../../executors/http/outcome.ts';
import { isRedirect } from '../../executors/http/redirects.ts';
import {
  maxBodyBytes,
  performRequest,
  type HttpReport,
  type HttpRequest,
} from '../../executors/http/request.ts';
import { unbracketed } from '../../executors/interface/name.ts';
import type { ResolvedAddress } from '../../executors/interface/network.ts';
import { lookUp, messageOf, probeNetwork } from './address.ts';
import { TargetRefused } from './allowed-targets.ts';
import { bodyFailure } from './cel/body-failure.ts';
import { setTls, tlsFacts, type TlsFacts } from './certificates.ts';
import { contextOf } from './context.ts';
import { anyMatch } from './patterns/matching.ts';
import { oauth2Authorization } from './oauth2.ts';
import { proxyFor, proxyTargets } from './proxied.ts';
import type { Prober, ProbeRun } from './run.ts';
import type { HeaderMatch, HttpSettings } from './settings/http.ts';

const phaseNames = { connect: 'connect', tls: 'tls', firstByte: 'processing', download: 'transfer' } as const;

/** One request with its redirects, through the executor of URL and API checks. */
export const probeHttp: Prober<HttpSettings> = async (settings, run) => {
  const { gauges, log } = run;
  const zeros = [
    'redirects',
    'ssl',
    'status_code',
    'content_length',
    'uncompressed_body_length',
    'version',
  ] as const;
  for (const name of zeros) gauges.set(`probe_http_${name}`, 0);
  gauges.set('probe_failed_due_to_regex', 0);
  if (settings.cel !== null) gauges.set('probe_failed_due_to_cel', 0);
  const url = urlOf(run);
  if (url === null) {
    log('The target is not a URL');
    return false;
  }
  const phase = (name: string, ms: number) =>
    gauges.set('probe_http_duration_seconds', ms / 1000, { phase: name });
  const host = unbracketed(url.hostname);
  let address: ResolvedAddress | null = null;
  if (settings.proxy?.resolves !== true || proxyFor(url, settings.proxy) === null) {
    const resolving = performance.now();
    address = await lookUp(host, settings.ip, run);
    phase('resolve', performance.now() - resolving);
    if (address === null) return false;
  }
  gauges.phases('probe_http_duration_seconds', ...Object.values(phaseNames));
  let last: TlsFacts | null = null;
  let refusal: TargetRefused | null = null;
  const refused = (error: unknown): never => {
    if (error instanceof TargetRefused) refusal = error;
    throw error;
  };
  const token = settings.oauth2 === null ? '' : await oauth2Authorization(settings.oauth2, run);
  if (token === null) return false;
  const request = await requestOf(url, settings, run, (facts) => {
    last = facts;
  });
  if (token !== '') request.headers = withAuthorization(request.headers, token);
  let isProxied = false;
  if (settings.proxy !== null) {
    const { proxy } = settings;
    const first = address === null ? null : { host, address: address.address };
    const targets = proxyTargets(proxy, { run, ip: settings.ip, first });
    const targetFor = (name: string, secure: boolean) => {
      last = null;
      return targets(name, secure).catch(refused);
    };
    request.proxyFor = (hop) => {
      const chosen = proxyFor(hop, proxy, hop === url ? (address?.address ?? null) : null);
      isProxied = chosen !== null;
      return chosen === null ? null : { ...chosen, targetFor };
    };
    // A refusal here is misuse by the caller, unlike a redirect to such a target.
    if (request.proxyFor(url) !== null) await targets(host, url.protocol === 'https:');
  }
  const network = probeNetwork(settings.ip, run);
  const report = await performRequest(request, {
    ...contextOf(run),
    network: {
      ...network,
      resolve: async (name, options) => {
        // The operator's own proxy need not be on the list.
        if (isProxied) return await run.network.resolve(name, options);
        // The first name is resolved already; a second answer may be another one.
        if (address !== null && unbracketed(name) === host)
          return { addresses: [address], source: 'literal', durationMs: 0, ipFallback: false };
        last = null;
        return await network.resolve(name, options).catch(refused);
      },
    },
  });
  for (const [own, name] of Object.entries(phaseNames)) {
    const ms = report.timings[own as keyof typeof phaseNames]; // its own keys
    if (ms !== undefined) phase(name, ms);
  }
  // A redirect to a target that is not allowed is a failure of the probe, not of its caller.
  if (refusal !== null)
    log('A redirect leads to a target that is not allowed', { url: report.finalUrl.host });
  return await judge(report, settings, { run, tls: last });
};

function urlOf({ target }: ProbeRun): URL | null {
  const text = /^https?:\/\//i.test(target) ? target : `http://${target}`;
  return URL.canParse(text) ? new URL(text) : null;
}

async function requestOf(
  url: URL,
  settings: HttpSettings,
  { hostname }: ProbeRun,
  onFacts: (facts: TlsFacts | null) => void,
): Promise<HttpRequest> {
  const headers = await settings.headers();
  const has = (name: string) => headers.some((one, at) => at % 2 === 0 && one.toLowerCase() === name);
  if (!has('user-agent')) headers.push('user-agent', userAgent);
  if (hostname !== null && !has('host')) headers.push('host', hostname);
  return {
    url,
    method: settings.method,
    headers,
    body: settings.body,
    followRedirects: settings.followRedirects,
    skipSsl: settings.tls.insecure,
    family: settings.ip.preferred,
    proxy: null,
    clientCertificates: [],
    keepBody: needsBody(settings),
    // One byte more shows that the limit is exceeded.
    maxBytes: settings.maxBytes === 0 ? maxBodyBytes : Math.min(maxBodyBytes, settings.maxBytes + 1),
    http2: settings.http2,
    tls: {
      context: settings.tls.context,
      serverName: settings.tls.serverName,
      onSecure: (socket) => onFacts(tlsFacts(socket)),
    },
  };
}

/** The token takes the place of the module's own header. */
function withAuthorization(headers: readonly string[], token: string): string[] {
  const isOwn = (at: number) => headers[at - (at % 2)]?.toLowerCase() === 'authorization';
  return [...headers.filter((_, at) => !isOwn(at)), 'authorization', token];
}

const needsBody = ({ bodyMatches, bodyNotMatches, cel, compression }: HttpSettings) =>
  bodyMatches.length + bodyNotMatches.length > 0 || cel !== null || !['', 'identity'].includes(compression);

/** Judges the answer in the order of the other program: status, headers, body, its JSON, version, TLS. */
async function judge(
  report: HttpReport,
  settings: HttpSettings,
  { run, tls }: { run: ProbeRun; tls: TlsFacts | null },
): Promise<boolean> {
  const { gauges, log } = run;
  const { response, failure } = report;
  // The other program also counts a redirect that it does not follow.
  const isLastRedirect = response !== null && isRedirect(response);
  gauges.set('probe_http_redirects', report.hops.length - (isLastRedirect ? 0 : 1));
  if (failure !== null) log('The request failed', { code: failure.code, err: failure.message });
  if (response === null) return false;
  const isSecure = report.finalUrl.protocol === 'https:';
  const length = lengthOf(response);
  const { bytes, length: bodyLength, isWhole } = await bodyOf(response, settings, run);
  const modified = Date.parse(String(response.headers['last-modified'] ?? ''));
  const version = response.httpVersion === '2' ? '2.0' : '1.1';
  gauges.set('probe_http_status_code', response.status);
  gauges.set('probe_http_content_length', length);
  gauges.set('probe_http_uncompressed_body_length', bodyLength);
  gauges.set('probe_http_version', Number(version));
  gauges.set('probe_http_ssl', isSecure ? 1 : 0);
  if (!Number.isNaN(modified)) gauges.set('probe_http_last_modified_timestamp_seconds', modified / 1000);
  if (isSecure && tls !== null) setTls(gauges, tls, { chain: true, cipher: true });
  const fail = (why: string, facts: { [name: string]: unknown } = {}) => {
    log(why, facts);
    return false;
  };
  const { validStatusCodes: codes, validVersions } = settings;
  if (failure !== null || !isWhole) return fail('The body is not complete');
  const isValid =
    codes.length === 0 ? response.status >= 200 && response.status < 300 : codes.includes(response.status);
  if (!isValid) return fail('The status is not valid', { status: response.status });
  try {
    if (!patternsHold(response, bytes, settings)) {
      gauges.set('probe_failed_due_to_regex', 1);
      return fail('A pattern is not met');
    }
  } catch (error: unknown) {
    return fail('A pattern cannot be tried', { err: messageOf(error) });
  }
  if (settings.cel !== null) {
    const failure = await bodyFailure(bytes ?? Buffer.alloc(0), settings.cel, run.signal).catch(messageOf);
    if (failure !== null) {
      gauges.set('probe_failed_due_to_cel', 1);
      return fail('An expression is not met', { err: failure });
    }
  }
  if (validVersions.length > 0 && !validVersions.includes(`HTTP/${version}`))
    return fail('The version is not valid', { version });
  if (isSecure && settings.failIfSsl) return fail('The answer came over TLS');
  if (!isSecure && settings.failIfNotSsl) return fail('The answer did not come over TLS');
  return true;
}

/** -1 = unknown. */
function lengthOf({ headers, status, bytes, cut }: Received): number {
  const text = headers['content-length'];
  if (typeof text === 'string' && /^\d+$/.test(text)) return Number(text);
  return (status === 204 || status === 304) && bytes === 0 && !cut ? 0 : -1;
}

type Body = { bytes: Buffer | null; length: number; isWhole: boolean };

/** The body without its compression. `bytes` null = it was only counted. */
async function bodyOf(
  received: Received,
  { compression, maxBytes }: HttpSettings,
  { signal, log }: ProbeRun,
): Promise<Body> {
  const limit = maxBytes === 0 ? maxBodyBytes : maxBytes;
  const counted = (bytes: Buffer | null, length: number): Body => ({
    bytes,
    length: Math.min(length, limit),
    isWhole: maxBytes === 0 || length <= limit,
  });
  if (received.chunks.length === 0) return counted(null, received.bytes);
  const raw = Buffer.concat(received.chunks);
  if (compression === '' || compression === 'identity') return counted(raw, raw.length);
  try {
    const incoming = { bytes: raw, cut: received.cut, contentEncoding: compression };
    const decoded = await decodeBody(incoming, { limit, signal });
    const { bytes, cut } = decoded;
    return { bytes, length: bytes.length, isWhole: !(cut && maxBytes > 0) };
  } catch (error: unknown) {
    log('The body cannot be decompressed', { err: messageOf(error) });
    return { bytes: null, length: 0, isWhole: false };
  }
}

function patternsHold(received: Received, bytes: Buffer | null, settings: HttpSettings): boolean {
  const valuesOf = ({ header }: HeaderMatch) => [received.headers[header] ?? []].flat();
  for (const match of settings.headerMatches) {
    const values = valuesOf(match);
    if (values.length === 0 && !match.allowMissing) return false;
    if (values.some((value) => anyMatch([match.pattern], value))) return false;
  }
  for (const match of settings.headerNotMatches) {
    const values = valuesOf(match);
    if (values.length === 0 && match.allowMissing) continue;
    if (!values.some((value) => anyMatch([match.pattern], value))) return false;
  }
  if (settings.bodyMatches.length === 0 && settings.bodyNotMatches.length === 0) return true;
  const text = (bytes ?? Buffer.alloc(0)).toString('utf8');
  if (anyMatch(settings.bodyMatches, text)) return false;
  return settings.bodyNotMatches.every((pattern) => anyMatch([pattern], text));
}
