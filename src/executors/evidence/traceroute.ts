import { getSystemErrorName } from 'node:util';
import {
  loadNative,
  nativeProblem,
  probeAnswers,
  type Native,
  type NativeTrace,
} from '../../native/native.ts';
import type { IpFamily } from '../interface/network.ts';
import { noteAnswer } from './trace-answers.ts';
import { hopRow, newHop, type Hop, type HopState } from './trace-hops.ts';

/** The target of a trace. */
export type TraceTarget = {
  address: string;
  family: IpFamily;
  port: number;
  /** `tcp`: SYNs to the port. `udp`: datagrams, which contain a question for a name server. */
  way: 'tcp' | 'udp';
};

/** The route to a target as the probes found it. */
export type Traceroute = TraceTarget & {
  startedAt: string;
  durationMs: number;
  /** Whether the target itself answered. */
  reached: boolean;
  hops: Hop[];
};

/** Why there is none, in words for the reader of a result. */
export type Unavailable = { unavailable: string };

export type TraceTimes = {
  /** Time between the starts of two rounds, unless all probes are answered earlier. */
  roundMs: number;
  /** Time between two probes. */
  spacingMs: number;
  /** How long to wait for the last probes. */
  lastProbeMs: number;
};

const defaultTimes: TraceTimes = { roundMs: 900, spacingMs: 15, lastProbeMs: 1000 };

const rounds = 3;
const maxHops = 30;
/** Silent hops after the last one that answered that are probed again and shown. */
const silentHops = 5;
/** Pause after a round in which all probes were answered, because routers limit their answers. */
const roundPauseMs = 100;

/** A port on which usually nothing listens. */
const defaultUdpPort = 33_434;

/** Asks for the root's name servers: 17 bytes that every name server can answer. */
const dnsQuestion = Uint8Array.from([0x4c, 0x41, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1]);

/**
 * Traces the route to a target like mtr: three rounds of probes with a TTL of 1, 2, 3…, then the loss and times of
 * each hop. Needs no privileges. Takes at most 4 s, less if the target answers sooner; returns what it has when the
 * signal fires. Never rejects.
 */
export async function traceroute(
  target: TraceTarget,
  { signal, now, times = defaultTimes }: { signal: AbortSignal; now: () => number; times?: TraceTimes },
): Promise<Traceroute | Unavailable> {
  const native = loadNative();
  if (native === null) return { unavailable: nativeProblem() ?? 'the native addon is missing' };
  const startedAt = new Date(now()).toISOString();
  const began = performance.now();
  let found = await probeRoute(native, target, { signal, times });
  let { way, port } = target;
  // Before Linux 5.8, an unprivileged user cannot learn which router dropped a SYN.
  if (way === 'tcp' && typeof found === 'object' && found.hasHiddenSenders && !signal.aborted) {
    way = 'udp';
    port = defaultUdpPort;
    found = await probeRoute(native, { ...target, way, port }, { signal, times });
  }
  if (typeof found === 'string') return { unavailable: found };
  return {
    ...target,
    way,
    port,
    startedAt,
    durationMs: Math.round(performance.now() - began),
    reached: found.reachedAt !== null,
    hops: rowsOf(found),
  };
}

type Seen = {
  hops: HopState[];
  /** The distance at which the target answered, or a router reported why it is unreachable. */
  endsAt: number | null;
  reachedAt: number | null;
  /** Errors were received without their sender. */
  hasHiddenSenders: boolean;
};

