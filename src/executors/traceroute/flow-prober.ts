import { randomBytes } from 'node:crypto';
import { getSystemErrorName } from 'node:util';
import {
  flowWays,
  probeAnswers,
  roundFields,
  roundHead,
  roundNumbers,
  roundSenders,
  type Native,
  type NativeFlow,
} from '../../native/native.ts';
import type { TraceAnswer } from '../evidence/trace-answers.ts';
import type { IpFamily } from '../interface/network.ts';
import { ProbeRefused, type OnHop, type Prober, type Round } from './round.ts';

/** Source ports of traces. Linux seldom gives them to other connections. */
const firstPort = 61_000;
const portCount = 4000;
/** How many of them are tried if other programs use them. */
const portTries = 16;

/** The source port that a flow uses if it is free. */
export function flowPort(flowKey: string): number {
  // FNV-1a: a cryptographic hash costs more than the probes of a round.
  let hash = 0x811c9dc5;
  for (let at = 0; at < flowKey.length; at++) {
    hash = Math.imul(hash ^ flowKey.charCodeAt(at), 0x01000193);
  }
  return firstPort + ((hash >>> 0) % portCount);
}

/** Asks for the root's name servers: 15 bytes after the id, which every name server can answer. */
const dnsQuestion = [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1];

const payloadBytes = 32;
/** Random bytes for many traces, because each request for some has a fixed cost. */
let random = Buffer.alloc(0);

function unusedRandom(): Buffer {
  if (random.length < payloadBytes) random = randomBytes(128 * payloadBytes);
  const bytes = random.subarray(0, payloadBytes);
  random = random.subarray(payloadBytes);
  return bytes;
}

/** As many bytes as ping(8) sends. */
const echoBytes = 56;

/**
 * The payload of datagrams and echo requests. Its first two bytes differ between probes; the rest helps to recognise
 * forged answers.
 */
function payloadFor(way: Prober['way'], port: number): Uint8Array {
  const bytes = unusedRandom();
  if (way === 'ping' || way === 'raw')
    return Uint8Array.from({ length: echoBytes }, (_, at) => bytes[at] ?? at);
  return port === 53 ? Uint8Array.from([...bytes.subarray(0, 2), ...dnsQuestion]) : bytes;
}

/** The addon writes them before it reports a round, which reads them at once: one array serves all traces. */
const numbers = new Float64Array(roundNumbers);
const numberAt = (index: number): number => numbers[index] ?? 0;

/** How a round ended: with an errno, or 0. `next`: the first number of hops that it did not get to. */
type Ended = { errno: number; next: number };

type FlowTarget = { address: string; family: IpFamily; port: number; flowKey: string };

/** A prober that sends SYNs or datagrams from one port, without privileges. */
export function flowProber(native: Native, target: FlowTarget, way: 'tcp' | 'udp'): Prober {
  return proberOf(native, target, way).prober;
}

/** Errors of a socket that this process may not open, or that the system does not have. */
const refusals = new Set(['EACCES', 'EPERM', 'EAFNOSUPPORT', 'EPROTONOSUPPORT']);

/**
 * A prober that sends echo requests with one id through an ICMP socket of its own; null = this process may not open one
 * of the kind. Throws ProbeRefused.
 */
export function echoFlowProber(native: Native, target: FlowTarget, way: 'ping' | 'raw'): Prober | null {
  const { prober, open } = proberOf(native, target, way);
  // Without an exception, whose stack costs as much as the probes of a round.
  const errno = open();
  if (errno === 0) return prober;
  const code = getSystemErrorName(errno);
  if (refusals.has(code)) return null;
  throw new ProbeRefused(code);
}

/** `open`: opens a flow from the next port; 0 or a negative errno. */
type FlowProber = { prober: Prober; open: () => number };

function proberOf(native: Native, target: FlowTarget, way: Prober['way']): FlowProber {
  const { address, family, port, flowKey } = target;
  const base = flowPort(flowKey) - firstPort;
  /** The routers that the addon has named, by number of hops. */
  const senders: string[] = [];
  let flow: NativeFlow | null = null;
  let tried = 0;
  let onRound: (texts: string) => void = () => undefined;

  const open = (): number => {
    if (flow !== null) native.closeFlow(flow);
    flow = null;
    const source = firstPort + ((base + tried) % portCount);
    const opened = native.openFlow(
      family,
      flowWays[way],
      address,
      port,
      source,
      payloadFor(way, port),
      numbers,
      (texts) => onRound(texts),
    );
    if (typeof opened === 'number') return opened;
    flow = opened;
    return 0;
  };
  const openedFlow = (): NativeFlow => {
    const errno = flow === null ? open() : 0;
    if (flow === null) throw new ProbeRefused(getSystemErrorName(errno));
    return flow;
  };

  /** Reads the numbers of a round that is over. */
  const report = (texts: string, from: number, onHop: OnHop): Ended => {
    const news = texts.split(' ');
    let named = 0;
    const next = from + numberAt(0);
    for (let ttl = from, at = roundHead; ttl < next; ttl++, at += roundFields) {
      const kind = numberAt(at);
      const sender = numberAt(at + 4);
      if (sender === roundSenders.next) senders[ttl] = news[named++] ?? '';
      const known = sender === roundSenders.unknown ? '' : (senders[ttl] ?? '');
      onHop(ttl, kind === probeAnswers.silence ? null : answerAt(at, known));
    }
    return { errno: numberAt(1), next };
  };

  const answerAt = (at: number, sender: string): TraceAnswer => {
    const rttMs = numberAt(at + 3);
    if (numberAt(at) === probeAnswers.target) return { icmp: null, from: address, rttMs };
    return { icmp: { type: numberAt(at + 1), code: numberAt(at + 2) }, from: sender, rttMs };
  };

  /** One run of probes from one port. */
  const runOnce = async (
    { from, to, waitMs, maxSilent }: Round,
    signal: AbortSignal,
    onHop: OnHop,
  ): Promise<Ended> => {
    signal.throwIfAborted();
    const used = openedFlow();
    const started = native.sendRound(used, from, to, waitMs, maxSilent);
    if (typeof started === 'string') return report(started, from, onHop);
    if (started !== 0) return { errno: -started, next: from };
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        onRound = () => undefined;
        const texts = native.endRound(used);
        if (texts !== undefined) report(texts, from, onHop);
        reject(signal.reason as Error); // the reasons of the agent are errors
      };
      onRound = (texts) => {
        signal.removeEventListener('abort', onAbort);
        onRound = () => undefined;
        resolve(report(texts, from, onHop));
      };
      signal.addEventListener('abort', onAbort);
    });
  };

  const prober: Prober = {
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
        if (flow !== null) native.closeFlow(flow);
        flow = null;
      }
    },
    close: () => {
      if (flow !== null) native.closeFlow(flow);
      flow = null;
    },
  };
  return { prober, open };
}
