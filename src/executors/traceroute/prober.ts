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

/** Sends the probes of one trace, one at a time; all of them are one flow for routers. */
export type Prober = {
  /** How they are sent. `ping` and `raw`: the kind of the ICMP socket. */
  way: 'tcp' | 'udp' | 'ping' | 'raw';
  /**
   * Sends a probe that may pass `ttl` - 1 routers, and waits for its answer. Null: there was none. Rejects with
   * ProbeRefused, or with the signal's reason.
   */
  probe: (ttl: number, waitMs: number, signal: AbortSignal) => Promise<TraceAnswer | null>;
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

async function echoProber(
  { address, family }: ProbedTarget,
  network: Pick<Network, 'icmp'>,
): Promise<Prober> {
  const socket = await network.icmp(family);
  return {
    way: socket.way,
    probe: async (ttl, timeoutMs, signal) => {
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
    },
    // The socket belongs to all checks of the agent.
    close: () => undefined,
  };
}

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

type Waiting = { index: number; settle: (answer: TraceAnswer | null, refusal?: string) => void };

function flowProber(native: Native, target: ProbedTarget, way: 'tcp' | 'udp'): Prober {
  const { address, family, port, flowKey } = target;
  const base = flowPort(flowKey) - firstPort;
  let trace: NativeTrace | null = null;
  let tried = 0;
  let probes = 0;
  let waiting: Waiting | null = null;

  const onAnswer = (
    index: number,
    kind: number,
    errno: number,
    type: number,
    code: number,
    from: string,
    rttMs: number,
  ): void => {
    if (waiting?.index !== index) return;
    if (kind === probeAnswers.none) {
      const name = getSystemErrorName(-errno);
      waiting.settle(null, name === 'ETIMEDOUT' ? undefined : name);
    } else if (kind === probeAnswers.target) waiting.settle({ icmp: null, from: address, rttMs });
    else waiting.settle({ icmp: { type, code }, from, rttMs });
  };

  const open = (): NativeTrace => {
    if (trace !== null) native.closeTrace(trace);
    probes = 0;
    const source = firstPort + ((base + tried) % portCount);
    const opened = native.openTrace(family, way === 'tcp', address, port, payloadFor(port), onAnswer, source);
    if (typeof opened === 'number') throw new ProbeRefused(getSystemErrorName(opened));
    trace = opened;
    return opened;
  };

  /** Sends a probe, from the next port if another program has this one. Returns its index. */
  const send = (ttl: number): number => {
    for (;;) {
      const index = probes;
      const sent = native.sendProbe(trace ?? open(), index, ttl);
      probes += 1;
      if (sent === 0) return index;
      const code = getSystemErrorName(sent);
      const isTaken = code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL';
      if (!isTaken || tried >= portTries) throw new ProbeRefused(code);
      tried += 1;
      open();
    }
  };

  return {
    way,
    probe: (ttl, waitMs, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const end = () => {
          waiting = null;
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
        };
        const onAbort = () => {
          end();
          reject(signal.reason as Error); // the reasons of the agent are errors
        };
        const index = send(ttl);
        waiting = {
          index,
          settle: (answer, refusal) => {
            end();
            if (refusal === undefined) resolve(answer);
            else reject(new ProbeRefused(refusal));
          },
        };
        // The event loop runs timers before it reads sockets: after a long pause the answer may be unread.
        const timer = setTimeout(
          () => setImmediate(() => waiting?.index === index && waiting.settle(null)),
          waitMs,
        );
        signal.addEventListener('abort', onAbort);
      }),
    close: () => {
      if (trace !== null) native.closeTrace(trace);
      trace = null;
    },
  };
}
