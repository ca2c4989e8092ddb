import { AgentError } from '../../errors.ts';
import { loadNative, nativeProblem } from '../../native/native.ts';
import type { TraceProtocol } from '../../protocol/traceroute.ts';
import type { IpFamily, Network } from '../interface/network.ts';
import { echoProber } from './echo-prober.ts';
import { echoFlowProber, flowProber } from './flow-prober.ts';
import type { Prober } from './round.ts';

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
  const native = loadNative();
  if (way === 'echo') {
    // A raw socket that the helper opens is shared by all checks, because starting the helper is expensive.
    const own =
      native === null
        ? null
        : (echoFlowProber(native, onAnyPort(target), 'ping') ??
          echoFlowProber(native, onAnyPort(target), 'raw'));
    return own ?? echoProber(target, network);
  }
  if (native === null) {
    throw new AgentError(
      'NETWORK_UNAVAILABLE',
      `this host cannot trace: ${nativeProblem() ?? 'the native addon is missing'}`,
    );
  }
  return flowProber(native, target, way);
}

/** Echo requests have no port, but the addon wants a valid one. */
const onAnyPort = (target: ProbedTarget): ProbedTarget => ({ ...target, port: 1 });
