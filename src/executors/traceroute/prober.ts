import { createHash, randomBytes } from 'node:crypto';
import { getSystemErrorName } from 'node:util';
import { AgentError } from '../../errors.ts';
import {
  loadNative,
  nativeProblem,
  probeAnswers,
  type Native,
  type NativeTrace,
} from '../../native/native.ts';
import type { TraceProtocol } from '../../protocol/traceroute.ts';
import type { TraceAnswer } from '../evidence/trace-answers.ts';
import type { IpFamily, Network } from '../interface/network.ts';
import { EchoError } from '../interface/ping-socket.ts';

/** One probe for each number of hops from `from` to `to`. */
export type Round = {
  from: number;
  to: number;
  /** How long to wait for each answer. */
  waitMs: number;
  /** The round ends after so many silent hops in a row; 0 = it does not. */
  maxSilent: number;
};

/** Called for each hop in order; null: it was silent. */
export type OnHop = (ttl: number, answer: TraceAnswer | null) => void;

/** Sends the probes of one trace; all of them are one flow for routers. */
export type Prober = {
  /** How they are sent. `ping` and `raw`: the kind of the ICMP socket. */
  way: 'tcp' | 'udp' | 'ping' | 'raw';
  /**
   * Sends the probes of a round. It may go on for some hops after the target. Rejects with ProbeRefused, or with the
   * signal's reason after it has reported the hops so far.
   */
  round: (round: Round, signal: AbortSignal, onHop: OnHop) => Promise<void>;
  close: () => void;
};

/** This host could not send a probe. `code` is the errno name, such as ENETUNREACH. */
export class ProbeRefused extends Error {
  readonly code: string;
  readonly syscall = 'connect';
  constructor(code: string) {
    super(`probes cannot be sent: ${code}`);
    this.name = 'ProbeRefused';
    this.code = code;
  }
}

export type ProbedTarget = {
  address: string;
  family: IpFamily;
  protocol: TraceProtocol;
  /** Ignored for ICMP. */
  port: number;
  /** Traces of the same key use the same source port, so that they follow the same route from run to run. */
  flowKey: string;
};

/** What the probes of each protocol are. */
const ways = { TCP: 'tcp', UDP: 'udp', ICMP: 'echo' } as const satisfies { [P in TraceProtocol]: string };

/** Rejects with AgentError if this host cannot trace at all. */
export async function openProber(target: ProbedTarget, network: Pick<Network, 'icmp'>): Promise<Prober> {
  const way = ways[target.protocol];
  if (way === 'echo') return echoProber(target, network);
  const native = loadNative();
  if (native === null) {
    throw new AgentError(
      'NETWORK_UNAVAILABLE',
      `this host cannot trace: ${nativeProblem() ?? 'the native addon is missing'}`,
    );
  }
  return flowProber(native, target, way);
}

/** As many bytes as ping(8) sends. */
const payloadBytes = 56;

/** Echo requests in flight: a router recognises its own by their number. */
const echoesAtOnce = 6;

async function echoProber(
  { address, family }: ProbedTarget,
  network: Pick<Network, 'icmp'>,
): Promise<Prober> {
  const socket = await network.icmp(family);
  const probe = async (ttl: number, timeoutMs: number, signal: AbortSignal): Promise<TraceAnswer | null> => {
    try {
      const reply = await socket.echo(address, { payloadBytes, timeoutMs, signal, ttl });
      if (reply === null) return null;
      const { rttMs, error, type, code } = reply;
      return error === null
        ? { icmp: null, from: address, rttMs }
        : { icmp: { type, code }, from: error.from ?? '', rttMs };
    } catch (error) {
      throw error instanceof EchoError ? new ProbeRefused(error.code) : error;
    }
  };
  return {
    way: socket.way,
    round: async ({ from, to, waitMs, maxSilent }, signal, onHop) => {
      let silent = 0;
      for (let first = from; first <= to; first += echoesAtOnce) {
        const ttls = Array.from(
          { length: Math.min(echoesAtOnce, to - first + 1) },
          (_, index) => first + index,
        );
        const answers = await Promise.all(ttls.map((ttl) => probe(ttl, waitMs, signal)));
        for (const [index, answer] of answers.entries()) {
          onHop(first + index, answer);
          silent = answer === null ? silent + 1 : 0;
          if (maxSilent > 0 && silent >= maxSilent) return;
          if (answer !== null && !isTooFar(family, answer)) return;
        }
      }
    },
    // The socket belongs to all checks of the agent.
    close: () => undefined,
  };
}

