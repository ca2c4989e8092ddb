import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { BlockList, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { toError } from '../../errors.ts';
import type { ExecutionContext } from '../../executors/interface/executor.ts';
import type { Endpoint } from '../../executors/evidence/capture-filter.ts';
import { openCapture, type Capture } from '../../executors/evidence/capture.ts';
import type { CaptureSummary } from '../../executors/evidence/capture-summary.ts';
import type { TraceTarget, TraceTimes, Unavailable } from '../../executors/evidence/traceroute.ts';
import type { Network, ResolvedAddress } from '../../executors/interface/network.ts';
import type { Job } from '../../protocol/job.ts';
import { isNetworkFailure } from './attempts.ts';
import type { Attempted, NetworkFailure } from './attempted.ts';
import type { Grade } from './grade.ts';
import { jobTypeOf } from '../job-types/table.ts';
import type { Hold } from './holds.ts';
import { createTraces, traceLimitMs, type Traces } from './traces.ts';

/**
 * Evidence of network failures: a traceroute to the target, made after the attempt, and the packets of an attempt
 * that follows a failed one (a capture must be open before the attempt starts).
 */
export type NetworkEvidence = {
  readonly traces: Traces;
  /** Starts to watch an attempt that is about to start; null for check types without network evidence. */
  watch: (job: Job) => Promise<AttemptWatch | null>;
  close: () => void;
};

export type AttemptWatch = {
  /** The network that the attempt uses. */
  network: Network;
  /**
   * The evidence once the grade is known; null if the network did not fail. `hasSecret` detects names that must not
   * be shown. Never rejects.
   */
  conclude: (verdict: Grade, hasSecret?: (name: string) => boolean) => Promise<NetworkFailure | null>;
  /** Stops watching, whatever the attempt's outcome. Repeated calls are harmless. */
  end: () => void;
};

/** The value of `details.packetCapture` of a result. */
export type PacketCapture = (CaptureSummary & { artifact: string | null }) | Unavailable;

/**
 * Maximum number of simultaneous captures: each slows down every packet of this host and takes half a megabyte of
 * kernel memory.
 */
const maxCaptures = 8;
/** A check that fails for days does not need a capture each time. */
const captureEveryMs = 60_000;
/** Maximum number of checks that are remembered as failing. */
const maxSuspects = 2000;
const maxAddresses = 16;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
const multicast = new BlockList();
multicast.addSubnet('224.0.0.0', 4, 'ipv4');
multicast.addAddress('255.255.255.255', 'ipv4');
multicast.addSubnet('ff00::', 8, 'ipv6');
const isIn = (list: BlockList, address: string): boolean =>
  list.check(address.replace(/%.*/, ''), isIPv6(address) ? 'ipv6' : 'ipv4');
/** Why an address and a port cannot be traced; null if they can. */
function unreachable(subject: string, { address, port }: Endpoint): Unavailable | null {
  if (isIn(loopback, address)) return { unavailable: `${subject} is this host itself` };
  if (isIn(multicast, address)) return { unavailable: `${subject} is a multicast or broadcast address` };
  if (port === 0) return { unavailable: 'nothing can listen on port 0' };
  return null;
}

export function createNetworkEvidence(options: {
  network: Network;
  /** Milliseconds since the epoch. */
  now: () => number;
  times?: TraceTimes;
}): NetworkEvidence {
  const { network, now } = options;
  /**
   * Checks whose latest attempt on this agent failed because of the network, and when their packets were last
   * captured.
   */
  const suspects = new Map<string, number>();
  let capturing = 0;
  /** Why the last capture failed, and when. Each attempt to open one may start a program. */
  let refused: { at: number; why: Unavailable } | null = null;

  const arm = async (job: Job, nameServers: readonly Endpoint[]): Promise<Capture | Unavailable | null> => {
    const capturedAt = suspects.get(job.checkId);
    if (capturedAt === undefined || now() - capturedAt < captureEveryMs) return null;
    if (capturing >= maxCaptures) return { unavailable: `${maxCaptures} other captures were in progress` };
    if (refused !== null && now() - refused.at < captureEveryMs) return refused.why;
    capturing += 1;
    const capture = await openCapture(nameServers);
    if ('unavailable' in capture) {
      capturing -= 1;
      refused = { at: now(), why: capture };
      return capture;
    }
    refused = null;
    return {
      ...capture,
      discard: () => {
        capture.discard();
        capturing -= 1;
      },
    };
  };

  const remember = (checkId: string, failed: boolean, captured: boolean) => {
    const capturedAt = captured ? now() : (suspects.get(checkId) ?? -Infinity);
    suspects.delete(checkId);
    if (failed) suspects.set(checkId, capturedAt);
    for (const oldest of suspects.keys()) {
      if (suspects.size <= maxSuspects) break;
      suspects.delete(oldest);
    }
  };

  const traces = createTraces(options);
  return {
    traces,
    watch: async (job) => {
      if (!jobTypeOf(job).hasNetworkEvidence) return null;
      const nameServers = suspects.has(job.checkId) ? await network.nameServers().catch(() => []) : [];
      const opened = await arm(job, nameServers);
      const capture = opened !== null && 'take' in opened ? opened : null;
      const targets: Endpoint[] = [];
      const hostnames: string[] = [];
      /** The last target that was tried: if something failed, it is the one. */
      let last: LastStep = null;
      let ended = false;
      const end = () => {
        if (!ended) capture?.discard();
        ended = true;
      };
      return {
        network: {
          ...network,
          resolve: (hostname, how) => {
            last = { hostname };
            if (hostnames.length < maxAddresses) hostnames.push(hostname);
            return network.resolve(hostname, how);
          },
          connecting: (addresses, port) => {
            last = { addresses, port };
            if (capture === null || ended) return;
            for (const { address } of addresses) {
              if (targets.length < maxAddresses) targets.push({ address, port });
            }
            capture.watch([...targets, ...nameServers]);
          },
        },
        conclude: async (verdict, hasSecret = () => false) => {
          // Evidence of the own network's failures shows operators how far packets came.
          const isFailure = verdict.status === 'failed' || verdict.reason?.code === 'OWN_NETWORK';
          const failed = isFailure && isNetworkFailure(verdict.reason);
          remember(job.checkId, failed, capture !== null);
          if (!failed) return null;
          // Stop now: later packets are not part of the attempt.
          const hidesNames = hostnames.some((name) => hasSecret(name));
          const taken = (await capture?.take({ targets, nameServers, hostnames, hidesNames })) ?? null;
          const traceTo = await traceTargetOf(last, verdict, network);
          if (opened === null) return { traceTo };
          if (capture === null) return { traceTo, capture: opened as Unavailable }; // armed is one or the other
          return {
            traceTo,
            capture: taken ?? { unavailable: 'the system did not return the captured packets' },
          };
        },
        end,
      };
    },
    close: traces.close,
  };
}

type LastStep = { addresses: readonly ResolvedAddress[]; port: number } | { hostname: string } | null;

/** Where to trace to: the first address that was tried, or the name server that did not help. */
async function traceTargetOf(
  last: LastStep,
  { reason }: Grade,
  network: Network,
): Promise<TraceTarget | Unavailable> {
  if (last === null) return { unavailable: 'nothing was sent to the target' };
  if ('hostname' in last) {
    if (reason?.code === 'ENOTFOUND') return { unavailable: 'the name did not resolve' };
    const [server] = await network.nameServers().catch(() => []);
    if (server === undefined) return { unavailable: 'the name did not resolve, and there is no name server' };
    const { address, port } = server;
    const none = unreachable('the name has no address, and the name server', { address, port });
    return none ?? { address, port, family: isIPv6(address) ? 6 : 4, way: 'udp' };
  }
  const [first] = last.addresses;
  if (first === undefined) return { unavailable: 'the name has no address' };
  const target = { address: first.address, family: first.family, port: last.port };
  return unreachable('the target', target) ?? { ...target, way: 'tcp' };
}

/** The attempt with its network evidence; captured packets become a file of it. */
export async function withFailure(
  attempted: Attempted,
  failure: NetworkFailure | null,
  files: Pick<ExecutionContext, 'workDir' | 'artifacts'> | null,
): Promise<Attempted> {
  if (failure === null) return attempted;
  const { traceTo, capture } = failure;
  const withTarget = { ...attempted, traceTo };
  if (capture === undefined) return withTarget;
  const packetCapture = 'unavailable' in capture ? capture : await asFile(capture, files, attempted);
  return withDetails(withTarget, { packetCapture });
}

async function asFile(
  { pcap, summary }: { pcap: Buffer; summary: CaptureSummary },
  files: Pick<ExecutionContext, 'workDir' | 'artifacts'> | null,
  { log, stoppedAt }: Attempted,
): Promise<PacketCapture> {
  if (files === null || summary.packets === 0) return { ...summary, artifact: null };
  try {
    // Scripts of the attempt may use the same folder, so the name must be unpredictable.
    const path = join(await files.workDir(), `${randomUUID()}.pcap`);
    await writeFile(path, pcap, { mode: 0o600, flag: 'wx' });
    files.artifacts.add({
      path,
      name: 'packets.pcap',
      type: 'pcap',
      contentType: 'application/vnd.tcpdump.pcap',
    });
    return { ...summary, artifact: 'packets.pcap' };
  } catch (error) {
    log.push({
      time: stoppedAt,
      level: 'warn',
      msg: `the captured packets are lost: ${toError(error).message}`,
    });
    return { ...summary, artifact: null };
  }
}

/**
 * The attempt with a traceroute, if it is to have one. Waits for the traceroute at most until the job is aborted or
 * `untilMs` (epoch). Never rejects, so that no result is lost because of it.
 */
export async function withTraceroute(
  attempted: Attempted,
  { hold, traces, untilMs, now }: { hold: Hold; traces: Traces; untilMs: number; now: () => number },
): Promise<Attempted> {
  const { traceTo } = attempted;
  if (traceTo === undefined) return attempted;
  if ('unavailable' in traceTo) return withDetails(attempted, { traceroute: traceTo });
  const limit = new AbortController();
  const stop = () => limit.abort();
  const timer = setTimeout(stop, Math.max(0, Math.min(traceLimitMs + 1000, untilMs - now())));
  if (hold.aborted === null) hold.onAbort = stop;
  else stop();
  try {
    return withDetails(attempted, { traceroute: await traces.to(traceTo, limit.signal) });
  } catch (error) {
    return withDetails(attempted, { traceroute: { unavailable: toError(error).message } });
  } finally {
    clearTimeout(timer);
    if (hold.onAbort === stop) hold.onAbort = null;
  }
}

function withDetails(attempted: Attempted, details: Record<string, unknown>): Attempted {
  const { outcome } = attempted;
  return { ...attempted, outcome: { ...outcome, details: { ...outcome.details, ...details } } };
}
