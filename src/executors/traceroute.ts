import { AgentError } from '../errors.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import { defaultUnknownHops, tracePort } from '../protocol/traceroute.ts';
import { underTimeLimit } from '../time-limit.ts';
import { withNames } from './evidence/hop-names.ts';
import type { ExecutionContext, Executor, Outcome } from './interface/executor.ts';
import { ResolveError, type Resolved, type ResolvedAddress } from './interface/network.ts';
import { connectionReason, deadlinePassed } from './tcp/errors.ts';
import { reasonOfTrace } from './traceroute/judge.ts';
import { openProber } from './traceroute/prober.ts';
import {
  assertionsOf,
  finalLatency,
  packetLoss,
  withOrigins,
  type TracedHop,
} from './traceroute/response.ts';
import { ProbeRefused, type Prober } from './traceroute/round.ts';
import { traceRoute, type Trace } from './traceroute/trace.ts';

type Job = JobOf<'TRACEROUTE'>;

/** The data that an attempt has collected so far, enough to report it at any time. */
type Progress = {
  startedAt: number;
  resolved: Resolved | null;
  way: Prober['way'] | null;
  trace: (Trace & { startedAt: string; durationMs: number }) | null;
  hops: TracedHop[];
};

/**
 * TRACEROUTE check: finds the routers on the way to the name's first address. Several probes for each hop give its loss
 * and times. TCP and UDP need no privileges, ICMP needs what ICMP checks need.
 *
 * A target that does not answer fails the check. responseTime is the average of the target's answers, 0 without any.
 * details: `{request, hostname, protocol, port, resolvedIp, ipFamily, ipFallback, source, way, maxHops, totalHops,
 * destinationReached, truncationReason, finalHopLatency, packetLoss, loop?, traceroute, requestError}`. Rejects with
 * AgentError if this host cannot trace.
 */
export const executeTraceroute: Executor<'TRACEROUTE'> = async (job, context) => {
  const progress: Progress = {
    startedAt: performance.now(),
    resolved: null,
    way: null,
    trace: null,
    hops: [],
  };
  try {
    await trace(job, context, progress);
  } catch (error) {
    if (deadlinePassed(context.signal)) return report(job, progress, timedOut(progress));
    if (error instanceof ResolveError) {
      return report(job, progress, reasonOf(error.code, error.message));
    }
    if (!(error instanceof ProbeRefused)) throw error;
    return report(job, progress, connectionReason(error));
  }
  if (deadlinePassed(context.signal) && progress.trace?.reached !== true) {
    return report(job, progress, timedOut(progress));
  }
  return report(job, progress, null);
};

async function trace(job: Job, context: ExecutionContext, progress: Progress): Promise<void> {
  const { request } = job;
  const { signal, network } = context;
  const resolved = await network.resolve(request.url, {
    family: request.ipFamily === 'IPv6' ? 6 : 4,
    signal,
  });
  progress.resolved = resolved;
  const target = firstAddress(resolved);
  const prober = await openProber(
    {
      ...target,
      protocol: request.protocol,
      port: tracePort(request) ?? 1,
      flowKey: `${job.checkId} ${target.address}`,
    },
    network,
  );
  progress.way = prober.way;
  const startedAt = new Date(context.now()).toISOString();
  const began = performance.now();
  try {
    const limits = {
      maxHops: request.maxHops,
      maxUnknownHops: Math.min(request.maxUnknownHops ?? defaultUnknownHops, request.maxHops),
      queries: request.queries,
    };
    const found = await underTimeLimit(signal, request.timeout * 1000, (limited) =>
      traceRoute(prober, target, { limits, signal: limited }),
    );
    progress.trace = { ...found, startedAt, durationMs: Math.round(performance.now() - began) };
    progress.hops = withOrigins(found.hops, network.originOf ?? (() => null));
  } catch (error) {
    throw hiddenSenders(error, prober.way) ?? error;
  } finally {
    prober.close();
  }
  if (!request.ptrLookup || signal.aborted) return;
  progress.hops = await withNames(progress.hops, network);
}

/** Before Linux 5.8, an unprivileged user cannot learn which router dropped a SYN. */
function hiddenSenders(error: unknown, way: Prober['way']): AgentError | null {
  if (!(error instanceof ProbeRefused) || error.code !== 'EHOSTUNREACH' || way !== 'tcp') return null;
  return new AgentError(
    'NETWORK_UNAVAILABLE',
    'this host cannot trace by TCP, which needs Linux 5.8; trace by UDP or ICMP instead',
    { cause: error },
  );
}

function firstAddress({ addresses }: Resolved): ResolvedAddress {
  const [address] = addresses;
  if (address === undefined) throw new AgentError('INTERNAL', 'a resolved name without an address');
  return address;
}

function timedOut({ resolved, trace: found }: Progress): Reason {
  const message =
    resolved === null
      ? 'the time ran out before the name was resolved'
      : `the time ran out after ${found?.hops.length ?? 0} hops`;
  return reasonOf('TIMEOUT', message);
}

/** The outcome of an attempt; `early` is set if no trace was made or it was cut off. */
function report(job: Job, progress: Progress, early: Reason | null): Outcome {
  const { request } = job;
  const { resolved, trace: found, hops, way } = progress;
  const total = performance.now() - progress.startedAt;
  const dns = resolved === null ? total : resolved.durationMs;
  const hasLookup = resolved === null || resolved.source !== 'literal';
  const target = resolved === null ? null : firstAddress(resolved);
  const latency = finalLatency(found ?? { targetTimes: [] });
  const where =
    target === null || target.address === request.url ? request.url : `${request.url} (${target.address})`;
  const judged = found === null ? null : reasonOfTrace({ ...found, hops }, where, request.timeout);
  const reason = early ?? judged;
  const scalars = {
    hostname: request.url,
    resolvedIp: target?.address ?? null,
    ipFamily: target === null ? request.ipFamily : target.family === 6 ? 'IPv6' : 'IPv4',
    port: tracePort(request),
    protocol: request.protocol,
    maxHops: request.maxHops,
    totalHops: hops.length,
    destinationReached: found?.reached ?? false,
    truncationReason: found?.truncation ?? null,
    finalHopLatency: latency,
    packetLoss: found === null ? null : packetLoss(hops),
  };
  const { assertions: _assertions, ...asked } = request;
  return {
    base: reason === null ? { ok: true } : { ok: false, reason },
    responseTime: latency.avg ?? 0,
    timings: { ...(hasLookup ? { dns } : {}), remainder: Math.max(0, total - (hasLookup ? dns : 0)), total },
    assertions:
      found === null || early !== null
        ? []
        : assertionsOf(request.assertions, { hops, latency, response: { ...scalars, hops } }),
    details: {
      request: asked,
      ...scalars,
      // In the form of network evidence, whose readers show it.
      ...(target === null || found === null
        ? {}
        : {
            traceroute: {
              ...target,
              way: request.protocol.toLowerCase(),
              port: tracePort(request),
              startedAt: found.startedAt,
              durationMs: found.durationMs,
              reached: found.reached,
              hops,
            },
          }),
      ...(found === null || found.loop === null ? {} : { loop: found.loop }),
      ipFallback: resolved?.ipFallback ?? false,
      source: resolved?.source ?? null,
      way,
      requestError: early?.message ?? null,
    },
  };
}
