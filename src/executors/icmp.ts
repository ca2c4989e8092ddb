import { AgentError, JobAborted } from '../errors.ts';
import type { AssertionResult } from '../protocol/assertions.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, reasonOwner, type Reason, type ReasonCode } from '../protocol/reasons.ts';
import { evaluateAssertions } from './assertions/evaluate.ts';
import type { ExecutionContext, Executor, Outcome } from './interface/executor.ts';
import {
  icmpResponse,
  icmpText,
  isAnswered,
  lossPercent,
  type IcmpResponse,
  type Ping,
} from './icmp/report.ts';
import { ResolveError, type Resolved, type ResolvedAddress } from './interface/network.ts';
import { EchoError, type PingSocket } from './interface/ping-socket.ts';

/** With the 8-byte header this makes a packet of 64 bytes. */
const payloadBytes = 56;

type Job = JobOf<'ICMP'>;

/** The data that an attempt has collected so far, enough to report it at any time. */
type Progress = { startedAt: number; resolved: Resolved | null; pings: Ping[] };

/**
 * ICMP check: pings the name's first address `pingCount` times, `intervalMs` apart, and waits `timeoutMs` for each
 * reply.
 *
 * Packet loss at or above the job's limits makes it degraded or failed; without loss it is neither. If there were no
 * replies at all but errors, the reason is the first error's (EHOSTUNREACH…), else PACKET_LOSS. responseTime is the
 * average latency, 0 without replies. details: the fields of IcmpResponse, `ipFallback`, `source` of the address,
 * `way` of the socket, and `text` in the format of ping(8). Rejects with AgentError ICMP_UNAVAILABLE if this host may
 * not ping, NETWORK_UNAVAILABLE if it cannot send requests.
 */
export function createIcmpExecutor({ intervalMs = 500, timeoutMs = 2000 } = {}): Executor<'ICMP'> {
  return async (job, context) => {
    const progress: Progress = { startedAt: performance.now(), resolved: null, pings: [] };
    const { signal, network } = context;
    try {
      const { hostname, ipFamily, pingCount } = job.request;
      const resolved = await network.resolve(hostname, { family: ipFamily === 'IPv6' ? 6 : 4, signal });
      progress.resolved = resolved;
      const target = firstAddress(resolved);
      const socket = await network.icmp(target.family);
      await pingAll(
        socket,
        { address: target.address, count: pingCount, intervalMs, timeoutMs, signal },
        progress,
      );
      return report(job, progress, { way: socket.way });
    } catch (error: unknown) {
      return failedOutcome(error, job, context, progress);
    }
  };
}

/** ICMP check with pings 500 ms apart, each with 2 s for its reply. */
export const executeIcmp: Executor<'ICMP'> = createIcmpExecutor();

function firstAddress({ addresses }: Resolved): ResolvedAddress {
  const [address] = addresses;
  if (address === undefined) throw new AgentError('INTERNAL', 'a resolved name without an address');
  return address;
}

type Series = { address: string; count: number; intervalMs: number; timeoutMs: number; signal: AbortSignal };