/** Whether a router dropped the probe because of its number of hops. */
const isTooFar = (family: IpFamily, { icmp }: TraceAnswer): boolean => icmp?.type === (family === 4 ? 11 : 3);

/** Source ports of traces. Linux seldom gives them to other connections. */
const firstPort = 61_000;
const portCount = 4000;
/** How many of them are tried if other programs use them. */
const portTries = 16;

/** The source port that a flow uses if it is free. */
export function flowPort(flowKey: string): number {
  return firstPort + (createHash('sha256').update(flowKey).digest().readUInt32BE(0) % portCount);
}

/** Asks for the root's name servers: 15 bytes after the id, which every name server can answer. */
const dnsQuestion = [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1];

/** The payload of datagrams. Its first two bytes differ between probes; the rest helps to recognise forged answers. */
function payloadFor(port: number): Uint8Array {
  return port === 53 ? Uint8Array.from([...randomBytes(2), ...dnsQuestion]) : randomBytes(32);
}

type Running = {
  next: number;
  onHop: OnHop;
  end: (errno: number) => void;
};

function flowProber(native: Native, target: ProbedTarget, way: 'tcp' | 'udp'): Prober {
  const { address, family, port, flowKey } = target;
  const base = flowPort(flowKey) - firstPort;
  let trace: NativeTrace | null = null;
  let tried = 0;
  let running: Running | null = null;

  const onAnswer = (
    ttl: number,
    kind: number,
    errno: number,
    type: number,
    code: number,
    from: string,
    rttMs: number,
  ): void => {
    if (running === null) return;
    if (kind === probeAnswers.roundEnded) return running.end(errno);
    running.next = ttl + 1;
    if (kind === probeAnswers.silence) running.onHop(ttl, null);
    else if (kind === probeAnswers.target) running.onHop(ttl, { icmp: null, from: address, rttMs });
    else running.onHop(ttl, { icmp: { type, code }, from, rttMs });
  };

  const open = (): NativeTrace => {
    if (trace !== null) native.closeTrace(trace);
    const source = firstPort + ((base + tried) % portCount);
    const opened = native.openTrace(family, way === 'tcp', address, port, payloadFor(port), onAnswer, source);
    if (typeof opened === 'number') throw new ProbeRefused(getSystemErrorName(opened));
    trace = opened;
    return opened;
  };

  /** One run of probes from one port. Resolves with the errno that stopped it, or 0. */
  const runOnce = ({ from, to, waitMs, maxSilent }: Round, signal: AbortSignal, onHop: OnHop) =>
    new Promise<{ errno: number; next: number }>((resolve, reject) => {
      signal.throwIfAborted();
      const used = trace ?? open();
      const onAbort = () => {
        // It reports the hops so far within this call, and then its end, which is ours.
        if (running !== null) running.end = () => undefined;
        native.endRound(used);
        running = null;
        reject(signal.reason as Error); // the reasons of the agent are errors
      };
      const end = (errno: number) => {
        signal.removeEventListener('abort', onAbort);
        const next = running?.next ?? from;
        running = null;
        resolve({ errno, next });
      };
      running = { next: from, onHop, end };
      signal.addEventListener('abort', onAbort);
      const sent = native.sendRound(used, from, to, waitMs, maxSilent);
      if (sent !== 0) end(-sent);
    });

  return {
    way,
    round: async (round, signal, onHop) => {
      let { from } = round;
      for (;;) {
        const { errno, next } = await runOnce({ ...round, from }, signal, onHop);
        if (errno === 0) return;
        const code = getSystemErrorName(-errno);
        // Another program may have the port now.
        const isTaken = code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL';
        if (!isTaken || tried >= portTries) throw new ProbeRefused(code);
        tried += 1;
        from = next;
        open();
      }
    },
    close: () => {
      if (trace !== null) native.closeTrace(trace);
      trace = null;
    },
  };
}
