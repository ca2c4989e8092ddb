import type { Socket } from 'node:net';
import { toError } from '../errors.ts';
import type { AssertionResult } from '../protocol/assertions.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf } from '../protocol/reasons.ts';
import { underTimeLimit } from '../time-limit.ts';
import { clientCertificateFor, defaultRoots } from './http/client-certificates.ts';
import { reasonOfError } from './http/failures.ts';
import type { ExecutionContext, Executor, Outcome } from './interface/executor.ts';
import { unbracketed } from './interface/name.ts';
import { ResolveError, type Resolved } from './interface/network.ts';
import { assertionsOf } from './ssl/assertions.ts';
import { degradedBy, failureOf, type Failure } from './ssl/judge.ts';
import { contextOf, mayNeedOlder, shake } from './ssl/handshake.ts';
import { inspect, readPresented, type Inspection } from './ssl/response.ts';
import { findRevocation } from './ssl/revocation.ts';
import { scan } from './ssl/scan.ts';
import { startTls, StartTlsError } from './ssl/starttls.ts';
import { connectTcp, type ConnectAttempt } from './tcp/connect.ts';
import { connectionReason, deadlinePassed } from './tcp/errors.ts';
import { rounded } from '../rounding.ts';
import { timingsOf, type Phases } from './tcp/timings.ts';

type Job = JobOf<'SSL'>;

/** The data that an attempt has collected so far, enough to report it at any time. */
type Progress = {
  startedAt: number;
  phases: Phases;
  stage: 'dns' | 'connect' | 'handshake' | 'after';
  resolved: Resolved | null;
  attempts: ConnectAttempt[];
  handshakeMs: number;
  inspection: Inspection | null;
};

/**
 * SSL check: connects (with STARTTLS if asked for), makes one complete handshake with whatever the server offers, and
 * judges certificates, name, chain, revocation and the security baseline afterwards, so that the certificates of a server
 * that fails are shown too.
 *
 * `handshakeTimeoutMs` spans lookup, connection and handshake. responseTime is the handshake's. details: `{request,
 * response, failureCategory, tlsVersion, cipherSuite, daysUntilExpiry, handshakeTimeMs, chainTrusted, hostnameVerified,
 * baselineVerdict, baselineGrade, attempts, requestError}`.
 */
export const executeSsl: Executor<'SSL'> = async (job, context) => {
  const progress: Progress = {
    startedAt: performance.now(),
    phases: {},
    stage: 'dns',
    resolved: null,
    attempts: [],
    handshakeMs: 0,
    inspection: null,
  };
  const limitMs = job.request.sslConfig.handshakeTimeoutMs;
  return underTimeLimit(context.signal, limitMs, async (limit) => {
    try {
      await examine(job, context, { progress, limit });
      const { inspection } = progress;
      const failure =
        inspection === null ? null : failureOf(job.request.sslConfig, inspection, context.now());
      return report(job, progress, failure);
    } catch (error) {
      if (deadlinePassed(context.signal) || limit.aborted)
        return report(job, progress, timeOut(job, progress));
      return report(job, progress, thrownFailure(error, job, progress));
    }
  });
};

const serverNameOf = ({ sslConfig }: Job['request']): string =>
  unbracketed(
    sslConfig.serverName === null || sslConfig.serverName === '' ? sslConfig.hostname : sslConfig.serverName,
  );

async function examine(
  job: Job,
  context: ExecutionContext,
  { progress, limit }: { progress: Progress; limit: AbortSignal },
): Promise<void> {
  const { sslConfig: config } = job.request;
  const serverName = serverNameOf(job.request);
  const certificate = ownCertificate(job);
  // Before the clock starts: building a context is not the target's time.
  const tls = contextOf(certificate);
  const connectAndShake = async (offer: typeof tls) => {
    const socket = await open(job, context, { progress, signal: limit });
    progress.stage = 'handshake';
    const began = performance.now();
    return shake(socket, { serverName, context: offer, signal: limit }).finally(() => {
      progress.handshakeMs = performance.now() - began;
      progress.phases.tls = progress.handshakeMs;
    });
  };
  const shown = await connectAndShake(tls).catch((error: unknown) => {
    if (!mayNeedOlder(error)) throw error;
    return connectAndShake(contextOf(certificate, 'TLSv1.2'));
  });
  progress.stage = 'after';
  const [leaf, ...others] = readPresented(shown, context.now());
  if (leaf === undefined) throw new StartTlsError('the server sent no certificate');
  const issuer = others.find(({ subjectName }) => subjectName.equals(leaf.issuerName)) ?? null;
  const revocation = await findRevocation(
    { leaf, issuer: leaf.facts.selfSigned ? leaf : issuer, stapled: shown.stapled },
    config.revocation,
    context,
  );
  const address = progress.attempts.find(({ error }) => error === undefined)?.address ?? null;
  const conclude = (accepted: Awaited<ReturnType<typeof scan>> | null) =>
    inspect({
      config,
      serverName,
      shown,
      certificates: [leaf, ...others],
      address,
      handshakeMs: progress.handshakeMs,
      revocation,
      accepted,
    });
  progress.inspection = conclude(null);
  if (!config.scan) return;
  const accepted = await scan({
    open: (signal) => open(job, context, { progress: { ...progress, phases: {}, attempts: [] }, signal }),
    serverName,
    negotiated: progress.inspection.response.protocol,
    signal: context.signal,
  });
  progress.inspection = conclude(accepted);
}