/** All rounds of one protocol; a text if no probe could be sent. */
function probeRoute(
  native: Native,
  target: TraceTarget,
  { signal, times }: { signal: AbortSignal; times: TraceTimes },
): Promise<Seen | string> {
  const found: Seen = {
    hops: Array.from({ length: maxHops }, newHop),
    endsAt: null,
    reachedAt: null,
    hasHiddenSenders: false,
  };
  const ttlOf: number[] = [];
  const pending = new Set<number>();
  const { address, family, port, way } = target;
  return new Promise((resolve) => {
    let trace: NativeTrace | null = null;
    let timer: NodeJS.Timeout | undefined;
    let round = 0;
    let ttl = 0;
    let roundStartedAt = 0;
    let refused: string | null = null;
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (trace !== null) native.closeTrace(trace);
      // Probes that were unanswered when the signal fired do not count as lost.
      if (signal.aborted) for (const index of pending) forget(found.hops[(ttlOf[index] ?? 1) - 1]);
      found.hasHiddenSenders &&= found.hops.every(({ answeredBy }) => answeredBy.size === 0);
      resolve(ttlOf.length === 0 && refused !== null ? refused : found);
    };
    const lastHop = () =>
      found.endsAt ?? (round === 0 ? maxHops : Math.min(maxHops, lastAnswered(found) + silentHops));
    const later = (milliseconds: number) => {
      clearTimeout(timer);
      timer = setTimeout(go, Math.max(0, milliseconds));
    };
    /** Sends the next probe, starts the next round, or ends, whichever is due. */
    const go = () => {
      if (refused === null && ttl < lastHop()) {
        send();
        if (ttl < lastHop()) return later(times.spacingMs);
      }
      const waited = performance.now() - roundStartedAt;
      const isLast = round === rounds - 1 || refused !== null;
      const allowed = isLast ? Math.max(times.lastProbeMs, times.roundMs) : times.roundMs;
      if (pending.size > 0 && waited < allowed) return later(allowed - waited);
      if (isLast) return end();
      round += 1;
      ttl = 0;
      // A late answer still counts, but nobody waits for it.
      pending.clear();
      roundStartedAt = performance.now();
      later(0);
    };
    const send = () => {
      ttl += 1;
      const index = ttlOf.length;
      const sent = trace === null ? -1 : native.sendProbe(trace, index, ttl);
      if (sent !== 0) {
        refused = `probes cannot be sent: ${getSystemErrorName(sent)}`;
        return;
      }
      ttlOf.push(ttl);
      pending.add(index);
      const hop = found.hops[ttl - 1];
      if (hop !== undefined) hop.sent += 1;
    };
    const onAnswer = (
      index: number,
      kind: number,
      _errno: number,
      type: number,
      code: number,
      from: string,
      rtt: number,
    ) => {
      pending.delete(index);
      const distance = ttlOf[index] ?? 1;
      const hop = found.hops[distance - 1];
      if (hop === undefined) return;
      note(found, { distance, hop, target, kind, type, code, from, rtt });
      // Probes beyond the target carry no information.
      for (const other of pending) if ((ttlOf[other] ?? 1) > lastHop()) pending.delete(other);
      if (pending.size === 0 && ttl >= lastHop()) later(round === rounds - 1 ? 0 : roundPauseMs);
    };
    const opened = native.openTrace(
      family,
      way === 'tcp',
      address,
      port,
      port === 53 ? dnsQuestion : new Uint8Array(16),
      onAnswer,
    );
    if (typeof opened === 'number') {
      refused = `a trace cannot be opened: ${getSystemErrorName(opened)}`;
      return end();
    }
    trace = opened;
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) return end();
    roundStartedAt = performance.now();
    go();
  });
}

function forget(hop: HopState | undefined): void {
  if (hop !== undefined) hop.sent -= 1;
}

type Answer = {
  distance: number;
  hop: HopState;
  target: TraceTarget;
  kind: number;
  type: number;
  code: number;
  from: string;
  rtt: number;
};

function note(found: Seen, { distance, hop, target, kind, type, code, from, rtt }: Answer): void {
  if (kind === probeAnswers.none) {
    // It was sent and refused, so it is not lost.
    found.hasHiddenSenders = true;
    hop.sent -= 1;
    return;
  }
  const icmp = kind === probeAnswers.target ? null : { type, code };
  const { isTarget, isEnd } = noteAnswer(hop, { icmp, from, rttMs: rtt }, target);
  if (isTarget) found.reachedAt = Math.min(found.reachedAt ?? distance, distance);
  if (isEnd) found.endsAt = Math.min(found.endsAt ?? distance, distance);
}

function lastAnswered({ hops }: Seen): number {
  return hops.findLastIndex(({ answeredBy }) => answeredBy.size > 0) + 1;
}

function rowsOf(found: Seen): Hop[] {
  const end = found.endsAt ?? Math.min(maxHops, lastAnswered(found) + silentHops);
  return found.hops.slice(0, end).map((state, index) => hopRow(index + 1, state));
}