/** Starts each ping at its own time, regardless of earlier pings; fills `progress.pings` in order. */
async function pingAll(socket: PingSocket, series: Series, progress: Progress): Promise<void> {
  const { address, count, intervalMs, timeoutMs, signal } = series;
  const startedAt = performance.now();
  const failures: unknown[] = [];
  const running: Promise<void>[] = [];
  for (let sequence = 0; sequence < count && failures.length === 0; sequence++) {
    if (sequence > 0) await waitUntil(startedAt + sequence * intervalMs, signal);
    const ping: Ping = { reply: null, unsent: null };
    progress.pings.push(ping);
    running.push(
      socket.echo(address, { payloadBytes, timeoutMs, signal }).then(
        (reply) => {
          ping.reply = reply;
        },
        (error: unknown) => {
          if (error instanceof EchoError && reasonCode(error.code) !== null) ping.unsent = error.code;
          else failures.push(error);
        },
      ),
    );
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

/** Resolves at a time of performance.now(); rejects with the signal's reason. */
function waitUntil(momentMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.max(0, momentMs - performance.now()),
    );
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Errors without a reason code of their own, mapped as in other check types. EPERM comes from this host's firewall. */
const standIns: { readonly [errnoName: string]: ReasonCode } = {
  EADDRNOTAVAIL: 'ENETUNREACH',
  ENETDOWN: 'ENETUNREACH',
  EPERM: 'EACCES',
  EINVAL: 'ERR_INVALID_IP_ADDRESS', // a link-local address without its zone
};

/** The reason for an errno; null if this process or host is at fault. */
function reasonCode(errnoName: string): ReasonCode | null {
  const code = standIns[errnoName] ?? errnoName;
  return Object.hasOwn(reasonOwner, code) ? (code as ReasonCode) : null; // hasOwn has confirmed it
}

function failedOutcome(error: unknown, job: Job, { signal }: ExecutionContext, progress: Progress): Outcome {
  if (signal.aborted) {
    if (!(signal.reason instanceof JobAborted) || signal.reason.code !== 'deadline') throw signal.reason;
    const answered = progress.pings.filter(isAnswered).length;
    const message =
      progress.resolved === null
        ? 'the time ran out before the name was resolved'
        : `the time ran out after ${progress.pings.length} of ${job.request.pingCount} pings, ${answered} of them answered`;
    return report(job, progress, { reason: reasonOf('TIMEOUT', message) });
  }
  if (error instanceof ResolveError) {
    return report(job, progress, { reason: reasonOf(error.code, error.message) });
  }
  if (error instanceof EchoError) {
    throw new AgentError('NETWORK_UNAVAILABLE', `this host cannot send echo requests: ${error.code}`, {
      cause: error,
    });
  }
  throw error;
}

/** The outcome of a series; `reason` is set if it ended before all pings did. */
function report(
  job: Job,
  { startedAt, resolved, pings }: Progress,
  end: { way: PingSocket['way'] } | { reason: Reason },
): Outcome {
  const total = performance.now() - startedAt;
  const { hostname, ipFamily, pingCount } = job.request;
  const early = 'reason' in end ? end.reason : null;
  if (resolved === null) {
    return {
      base: { ok: false, reason: early ?? reasonOf('ENOTFOUND', 'no address') },
      responseTime: 0,
      timings: { dns: total, remainder: 0, total },
      assertions: [],
      details: { hostname, ipFamily, pingCount },
    };
  }
  const { address, family } = firstAddress(resolved);
  const dns = resolved.source === 'literal' ? {} : { dns: resolved.durationMs };
  const response = icmpResponse(
    {
      hostname,
      resolvedIp: address,
      ipFamily: family === 6 ? 'IPv6' : 'IPv4',
      pingCount,
      dnsResolutionTime: dns.dns ?? 0,
      payloadBytes,
    },
    pings,
  );
  return {
    base: early === null ? judge(job, pings) : { ok: false, reason: early },
    responseTime: response.latency.avg ?? 0,
    timings: { ...dns, remainder: total - (dns.dns ?? 0), total },
    assertions: early === null ? assertionsOf(job, response) : [],
    details: {
      ...response,
      ipFallback: resolved.ipFallback,
      source: resolved.source,
      ...('way' in end ? { way: end.way } : {}),
      text: icmpText(response, pings),
    },
  };
}

function assertionsOf({ request }: Job, response: IcmpResponse): AssertionResult[] {
  return evaluateAssertions(request.assertions, {
    LATENCY: () => ({ value: response.latency }),
    JSON_RESPONSE: () => ({ value: response }),
  });
}

function judge(job: Job, pings: readonly Ping[]): Outcome['base'] {
  const packetLoss = lossPercent(pings);
  if (packetLoss === 0) return { ok: true };
  if (packetLoss >= job.maxPacketLossThreshold) {
    return {
      ok: false,
      reason: unreachableReason(packetLoss, pings) ?? packetLossReason(job.maxPacketLossThreshold, pings),
    };
  }
  if (packetLoss >= job.degradedPacketLossThreshold) {
    return { ok: true, degraded: packetLossReason(job.degradedPacketLossThreshold, pings) };
  }
  return { ok: true };
}

function packetLossReason(limit: number, pings: readonly Ping[]): Reason {
  const lost = pings.filter((ping) => !isAnswered(ping)).length;
  const percent = Number(lossPercent(pings).toFixed(2));
  return reasonOf(
    'PACKET_LOSS',
    `packet loss ${percent}% (${lost} of ${pings.length} pings) is at or over the limit of ${limit}%`,
  );
}

/** The first error that was received, if there was no reply. */
function unreachableReason(packetLoss: number, pings: readonly Ping[]): Reason | null {
  if (packetLoss < 100) return null;
  for (const { reply, unsent } of pings) {
    const errnoName = unsent ?? reply?.error?.code;
    const code = errnoName === undefined ? null : reasonCode(errnoName);
    if (code === null) continue;
    if (!reply?.error) return reasonOf(code, `echo request not sent: ${errnoName}`);
    const from = reply.error.from === null ? '' : ` from ${reply.error.from}`;
    return reasonOf(code, `ICMP error${from}: type ${reply.type} code ${reply.code} (${errnoName})`);
  }
  return null;
}