/** The client certificate of the check: the only one with `explicit`, the best match with `auto`. */
function ownCertificate({ request, clientCertificates }: Job) {
  const { clientCertificateMode: mode, hostname, port } = request.sslConfig;
  if (mode === null) return null;
  const chosen =
    mode === 'explicit'
      ? (clientCertificates[0] ?? null)
      : clientCertificateFor(clientCertificates, { host: hostname, port });
  if (chosen === null) return null;
  const { cert, key, passphrase, ca } = chosen;
  return {
    cert,
    key,
    ...(passphrase === null ? {} : { passphrase }),
    ...(ca === null ? {} : { ca: [...defaultRoots(), ca] }),
  };
}

/** A connection on which TLS may begin. */
async function open(
  { request: { sslConfig } }: Job,
  { network }: ExecutionContext,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<Socket> {
  const began = performance.now();
  const family = sslConfig.ipFamily === 'IPv6' ? 6 : 4;
  const resolved = await network.resolve(unbracketed(sslConfig.hostname), { family, signal });
  progress.resolved = resolved;
  if (resolved.source !== 'literal') progress.phases.dns = resolved.durationMs;
  progress.stage = 'connect';
  network.connecting?.(resolved.addresses, sslConfig.port);
  const connecting = performance.now();
  try {
    const socket = await connectTcp(
      { addresses: resolved.addresses, port: sslConfig.port },
      { signal, attempts: progress.attempts },
    );
    socket.on('error', () => undefined); // an error after the attempt must not end the process
    if (sslConfig.startTls !== null) {
      progress.stage = 'handshake';
      try {
        await startTls(socket, sslConfig.startTls, signal);
      } catch (error) {
        socket.destroy();
        throw error;
      }
    }
    return socket;
  } finally {
    progress.phases.connect = performance.now() - (progress.resolved === null ? began : connecting);
  }
}

function timeOut({ request: { sslConfig } }: Job, { stage, resolved }: Progress): Failure {
  const where =
    resolved === null
      ? 'before the name was resolved'
      : stage === 'connect'
        ? 'before the connection was established'
        : stage === 'handshake'
          ? 'during the handshake'
          : 'after the handshake';
  const message = `the time ran out ${where} (handshakeTimeoutMs is ${sslConfig.handshakeTimeoutMs})`;
  return {
    category: 'timeout',
    reason: reasonOf(stage === 'handshake' ? 'SOCKET_TIMEOUT' : 'TIMEOUT', message),
  };
}

function thrownFailure(thrown: unknown, job: Job, progress: Progress): Failure {
  const error = toError(thrown);
  const { hostname, port } = job.request.sslConfig;
  const peer = `${progress.attempts.at(-1)?.address ?? hostname}:${port}`;
  if (error instanceof ResolveError) return { category: 'dns', reason: reasonOf(error.code, error.message) };
  if (error instanceof StartTlsError) {
    return { category: 'handshake', reason: reasonOf('TLS_ERROR', `${peer}: ${error.message}`) };
  }
  if (progress.stage === 'connect') return { category: 'connect', reason: connectionReason(error) };
  const found = reasonOfError(error, { peer, secure: true, headers: false });
  return { category: 'handshake', reason: found };
}

function baseOf(job: Job, failure: Failure | null, inspection: Inspection | null): Outcome['base'] {
  if (failure !== null) return { ok: false, reason: failure.reason };
  const degraded = inspection === null ? null : degradedBy(job.request.sslConfig, inspection);
  return degraded === null ? { ok: true } : { ok: true, degraded };
}

function report(job: Job, progress: Progress, failure: Failure | null): Outcome {
  const { request } = job;
  const { inspection, resolved } = progress;
  const timings = timingsOf(progress.phases, performance.now() - progress.startedAt);
  const responseTime = rounded(progress.handshakeMs, 3);
  const response = inspection?.response ?? null;
  let assertions: AssertionResult[] = [];
  if (response !== null && request.assertions.length > 0) {
    assertions = assertionsOf(request.assertions, response, responseTime);
  }
  return {
    base: baseOf(job, failure, inspection),
    responseTime,
    timings,
    assertions,
    details: {
      request: request.sslConfig,
      tlsVersion: response?.protocol ?? null,
      cipherSuite: response?.cipherSuite ?? null,
      daysUntilExpiry: response?.daysUntilExpiry ?? null,
      handshakeTimeMs: response === null ? null : responseTime,
      chainTrusted: response?.chainTrusted ?? null,
      hostnameVerified: response?.hostnameVerified ?? null,
      baselineVerdict: inspection?.verdict?.verdict ?? null,
      baselineGrade: inspection?.verdict?.grade ?? null,
      failureCategory: failure?.category ?? null,
      requestError: response === null ? (failure?.reason.message ?? null) : null,
      resolvedIp: progress.attempts.at(-1)?.address ?? null,
      ipFallback: resolved?.ipFallback ?? false,
      source: resolved?.source ?? null,
      attempts: progress.attempts,
      response,
    },
  };
}
